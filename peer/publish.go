package peer

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"sync"

	"arborist/document"
	"arborist/proof"
	"arborist/shard"
	"arborist/shard/corpus"
)

// A Target is where a published tree goes: a folder or a bucket. Names are
// paths with slashes. It is safe for concurrent use.
type Target interface {
	// Size returns the length of what has a name, or [fs.ErrNotExist].
	Size(ctx context.Context, name string) (int64, error)
	// Get returns what has a name, at most limit bytes of it, or [fs.ErrNotExist].
	Get(ctx context.Context, name string, limit int64) ([]byte, error)
	// Put gives size bytes a name, whole or not at all, in place of what has it.
	// They are durable when it returns.
	Put(ctx context.Context, name string, f TargetFile, content io.Reader) error
}

// A TargetFile describes what is put.
type TargetFile struct {
	Size      int64
	Type      string // content type
	Immutable bool   // its name will never have other bytes
}

// A PublishRequest says what to publish.
type PublishRequest struct {
	Corpus    string // origin
	Documents bool   // each document by its root too, for get
	Progress  func(Progress)
}

// A PublishResult counts what was written.
type PublishResult struct {
	Origin string
	Size   uint64 // records of the log there now
	Before uint64 // records of the log that was there before
	Files  int    // written now
	Bytes  int64  // of those
}

// publishStreams is how many files are written at a time.
const publishStreams = 4

// Publish writes a corpus as files to a target, under [PathPrefix]: the
// resources that a [Handler] serves, byte for byte, for anybody's web server.
//
// What never changes goes first and the head last, so that whoever reads
// meanwhile, or after a publish that was cut, finds the head that was there
// before with all that it lists. Files that are there are not written again. A
// target that holds another history of the corpus, or a newer head, is refused
// with [ErrTarget] and left as it is. A newer head of an own corpus, signed by
// its key, is remembered and fails with [corpus.ErrBehind]: this node was
// restored from an old backup.
//
// Nothing can get there but what the signed log of the corpus lists. A listed
// document that cannot be read fails the call; a log that is damaged fails it with
// [corpus.ErrCorrupt] before the part in question is written.
func Publish(ctx context.Context, shared *shard.Shared, to Target, req PublishRequest) (PublishResult, error) {
	p := &publisher{ctx: ctx, shared: shared, store: shared.Corpora(), to: to, req: req, result: PublishResult{Origin: req.Corpus}}
	if p.req.Progress == nil {
		p.req.Progress = func(Progress) {}
	}
	if err := p.run(); err != nil {
		return p.result, fmt.Errorf("publish %s: %w", req.Corpus, err)
	}
	return p.result, nil
}

type publisher struct {
	ctx    context.Context
	shared *shard.Shared
	store  *corpus.Store
	to     Target
	req    PublishRequest
	id     CorpusID
	head   proof.Checkpoint

	first uint64 // bundle that is looked at first

	mu     sync.Mutex
	result PublishResult
	done   int // records
}

func (p *publisher) run() (err error) {
	if p.id, err = ParseCorpusID(p.req.Corpus); err != nil {
		return err
	}
	var note []byte
	if p.head, note, err = p.store.SignedHead(p.ctx, p.req.Corpus); err != nil {
		return err
	}
	statement, err := p.store.Statement(p.ctx, p.req.Corpus)
	if err != nil {
		return err
	}
	before, err := p.before()
	if err != nil {
		return err
	}
	p.result.Size, p.result.Before = p.head.Size, before
	if err := p.immutable(before); err != nil {
		return err
	}
	filterNote, err := p.filter()
	if err != nil {
		return err
	}
	rotations, err := p.store.Rotations(p.ctx, p.req.Corpus)
	if err != nil && !errors.Is(err, corpus.ErrNotFound) {
		return err
	}
	list, err := p.listing()
	if err != nil {
		return err
	}
	for _, f := range []struct {
		kind    kind
		typ     string
		content []byte
	}{
		{kindKey, typeText, statement}, {kindRotations, typeText, rotations}, {kindFilter, typeText, filterNote},
		{kindCorpora, typeJSON, list}, {kindCheckpoint, typeText, note},
	} {
		if err := p.changing(resource{kind: f.kind, corpus: p.id}, f.typ, f.content); err != nil {
			return err
		}
	}
	return nil
}

