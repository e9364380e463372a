package peer

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"

	"arborist/document"
	"arborist/proof"
	"arborist/shard/corpus"
)

// maxAsked is how many corpora of one source are asked for a root.
const maxAsked = 64

// A RemoteProof is a proof that a source has given, verified against the
// publisher's key.
type RemoteProof struct {
	Proof *proof.Proof
	Key   string // verifier key of the corpus, certified by its publisher
	Claim proof.Claim
}

// Get asks a source for one document by its root and returns it verified: a
// root is a hash of the text, so the source needs no trust and no corpus has to
// be followed. Nothing is stored. From is what it is for [Peer.SyncFrom]. Corpus
// is an origin, a name, or empty: then each of the corpora that the source lists
// is asked, at most 64. It returns the origin too, which is the source's word. A tree
// that was published without single documents has it looked up in its log, of which
// at most 64 MiB are read, and then gives it out of a pack: [ErrTreeDocuments] where
// that is not enough.
//
// Without a source the connected peers are asked, by the filters of their corpora:
// those whose filter denies the root never hear of it, and those whose filter says
// that they may have it are asked first.
func (p *Peer) Get(ctx context.Context, from, corpusName string, root document.Root) (doc *document.Document, origin string, err error) {
	left := int64(searchedLog)
	err = p.askFor(ctx, from, corpusName, root, func(ctx context.Context, src *source, id CorpusID) (err error) {
		origin = id.String()
		res := resource{kind: kindDoc, corpus: id, root: root}
		body, err := src.open(ctx, res)
		if errors.Is(err, ErrMissing) && mayBeTree(from) {
			doc, err = p.packed(ctx, src, id, root, &left)
			return err
		}
		if err != nil {
			return err
		}
		defer body.Close()
		body.allow(0)
		doc, err = readAny(body, root)
		return src.fail(ctx, res, err)
	})
	if err != nil {
		return nil, "", fmt.Errorf("get %s: %w", root, err)
	}
	return doc, origin, nil
}

// readAny reads the element of a document of which only the root is known.
func readAny(body *body, root document.Root) (*document.Document, error) {
	var n [4]byte
	if _, err := io.ReadFull(body, n[:2]); err != nil {
		return nil, truncated(err)
	}
	length := binary.BigEndian.Uint16(n[:2])
	if length == 0 || length > maxHeader {
		return nil, fmt.Errorf("%w: a header of %d bytes", ErrMalformed, length)
	}
	text := make([]byte, length)
	if _, err := io.ReadFull(body, text); err != nil {
		return nil, truncated(err)
	}
	header, err := document.ParseHeader(text)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	if header.Root != root {
		return nil, fmt.Errorf("%w: the header of document %s", ErrTampered, header.Root)
	}
	if header.Norm != document.NormName || header.Chunker != document.ChunkerName {
		return nil, fmt.Errorf("%w: it is in the form %s, %s", ErrNewer, header.Norm, header.Chunker)
	}
	if _, err := io.ReadFull(body, n[:]); err != nil {
		return nil, truncated(err)
	}
	if size := binary.BigEndian.Uint32(n[:]); uint64(size) != header.Bytes || header.Bytes > document.MaxBytes {
		return nil, fmt.Errorf("%w: a text of %d bytes, the header says %d", ErrMalformed, size, header.Bytes)
	}
	body.allow(header.Bytes)
	content, err := readText(body, int64(header.Bytes))
	if err != nil {
		return nil, err
	}
	pack := packReader{r: body}
	if err := pack.end(); err != nil {
		return nil, err
	}
	doc, err := document.Verify(header, content)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrTampered, err)
	}
	return doc, nil
}

// Prove asks a source for the proof of one chunk and returns it verified: the
// chunk is in the document, the document in the log, and the key of the log is
// certified by the publisher whose ID is in the corpus's origin. Where a key of
// the corpus is pinned here it must be that one. Nothing is stored, and the
// corpus need not be followed. From and corpus are as in [Peer.Get].
func (p *Peer) Prove(ctx context.Context, from, corpusName string, root document.Root, chunk uint64) (found RemoteProof, err error) {
	err = p.askFor(ctx, from, corpusName, root, func(ctx context.Context, src *source, id CorpusID) (err error) {
		found, err = p.proofFrom(ctx, src, id, root, chunk)
		return err
	})
	if errors.Is(err, ErrMissing) && mayBeTree(from) {
		err = fmt.Errorf("%w; %w", err, ErrTreeProofs)
	}
	if err != nil {
		return RemoteProof{}, fmt.Errorf("prove chunk %d of %s: %w", chunk, root, err)
	}
	return found, nil
}

