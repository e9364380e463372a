package proof

import (
	"bytes"
	"fmt"

	"arborist/document"
	"arborist/merkle"
)

const (
	// MaxHits is the largest number of passages in a bundle.
	MaxHits = 1000
	// MaxBundle is the longest bundle file, in bytes, in either form.
	MaxBundle = 16 << 20
)

// A Bundle shows what single proofs of several passages show, and holds each
// part that they share once: the checkpoint of a corpus, the record or header
// of a document, the hashes between. Its passages are always in it. It is a
// claim until [VerifyBundle] has accepted it.
type Bundle struct {
	Hits      []Place          // in rank order; each passage below exactly once
	Logs      []BundleLog      // one for each corpus, sorted by origin
	Documents []BundleDocument // in no corpus, sorted by ID
}

// A Place names a passage of a bundle.
type Place struct {
	Document uint64 // number of the document: those of Logs in order, then Documents, from 0
	Chunk    uint64 // index of the passage in it, from 0
}

// A BundleLog shows that records stand in a corpus's log.
type BundleLog struct {
	Note      []byte           // the log's signed checkpoint, verbatim
	Path      []merkle.Hash    // multi path of the records: see [merkle.MultiInclusion]
	Documents []BundleDocument // sorted by Index
}

// A BundleDocument shows that passages are chunks of a document.
type BundleDocument struct {
	Index    uint64          // of Record in the log, from 0
	Record   *Record         // add or supersede of the document; nil where no corpus lists it
	Header   document.Header // equal to Record.Header where Record is set
	Passages []Passage       // sorted by Chunk
	Path     []merkle.Hash   // multi path of the passages
}

// A Passage is the text of one chunk.
type Passage struct {
	Chunk uint64 // index, from 0
	Text  []byte
}

// documents returns all documents in the order of their numbers.
func (b *Bundle) documents() []*BundleDocument {
	var all []*BundleDocument
	for i := range b.Logs {
		for j := range b.Logs[i].Documents {
			all = append(all, &b.Logs[i].Documents[j])
		}
	}
	for i := range b.Documents {
		all = append(all, &b.Documents[i])
	}
	return all
}

// bundleParts is what checking a bundle's form gives: the texts that are hashed.
type bundleParts struct {
	heads   []Checkpoint   // of the logs, as the function given to check reads them
	headers []hashedHeader // of the documents, by number
	lines   [][]byte       // records of the documents, by number; nil where there is none
}

// check checks everything about a bundle that needs no hash of a passage. A
// bundle that fails it has no encoding. How notes are read is the caller's: read
// is called once for each log, in order.
func (b *Bundle) check(read func(note []byte) (Checkpoint, error)) (c bundleParts, err error) {
	if n := len(b.Hits); n > MaxHits {
		return c, fmt.Errorf("%w: %d hits, at most %d", ErrTooLarge, n, MaxHits)
	}
	for i := range b.Logs {
		if err := b.Logs[i].check(&c, read); err != nil {
			return c, fmt.Errorf("log %d: %w", i, err)
		}
		if i > 0 && c.heads[i-1].Origin >= c.heads[i].Origin {
			return c, fmt.Errorf("%w: logs are not sorted by origin, each once", ErrFormat)
		}
	}
	for i := range b.Documents {
		d := &b.Documents[i]
		if d.Record != nil || d.Index != 0 {
			return c, fmt.Errorf("%w: a record outside a log", ErrFormat)
		}
		if err := d.check(&c); err != nil {
			return c, err
		}
		n := len(c.headers)
		if i > 0 && bytes.Compare(c.headers[n-2].id[:], c.headers[n-1].id[:]) >= 0 {
			return c, fmt.Errorf("%w: documents are not sorted by ID, each once", ErrFormat)
		}
	}
	return c, b.checkHits()
}

// checkHits checks that the hits are the passages, each once.
func (b *Bundle) checkHits() error {
	open := map[Place]bool{}
	for i, d := range b.documents() {
		for _, p := range d.Passages {
			open[Place{uint64(i), p.Chunk}] = true
		}
	}
	for rank, h := range b.Hits {
		if !open[h] {
			return fmt.Errorf("%w: hit %d names chunk %d of document %d, which is not there or has a hit", ErrFormat, rank+1, h.Chunk, h.Document)
		}
		delete(open, h)
	}
	switch {
	case len(open) > 0:
		return fmt.Errorf("%w: %d passages are no hits", ErrFormat, len(open))
	case len(b.Hits) == 0:
		return fmt.Errorf("%w: no hits", ErrFormat)
	}
	return nil
}