// before returns the size of the log that the target holds already, which must
// be the beginning of ours.
func (p *publisher) before() (uint64, error) {
	note, err := p.to.Get(p.ctx, nameOf(resource{kind: kindCheckpoint, corpus: p.id}), maxCheckpoint)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	head, err := proof.ReadCheckpoint(note)
	if err != nil {
		return 0, fmt.Errorf("%w: its checkpoint is none: %w", ErrTarget, err)
	}
	if head.Origin != p.req.Corpus || head.Size > p.head.Size {
		return 0, p.weigh(note, fmt.Errorf("%w: it has %d records of %.200q, here are %d", ErrTarget, head.Size, head.Origin, p.head.Size))
	}
	root, err := p.store.RootAt(p.ctx, p.req.Corpus, head.Size)
	if err != nil {
		return 0, err
	}
	if root != head.Root {
		return 0, p.weigh(note, fmt.Errorf("%w: the first %d records there are not those here", ErrTarget, head.Size))
	}
	return head.Size, nil
}

// weigh shows the store the head of a target that does not go on from here.
// Where our own key has signed it, that is no matter of the target, for which
// refused is the error.
func (p *publisher) weigh(note []byte, refused error) error {
	info, err := p.store.Lookup(p.ctx, p.req.Corpus)
	if err != nil || !info.Own {
		return refused
	}
	head, err := p.store.RememberHead(p.ctx, p.req.Corpus, note, nil)
	switch {
	case errors.Is(err, corpus.ErrEquivocation):
		return err
	case errors.Is(err, proof.ErrUnknownKey) && p.otherKey(info):
		return fmt.Errorf("%w: the target has a head by a key that it was changed to since", corpus.ErrBehind)
	case err != nil:
		return refused
	}
	return fmt.Errorf("%w: the target has %d records of it, here are %d", corpus.ErrBehind, head.Size, p.head.Size)
}

// otherKey reports whether the target has a statement of this very node for a
// key of the corpus that is not known here. Nobody else can sign that.
func (p *publisher) otherKey(info corpus.Info) bool {
	statement, err := p.to.Get(p.ctx, nameOf(resource{kind: kindKey, corpus: p.id}), maxStatement)
	if err != nil {
		return false
	}
	v, err := openStatement(statement, p.id)
	return err == nil && v.String() != info.Key && !slices.Contains(info.Older, v.String())
}

// immutable writes tiles, entry bundles, packs and documents of the records
// from the bundle on in which before is.
func (p *publisher) immutable(before uint64) error {
	if before == p.head.Size && !p.req.Documents {
		return nil // the head was written after all of it
	}
	for level := uint8(0); p.head.Size>>(8*level) > 0; level++ {
		hashes := p.head.Size >> (8 * level)
		for index := before >> (8 * level) / tileWidth; index*tileWidth < hashes; index++ {
			width := int(min(hashes-index*tileWidth, tileWidth))
			tile, err := p.store.ProvenTile(p.ctx, p.req.Corpus, level, index, width)
			if err != nil {
				return err
			}
			if err := p.fixed(resource{kind: kindTile, corpus: p.id, level: level, index: index, width: width}, tile); err != nil {
				return err
			}
		}
	}
	ctx, cancel := context.WithCancelCause(p.ctx)
	defer cancel(nil)
	var workers sync.WaitGroup
	free := make(chan struct{}, publishStreams)
	p.first = before / tileWidth
	if p.req.Documents {
		p.first = 0 // those that are there may have come without documents
	}
	for index := p.first; index*tileWidth < p.head.Size && ctx.Err() == nil; index++ {
		free <- struct{}{}
		workers.Go(func() {
			defer func() { <-free }()
			if err := p.bundle(ctx, index); err != nil {
				cancel(err)
			}
		})
	}
	workers.Wait()
	return context.Cause(ctx)
}

