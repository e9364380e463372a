package proof

import (
	"bytes"
	"crypto/sha256"
	"fmt"

	"arborist/document"
	"arborist/merkle"
)

const (
	// MaxPassage is the longest passage that a proof carries or is checked
	// with, in bytes; a chunk is far shorter.
	MaxPassage = 1 << 20
	// MaxFile is the longest proof file, in bytes, in either form.
	MaxFile = 4 << 20
)

// An Inclusion is a place in a tree and the path that proves it. The size of
// the tree is not in it: that comes from a header or a checkpoint.
type Inclusion struct {
	Index uint64        // of the leaf, from 0
	Path  []merkle.Hash // sibling hashes from the leaf upwards
}

// A Proof shows that a passage is a chunk of a document and, where Log is set,
// that the document was listed in a corpus. It is a claim until [Verify] has
// accepted it.
type Proof struct {
	Chunk  Inclusion       // of the passage in the document's tree
	Header document.Header // of the document; equal to Log.Record.Header where Log is set
	Log    *LogPart        // nil: the short form, of a document in no corpus
	Text   []byte          // the passage; nil where it is kept apart
}

// A LogPart shows that a record stands in a corpus's log.
type LogPart struct {
	Record Record    // add or supersede of the document
	Entry  Inclusion // of the record in the log
	Note   []byte    // the log's signed checkpoint, verbatim
}

// A hashedHeader is a valid header's text and its hash.
type hashedHeader struct {
	text []byte
	id   document.ID
}

func hashHeader(h document.Header) (hashedHeader, error) {
	if err := h.Check(); err != nil {
		return hashedHeader{}, err
	}
	text := h.Text()
	return hashedHeader{text: text, id: sha256.Sum256(text)}, nil
}

// parts is what checking a proof's form gives: the texts that are hashed.
type parts struct {
	header     hashedHeader
	line       []byte     // the record
	checkpoint Checkpoint // as the function given to check reads it
}

// check checks everything about a proof that needs no hash of the passage. A
// proof that fails it has no encoding. How the note is read is the caller's:
// with or without its signature.
func (p *Proof) check(read func(note []byte) (Checkpoint, error)) (c parts, err error) {
	if c.header, err = hashHeader(p.Header); err != nil {
		return c, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	if err := p.Chunk.check("chunk", p.Header.Chunks); err != nil {
		return c, err
	}
	if p.Text != nil {
		if err := checkPassage(p.Text, p.Header); err != nil {
			return c, err
		}
	}
	if p.Log == nil {
		return c, nil
	}
	if c.line, err = p.Log.Record.checkedListing(c.header, p.Header); err != nil {
		return c, err
	}
	if c.checkpoint, err = read(p.Log.Note); err != nil {
		return c, err
	}
	if c.checkpoint.Size == 0 {
		return c, fmt.Errorf("%w: the checkpoint is of an empty log", ErrFormat)
	}
	return c, p.Log.Entry.check("record", c.checkpoint.Size)
}

// checkedListing returns the line of a record that has to list the document
// with this header, which has been hashed.
func (r *Record) checkedListing(header hashedHeader, h document.Header) ([]byte, error) {
	switch {
	case r.Op == OpWithdraw:
		return nil, fmt.Errorf("%w: its record withdraws a document", ErrFormat)
	case r.Header != h:
		return nil, fmt.Errorf("%w: its record lists another document than its header", ErrTampered)
	}
	if err := r.checkWith(header); err != nil {
		return nil, fmt.Errorf("%w: record: %w", ErrFormat, err)
	}
	return r.checkedLine()
}

// check checks that index and path can belong to a tree of size leaves.
func (i Inclusion) check(what string, size uint64) error {
	if i.Index >= size {
		return fmt.Errorf("%w: %s index %d is not below %d", ErrTampered, what, i.Index, size)
	}
	if want := merkle.PathLength(i.Index, size); len(i.Path) != want {
		return fmt.Errorf("%w: the path of %s %d of %d has %d hashes, it needs %d", ErrTampered, what, i.Index, size, len(i.Path), want)
	}
	return nil
}

// checkPassage checks that a passage can be a chunk of the document: each
// other chunk has at least one byte.
func checkPassage(text []byte, h document.Header) error {
	switch n := uint64(len(text)); {
	case n > MaxPassage:
		return fmt.Errorf("passage: %w: %d bytes, at most %d", ErrTooLarge, n, MaxPassage)
	case n == 0:
		return fmt.Errorf("%w: the passage is empty", ErrFormat)
	case n > h.Bytes-(h.Chunks-1), h.Chunks == 1 && n != h.Bytes:
		return fmt.Errorf("%w: a passage of %d bytes is not one of %d chunks in %d bytes", ErrTampered, n, h.Chunks, h.Bytes)
	}
	return nil
}

// Parse parses a proof file, the text form or its JSON twin, and accepts
// exactly what [Proof.MarshalText] or [Proof.MarshalJSON] gives. It checks the
// form alone: [Verify] checks the proof. Errors wrap [ErrFormat],
// [ErrTruncated], [ErrVersion], [ErrTooLarge] or [ErrTampered].
func Parse(file []byte) (*Proof, error) {
	p, err := parse(file)
	if err != nil {
		return nil, fmt.Errorf("parse proof: %w", err)
	}
	return p, nil
}

func parse(file []byte) (*Proof, error) {
	if len(file) > MaxFile {
		return nil, fmt.Errorf("%w: %d bytes, at most %d", ErrTooLarge, len(file), MaxFile)
	}
	read, encode := parseText, (*Proof).encodeText
	if len(file) > 0 && file[0] == '{' {
		read, encode = parseJSON, (*Proof).encodeJSON
	}
	p, err := read(file)
	if err != nil {
		return nil, err
	}
	c, err := p.check(ReadCheckpoint)
	if err != nil {
		return nil, err
	}
	again, err := encode(p, c)
	if err != nil {
		return nil, err
	}
	if !bytes.Equal(again, file) {
		return nil, fmt.Errorf("%w: second spelling of a proof", ErrFormat)
	}
	return p, nil
}

// UnmarshalText is [Parse] for [encoding.TextUnmarshaler].
func (p *Proof) UnmarshalText(b []byte) error { return p.unmarshal(b) }

// UnmarshalJSON is [Parse] for [encoding/json.Unmarshaler].
func (p *Proof) UnmarshalJSON(b []byte) error { return p.unmarshal(b) }

func (p *Proof) unmarshal(b []byte) error {
	q, err := Parse(b)
	if err != nil {
		return err
	}
	*p = *q
	return nil
}