func (p *Peer) proofFrom(ctx context.Context, src *source, id CorpusID, root document.Root, chunk uint64) (found RemoteProof, err error) {
	res := resource{kind: kindProof, corpus: id, root: root, chunk: chunk}
	file, err := src.get(ctx, res, proof.MaxFile)
	if err != nil {
		return found, err
	}
	at := resource{kind: kindKey, corpus: id}
	statement, err := src.get(ctx, at, maxStatement)
	if err != nil {
		return found, err
	}
	key, err := openStatement(statement, id)
	if err != nil {
		return found, src.fail(ctx, at, err)
	}
	pinned, err := p.pinned(ctx, id)
	if err != nil {
		return found, err
	}
	if pinned != "" && pinned != key.String() {
		return found, src.fail(ctx, at, fmt.Errorf("%w: %s is pinned, it has %s", ErrKeyDiffers, pinned, key))
	}
	if found.Proof, err = proof.Parse(file); err != nil {
		return found, src.fail(ctx, res, blameNote(err))
	}
	found.Key = key.String()
	if found.Claim, err = proof.Verify(found.Proof, proof.Expect{Key: key, Root: &root}); err != nil {
		return found, src.fail(ctx, res, fmt.Errorf("%w: %w", ErrTampered, err))
	}
	if found.Claim.Chunk != chunk || found.Claim.Origin != id.String() {
		return found, src.fail(ctx, res, fmt.Errorf("%w: it proves chunk %d in %s", ErrTampered, found.Claim.Chunk, found.Claim.Origin))
	}
	return found, nil
}

// pinned returns the verifier key that is pinned for a corpus, empty where none is:
// always in a light client, which has no store.
func (p *Peer) pinned(ctx context.Context, id CorpusID) (key string, err error) {
	if p.shared == nil {
		return "", nil
	}
	info, err := p.shared.Corpora().Lookup(ctx, id.String())
	if errors.Is(err, corpus.ErrNotFound) {
		return "", nil
	}
	return info.Key, err
}

// mayBeTree reports whether a source can be a published tree, which is not a node.
func mayBeTree(from string) bool {
	return strings.HasPrefix(from, "http://") || strings.HasPrefix(from, "https://") || strings.HasPrefix(from, folderPrefix)
}

// An asker asks a corpus of a source for something.
type asker func(context.Context, *source, CorpusID) error

// askFor has fn ask for something of a document, at a source or, without one, at
// whoever may have it.
func (p *Peer) askFor(ctx context.Context, from, corpusName string, root document.Root, fn asker) error {
	ctx, leave, err := p.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	if from == "" {
		return p.askAround(ctx, corpusName, root, fn)
	}
	return p.askCorpora(ctx, from, corpusName, fn)
}

// askCorpora opens a source and calls fn with the corpora that may have something,
// until one has it.
func (p *Peer) askCorpora(ctx context.Context, from, corpusName string, fn asker) error {
	src, err := p.open(ctx, from)
	if err != nil {
		return err
	}
	defer src.close()
	src.limit = p.download
	if corpusName != "" {
		id, err := src.resolve(ctx, corpusName)
		if err != nil {
			return err
		}
		return fn(ctx, src, id)
	}
	list, err := src.corpora(ctx)
	if err != nil {
		return err
	}
	if len(list) > maxAsked {
		return fmt.Errorf("%w: the source has %d corpora: say which", ErrAmbiguous, len(list))
	}
	for _, c := range list {
		id, err := ParseCorpusID(c.Origin)
		if err != nil {
			return err
		}
		if err := fn(ctx, src, id); !errors.Is(err, ErrMissing) {
			return err
		}
	}
	return fmt.Errorf("%w: none of its %d corpora has it", ErrMissing, len(list))
}