// filter writes the filter of the corpus and returns its note, nil where it has
// none.
func (p *publisher) filter() (note []byte, err error) {
	head, note, err := p.store.Filter(p.ctx, p.req.Corpus)
	if errors.Is(err, corpus.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	bytes, err := p.store.FilterBytes(p.ctx, p.req.Corpus, head.Sum)
	if err != nil {
		return nil, err
	}
	if proof.SumFilter(bytes) != head.Sum {
		return nil, fmt.Errorf("%w: the filter of corpus %s is not the one that is signed", corpus.ErrCorrupt, p.req.Corpus)
	}
	return note, p.fixed(resource{kind: kindFuse, corpus: p.id, sum: head.Sum}, bytes)
}

// bundle writes one entry bundle and its pack.
func (p *publisher) bundle(ctx context.Context, index uint64) error {
	width := int(min(p.head.Size-index*tileWidth, tileWidth))
	entries, err := p.store.ProvenEntries(ctx, p.req.Corpus, index, width)
	if err != nil {
		return err
	}
	if err := p.fixed(resource{kind: kindEntries, corpus: p.id, index: index, width: width}, entries); err != nil {
		return err
	}
	records, err := p.store.Records(ctx, p.req.Corpus, index*tileWidth, index*tileWidth+uint64(width))
	if err != nil {
		return err
	}
	records = slices.DeleteFunc(records, func(r proof.Record) bool { return r.Op == proof.OpWithdraw })
	size := int64(0)
	for _, r := range records {
		size += elementSize(r.Header)
	}
	pack := resource{kind: kindPack, corpus: p.id, index: index, width: width}
	err = p.missing(ctx, pack, size, func() io.Reader { return &elements{ctx: ctx, shared: p.shared, records: records} })
	for i := 0; err == nil && p.req.Documents && i < len(records); i++ {
		doc := resource{kind: kindDoc, corpus: p.id, root: records[i].Header.Root}
		err = p.missing(ctx, doc, elementSize(records[i].Header), func() io.Reader {
			return &elements{ctx: ctx, shared: p.shared, records: records[i : i+1]}
		})
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done += width
	p.req.Progress(Progress{Stage: "publish", Documents: p.done, Total: int(p.head.Size - p.first*tileWidth), Bytes: p.result.Bytes})
	return err
}

// fixed writes a small resource that never changes, unless it is there.
func (p *publisher) fixed(r resource, content []byte) error {
	return p.missing(p.ctx, r, int64(len(content)), func() io.Reader { return bytes.NewReader(content) })
}

// missing writes a resource that never changes, unless it is there: whatever
// has its name and its length is it, since names appear with their whole
// content.
func (p *publisher) missing(ctx context.Context, r resource, size int64, open func() io.Reader) error {
	there, err := p.to.Size(ctx, nameOf(r))
	if err == nil && there == size {
		return nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return p.put(ctx, r, TargetFile{Size: size, Type: typeOf(r), Immutable: true}, open())
}

// changing writes a resource that changes, where it has. Without content there
// is none.
func (p *publisher) changing(r resource, typ string, content []byte) error {
	if len(content) == 0 {
		return nil
	}
	old, err := p.to.Get(p.ctx, nameOf(r), maxCorpusList)
	if err == nil && bytes.Equal(old, content) {
		return nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return p.put(p.ctx, r, TargetFile{Size: int64(len(content)), Type: typ}, bytes.NewReader(content))
}

func (p *publisher) put(ctx context.Context, r resource, f TargetFile, content io.Reader) error {
	if err := p.to.Put(ctx, nameOf(r), f, content); err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.result.Files++
	p.result.Bytes += f.Size
	return nil
}

// listing returns the list of corpora of the target with this one in it.
func (p *publisher) listing() ([]byte, error) {
	var list listings
	old, err := p.to.Get(p.ctx, nameOf(resource{kind: kindCorpora}), maxCorpusList)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if err == nil {
		if err := json.Unmarshal(old, &list); err != nil {
			return nil, fmt.Errorf("%w: its list of corpora is none: %w", ErrTarget, err)
		}
	}
	list.Corpora = slices.DeleteFunc(list.Corpora, func(l listing) bool { return l.Origin == p.req.Corpus })
	info, err := p.store.Lookup(p.ctx, p.req.Corpus)
	if err != nil {
		return nil, err
	}
	list.Corpora = append(list.Corpora, listing{
		Origin: info.Origin, Size: p.head.Size, Documents: info.Documents, Head: base64.StdEncoding.EncodeToString(p.head.Root[:]),
	})
	if len(list.Corpora) > maxCorpora {
		return nil, fmt.Errorf("%w: it has %d corpora, at most %d", ErrTarget, len(list.Corpora), maxCorpora)
	}
	slices.SortFunc(list.Corpora, func(a, b listing) int { return strings.Compare(a.Origin, b.Origin) })
	b, err := json.Marshal(list)
	return append(b, '\n'), err
}

// nameOf returns the name that a resource has in a target.
func nameOf(r resource) string { return strings.TrimPrefix(PathPrefix, "/") + r.path() }

func typeOf(r resource) string {
	switch r.kind {
	case kindCorpora:
		return typeJSON
	case kindKey, kindCheckpoint, kindRotations, kindFilter, kindProof:
		return typeText
	default:
		return typeBinary
	}
}

// elements reads the elements of documents, one in memory at a time.
type elements struct {
	ctx     context.Context
	shared  *shard.Shared
	records []proof.Record
	buf     bytes.Buffer
}

// Read implements [io.Reader].
func (e *elements) Read(b []byte) (int, error) {
	for e.buf.Len() == 0 {
		if len(e.records) == 0 {
			return 0, io.EOF
		}
		header := e.records[0].Header
		docs, err := e.shared.Stored(e.ctx, []document.Header{header}, false)
		if err == nil {
			err = docs[0].Err
		}
		if err != nil {
			return 0, err
		}
		if err := writeElement(&e.buf, header, docs[0].Parts, false); err != nil {
			return 0, err
		}
		e.records = e.records[1:]
	}
	return e.buf.Read(b)
}
