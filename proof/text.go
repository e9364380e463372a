package proof

import (
	"bytes"
	"fmt"
	"strconv"

	"arborist/document"
	"arborist/merkle"
)

const (
	versionPrefix = "arborist-proof/"
	version       = versionPrefix + "2"
	tlogVersion   = "c2sp.org/tlog-proof@v1"
)

// MarshalText returns the proof's text form, the only one it has. It fails
// where p has none: where index, path, header, record or checkpoint are not
// valid or not of one document. It does not verify the proof.
func (p *Proof) MarshalText() ([]byte, error) {
	c, err := p.check(ReadCheckpoint)
	if err != nil {
		return nil, fmt.Errorf("write proof: %w", err)
	}
	return p.encodeText(c)
}

// encodeText is MarshalText of a proof that has been checked.
func (p *Proof) encodeText(c parts) ([]byte, error) {
	b := make([]byte, 0, 2048+len(p.Text))
	b = append(b, version+"\nchunk "...)
	b = p.Chunk.appendText(b)
	b = append(b, '\n')
	if p.Log == nil {
		b = append(b, "document "...)
		b = append(b, c.header.id.String()...)
		b = append(b, '\n')
		b = append(b, c.header.text...)
	} else {
		b = append(b, withoutID(c.line)...)
		b = append(b, "\n"+tlogVersion+"\nindex "...)
		b = p.Log.Entry.appendText(b)
		b = append(b, '\n')
		b = append(b, p.Log.Note...)
	}
	if p.Text != nil {
		b = append(b, "passage "...)
		b = strconv.AppendInt(b, int64(len(p.Text)), 10)
		b = append(b, '\n')
		b = append(b, p.Text...)
	}
	return b, nil
}

// appendText appends the index and one line for each hash of the path.
func (i Inclusion) appendText(b []byte) []byte {
	b = strconv.AppendUint(b, i.Index, 10)
	b = append(b, '\n')
	for _, h := range i.Path {
		b = appendHash(b, h)
		b = append(b, '\n')
	}
	return b
}

// parseText parses the text form. [Parse] checks the result and that it
// encodes to the same bytes.
func parseText(file []byte) (*Proof, error) {
	t := textParser{rest: file}
	p, err := t.proof()
	if err != nil {
		return nil, fmt.Errorf("line %d: %w", t.line, err)
	}
	return p, nil
}

// A textParser takes lines off the front of a file.
type textParser struct {
	rest []byte
	line int // number of the line taken last, from 1
}

func (t *textParser) proof() (p *Proof, err error) {
	if err := t.version(versionPrefix, version); err != nil {
		return nil, err
	}
	p = new(Proof)
	if p.Chunk, err = t.inclusion("chunk"); err != nil {
		return nil, err
	}
	if bytes.HasPrefix(t.rest, []byte("{")) {
		err = t.logPart(p)
	} else {
		p.Header, err = t.header()
	}
	if err != nil {
		return nil, err
	}
	p.Text, err = t.passage()
	return p, err
}

// next takes a line off, without its newline.
func (t *textParser) next() ([]byte, error) {
	t.line++
	line, rest, ok := bytes.Cut(t.rest, []byte("\n"))
	if !ok {
		return nil, ErrTruncated
	}
	t.rest = rest
	return line, nil
}

// value takes off a line of a key, a space and a value.
func (t *textParser) value(key string) ([]byte, error) {
	line, err := t.next()
	if err != nil {
		return nil, err
	}
	v, ok := bytes.CutPrefix(line, []byte(key+" "))
	if !ok {
		return nil, fmt.Errorf("%w: want %q, found %.40q", ErrFormat, key+" ", line)
	}
	return v, nil
}

func (t *textParser) number(key string) (uint64, error) {
	v, err := t.value(key)
	if err != nil {
		return 0, err
	}
	n, err := parseNumber(v)
	if err != nil {
		return 0, fmt.Errorf("%w: %s: %w", ErrFormat, key, err)
	}
	return n, nil
}

// inclusion takes off an index, a path and the empty line that ends it.
func (t *textParser) inclusion(key string) (i Inclusion, err error) {
	if i.Index, err = t.number(key); err != nil {
		return i, err
	}
	i.Path, err = t.hashes(merkle.MaxPath)
	return i, err
}

// header takes off a document ID and the header that it is the hash of.
func (t *textParser) header() (h document.Header, err error) {
	v, err := t.value("document")
	if err != nil {
		return h, err
	}
	id, err := document.ParseID(string(v))
	if err != nil {
		return h, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	start := t.rest
	for range 6 {
		if _, err := t.next(); err != nil {
			return h, err
		}
	}
	if h, err = document.ParseHeader(start[:len(start)-len(t.rest)]); err != nil {
		return h, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	if h.ID() != id {
		return h, fmt.Errorf("%w: the header below is of document %s, not %s", ErrTampered, h.ID(), id)
	}
	return h, nil
}

// logPart takes off a record and a C2SP tlog-proof without extra data.
func (t *textParser) logPart(p *Proof) error {
	line, err := t.next()
	if err != nil {
		return err
	}
	p.Log = new(LogPart)
	if p.Log.Record, err = readWithoutID(line); err != nil {
		return err
	}
	p.Header = p.Log.Record.Header
	if line, err = t.next(); err != nil {
		return err
	}
	if string(line) != tlogVersion {
		return fmt.Errorf("%w: want %q, found %.40q", ErrFormat, tlogVersion, line)
	}
	if p.Log.Entry, err = t.inclusion("index"); err != nil {
		return err
	}
	p.Log.Note, err = t.note(3)
	return err
}

// passage takes off what is left: nothing, or a length and as many bytes.
func (t *textParser) passage() ([]byte, error) {
	if len(t.rest) == 0 {
		return nil, nil
	}
	n, err := t.number("passage")
	if err != nil {
		return nil, err
	}
	switch have := uint64(len(t.rest)); {
	case n == 0:
		return nil, fmt.Errorf("%w: the passage is empty", ErrFormat)
	case have < n:
		return nil, fmt.Errorf("%w: %d of %d bytes of the passage", ErrTruncated, have, n)
	case have > n:
		return nil, fmt.Errorf("%w: %d bytes after the passage", ErrFormat, have-n)
	}
	return bytes.Clone(t.rest), nil
}