func (l *BundleLog) check(c *bundleParts, read func([]byte) (Checkpoint, error)) error {
	head, err := read(l.Note)
	if err != nil {
		return err
	}
	if head.Size == 0 {
		return fmt.Errorf("%w: the checkpoint is of an empty log", ErrFormat)
	}
	c.heads = append(c.heads, head)
	for i := range l.Documents {
		if l.Documents[i].Record == nil {
			return fmt.Errorf("%w: a document without a record", ErrFormat)
		}
		if err := l.Documents[i].check(c); err != nil {
			return err
		}
	}
	return checkMultiPath("record", l.indices(), head.Size, l.Path)
}

func (d *BundleDocument) check(c *bundleParts) error {
	header, err := hashHeader(d.Header)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrFormat, err)
	}
	var line []byte
	if d.Record != nil {
		if line, err = d.Record.checkedListing(header, d.Header); err != nil {
			return err
		}
	}
	for _, p := range d.Passages {
		if err := checkPassage(p.Text, d.Header); err != nil {
			return fmt.Errorf("chunk %d: %w", p.Chunk, err)
		}
	}
	c.headers, c.lines = append(c.headers, header), append(c.lines, line)
	return checkMultiPath("chunk", d.indices(), d.Header.Chunks, d.Path)
}

// indices returns the places of the records in the log.
func (l *BundleLog) indices() []uint64 {
	all := make([]uint64, len(l.Documents))
	for i, d := range l.Documents {
		all[i] = d.Index
	}
	return all
}

// indices returns the places of the passages in the document.
func (d *BundleDocument) indices() []uint64 {
	all := make([]uint64, len(d.Passages))
	for i, p := range d.Passages {
		all[i] = p.Chunk
	}
	return all
}

// checkMultiPath checks that indices and path can belong to a tree of size
// leaves.
func checkMultiPath(what string, indices []uint64, size uint64, path []merkle.Hash) error {
	if len(indices) == 0 {
		return fmt.Errorf("%w: no %s", ErrFormat, what)
	}
	for i := 1; i < len(indices); i++ {
		if indices[i-1] >= indices[i] {
			return fmt.Errorf("%w: %s %d stands before %d", ErrFormat, what, indices[i-1], indices[i])
		}
	}
	want, err := merkle.MultiLength(indices, size)
	if err != nil {
		return fmt.Errorf("%w: %s: %w", ErrTampered, what, err)
	}
	if len(path) != want {
		return fmt.Errorf("%w: the path of %d %ss of %d has %d hashes, it needs %d", ErrTampered, len(indices), what, size, len(path), want)
	}
	return nil
}

// ParseBundle parses a bundle file, the text form or its JSON twin, and accepts
// exactly what [Bundle.MarshalText] or [Bundle.MarshalJSON] gives. It checks the
// form alone: [VerifyBundle] checks the bundle. Errors wrap [ErrFormat],
// [ErrTruncated], [ErrVersion], [ErrTooLarge] or [ErrTampered].
func ParseBundle(file []byte) (*Bundle, error) {
	b, err := parseBundle(file)
	if err != nil {
		return nil, fmt.Errorf("parse bundle: %w", err)
	}
	return b, nil
}

func parseBundle(file []byte) (*Bundle, error) {
	if len(file) > MaxBundle {
		return nil, fmt.Errorf("%w: %d bytes, at most %d", ErrTooLarge, len(file), MaxBundle)
	}
	read, encode := parseBundleText, (*Bundle).encodeText
	if len(file) > 0 && file[0] == '{' {
		read, encode = parseBundleJSON, (*Bundle).encodeJSON
	}
	b, err := read(file)
	if err != nil {
		return nil, err
	}
	c, err := b.check(ReadCheckpoint)
	if err != nil {
		return nil, err
	}
	again, err := encode(b, c)
	if err != nil {
		return nil, err
	}
	if !bytes.Equal(again, file) {
		return nil, fmt.Errorf("%w: second spelling of a bundle", ErrFormat)
	}
	return b, nil
}

// IsBundle reports whether a file starts as a bundle does, of any version and in
// either form. It says nothing about the rest.
func IsBundle(file []byte) bool {
	return bytes.HasPrefix(file, []byte(bundlePrefix)) || bytes.HasPrefix(file, []byte(bundleJSONPrefix))
}

// UnmarshalText is [ParseBundle] for [encoding.TextUnmarshaler].
func (b *Bundle) UnmarshalText(file []byte) error { return b.unmarshal(file) }

// UnmarshalJSON is [ParseBundle] for [encoding/json.Unmarshaler].
func (b *Bundle) UnmarshalJSON(file []byte) error { return b.unmarshal(file) }

func (b *Bundle) unmarshal(file []byte) error {
	q, err := ParseBundle(file)
	if err != nil {
		return err
	}
	*b = *q
	return nil
}
