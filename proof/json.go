package proof

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"arborist/document"
	"arborist/merkle"
)

// twin is the JSON form of a proof. Texts that are hashed or signed stand in it
// as strings, so that what a program decodes is what it has to hash.
type twin struct {
	Format     string   `json:"format"`
	Chunk      uint64   `json:"chunk"`
	Path       []string `json:"path"`
	Document   string   `json:"document,omitempty"`
	Header     string   `json:"header,omitempty"`
	Record     string   `json:"record,omitempty"`
	Index      *uint64  `json:"index,omitempty"`
	Hashes     []string `json:"hashes,omitzero"`
	Checkpoint string   `json:"checkpoint,omitempty"`
	Passage    []byte   `json:"passage,omitempty"` // base64
}

// MarshalJSON returns the proof's JSON form, the twin of its text form: one
// object without white space and without a newline at its end, strings escaped
// as encoding/json does by default. It fails where [Proof.MarshalText] does.
func (p *Proof) MarshalJSON() ([]byte, error) {
	c, err := p.check(ReadCheckpoint)
	if err != nil {
		return nil, fmt.Errorf("write proof: %w", err)
	}
	return p.encodeJSON(c)
}

// encodeJSON is MarshalJSON of a proof that has been checked.
func (p *Proof) encodeJSON(c parts) ([]byte, error) {
	t := twin{Format: version, Chunk: p.Chunk.Index, Path: p.Chunk.strings(), Passage: p.Text}
	if p.Log == nil {
		t.Document, t.Header = c.header.id.String(), string(c.header.text)
	} else {
		t.Record, t.Checkpoint = string(withoutID(c.line)), string(p.Log.Note)
		t.Index, t.Hashes = &p.Log.Entry.Index, p.Log.Entry.strings()
	}
	return json.Marshal(t)
}

// strings returns the path in base64; it is never nil.
func (i Inclusion) strings() []string {
	s := make([]string, len(i.Path))
	for k, h := range i.Path {
		s[k] = string(appendHash(nil, h))
	}
	return s
}

// parseJSON parses the JSON form. [Parse] checks the result and that it encodes
// to the same bytes, which leaves no freedom in keys, order or spelling.
func parseJSON(file []byte) (*Proof, error) {
	var t twin
	d := json.NewDecoder(bytes.NewReader(file))
	d.DisallowUnknownFields()
	if err := d.Decode(&t); err != nil {
		if errors.Is(err, io.ErrUnexpectedEOF) {
			return nil, ErrTruncated
		}
		return nil, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	if n := d.InputOffset(); n != int64(len(file)) {
		return nil, fmt.Errorf("%w: %d bytes after the end", ErrFormat, int64(len(file))-n)
	}
	if t.Format != version {
		if n, ok := strings.CutPrefix(t.Format, versionPrefix); !ok || !isNumber([]byte(n)) {
			return nil, fmt.Errorf("%w: its format is not %q", ErrFormat, version)
		}
		return nil, fmt.Errorf("%w: format %.40q, this program knows %q", ErrVersion, t.Format, version)
	}
	p := &Proof{Text: t.Passage}
	var err error
	if p.Chunk, err = parseInclusion("path", t.Chunk, t.Path); err != nil {
		return nil, err
	}
	if t.Record == "" {
		return p, t.header(p)
	}
	return p, t.logPart(p)
}

func (t *twin) header(p *Proof) (err error) {
	id, err := document.ParseID(t.Document)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrFormat, err)
	}
	if p.Header, err = document.ParseHeader([]byte(t.Header)); err != nil {
		return fmt.Errorf("%w: %w", ErrFormat, err)
	}
	if p.Header.ID() != id {
		return fmt.Errorf("%w: the header is of document %s, not %s", ErrTampered, p.Header.ID(), id)
	}
	return nil
}

func (t *twin) logPart(p *Proof) error {
	if t.Index == nil {
		return fmt.Errorf("%w: a record without its index", ErrFormat)
	}
	r, err := readWithoutID([]byte(t.Record))
	if err != nil {
		return err
	}
	entry, err := parseInclusion("hashes", *t.Index, t.Hashes)
	if err != nil {
		return err
	}
	p.Header = r.Header
	p.Log = &LogPart{Record: r, Entry: entry, Note: []byte(t.Checkpoint)}
	return nil
}

func parseInclusion(key string, index uint64, path []string) (Inclusion, error) {
	if len(path) > merkle.MaxPath {
		return Inclusion{}, fmt.Errorf("%w: %s has over %d hashes", ErrFormat, key, merkle.MaxPath)
	}
	i := Inclusion{Index: index}
	for _, s := range path {
		h, err := parseHash([]byte(s))
		if err != nil {
			return i, fmt.Errorf("%w: %s: %w", ErrFormat, key, err)
		}
		i.Path = append(i.Path, h)
	}
	return i, nil
}
