// Package document is the vocabulary of Arborist: read it and you know what
// the rest talks about.
//
// A [Document] is canonical text ([Normalize], norm-v2) cut into chunks
// ([Cut]) whose hashes form an RFC 9162 Merkle tree. Its [Root] names the
// content; its [Header] binds the root to the number of chunks and bytes, and
// the header's hash is the document's [ID]. Where the content was found is a
// [Location], which is not hashed: two addresses with one body are two
// locations of one document.
//
// The package guarantees that equal text gives equal bytes everywhere (root,
// header, ID), that a [Document] always satisfies its own header, and that
// parsers accept exactly one spelling of each value. It is pure: no I/O, no
// clock, no goroutine.
//
// The exact formats, with test vectors, are in docs/formats.md.
package document

import (
	"errors"
	"fmt"

	"arborist/merkle"
)

// MaxBytes is the largest canonical text of one document, in bytes. It keeps
// the work that one input can cause bounded everywhere downstream.
const MaxBytes = 64 << 20

var (
	// ErrEmpty: nothing is left of the input after normalisation.
	ErrEmpty = errors.New("document: no text")
	// ErrTooLarge: the canonical text is over [MaxBytes].
	ErrTooLarge = fmt.Errorf("document: text is over %d MiB", MaxBytes>>20)
	// ErrMismatch: bytes and header do not belong together.
	ErrMismatch = errors.New("document: content does not match its header")
)

// A Document is canonical text with its chunks and its tree. It is immutable
// and safe for concurrent use.
type Document struct {
	header Header
	text   []byte
	spans  []Span
	tree   *merkle.Tree
}

// New makes a document of any text: it normalises, chunks and hashes it. It
// fails with [ErrEmpty] or [ErrTooLarge].
func New(text []byte) (*Document, error) {
	return fromCanonical(Normalize(text))
}

func fromCanonical(text []byte) (*Document, error) {
	if len(text) == 0 {
		return nil, ErrEmpty
	}
	if len(text) > MaxBytes {
		return nil, ErrTooLarge
	}
	spans := Cut(text)
	leaves := make([]merkle.Hash, len(spans))
	for i, s := range spans {
		leaves[i] = merkle.LeafHash(text[s.Start:s.End])
	}
	tree := merkle.NewTree(leaves)
	return &Document{
		header: Header{
			Root:    Root(tree.Root()),
			Chunks:  uint64(len(spans)),
			Bytes:   uint64(len(text)),
			Norm:    NormName,
			Chunker: ChunkerName,
		},
		text: text, spans: spans, tree: tree,
	}, nil
}

// Verify rebuilds a document from text received from elsewhere and checks
// everything that header says of it: that the text is canonical, and its
// length, chunk boundaries, chunk count and root. It keeps the slice. All
// failures wrap [ErrMismatch].
func Verify(header Header, text []byte) (*Document, error) {
	if header.Norm != NormName || header.Chunker != ChunkerName {
		return nil, fmt.Errorf("%w: made with %s and %s, this version knows %s and %s",
			ErrMismatch, header.Norm, header.Chunker, NormName, ChunkerName)
	}
	if uint64(len(text)) != header.Bytes {
		return nil, fmt.Errorf("%w: %d bytes, header says %d", ErrMismatch, len(text), header.Bytes)
	}
	if !IsNormal(text) {
		return nil, fmt.Errorf("%w: text is not in %s form", ErrMismatch, NormName)
	}
	d, err := fromCanonical(text)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrMismatch, err)
	}
	if d.header != header {
		return nil, fmt.Errorf("%w: it has root %s and %d chunks, header says %s and %d",
			ErrMismatch, d.header.Root, d.header.Chunks, header.Root, header.Chunks)
	}
	return d, nil
}

// Header returns the header that binds root, counts and format names.
func (d *Document) Header() Header { return d.header }

// Root returns the Merkle root of the chunks, the name of the content.
func (d *Document) Root() Root { return d.header.Root }

// Text returns the canonical text. The caller must not change it.
func (d *Document) Text() []byte { return d.text }

// Chunks returns the number of chunks, at least one.
func (d *Document) Chunks() int { return len(d.spans) }

// Chunk returns the bytes of chunk i. The caller must not change them.
func (d *Document) Chunk(i int) []byte {
	s := d.spans[i]
	return d.text[s.Start:s.End]
}

// Span returns where chunk i stands in the text.
func (d *Document) Span(i int) Span { return d.spans[i] }

// Tree returns the Merkle tree over the chunks.
func (d *Document) Tree() *merkle.Tree { return d.tree }
