package proof

import (
	"bytes"
	"fmt"
	"strconv"

	"arborist/merkle"
)

const (
	bundlePrefix     = "arborist-bundle/"
	bundleVersion    = bundlePrefix + "1"
	bundleJSONPrefix = `{"format":"` + bundlePrefix
)

// MarshalText returns the bundle's text form, the only one it has. It fails
// where b has none: where anything is out of order, not valid or does not belong
// together, and with [ErrTooLarge] where it would be over [MaxBundle]. It does
// not verify the bundle.
func (b *Bundle) MarshalText() ([]byte, error) { return b.marshal((*Bundle).encodeText) }

func (b *Bundle) marshal(encode func(*Bundle, bundleParts) ([]byte, error)) ([]byte, error) {
	c, err := b.check(ReadCheckpoint)
	if err != nil {
		return nil, fmt.Errorf("write bundle: %w", err)
	}
	file, err := encode(b, c)
	if err == nil && len(file) > MaxBundle {
		return nil, fmt.Errorf("write bundle: %w: %d bytes, at most %d", ErrTooLarge, len(file), MaxBundle)
	}
	return file, err
}

// encodeText is MarshalText of a bundle that has been checked.
func (b *Bundle) encodeText(c bundleParts) ([]byte, error) {
	f := append(make([]byte, 0, 4096*len(b.Hits)), bundleVersion+"\n"...)
	for _, h := range b.Hits {
		f = appendPair(f, "hit", h.Document, h.Chunk)
	}
	f = append(f, '\n')
	number := 0
	for i := range b.Logs {
		l := &b.Logs[i]
		f = append(f, "log\n"...)
		f = append(f, l.Note...)
		f = appendHashes(f, l.Path)
		for j := range l.Documents {
			f = append(f, "record "...)
			f = strconv.AppendUint(f, l.Documents[j].Index, 10)
			f = append(f, '\n')
			f = append(f, c.lines[number]...)
			f = append(f, '\n')
			f = l.Documents[j].appendPassages(f)
			number++
		}
	}
	for i := range b.Documents {
		f = append(f, "document "...)
		f = append(f, c.headers[number].id.String()...)
		f = append(f, '\n')
		f = append(f, c.headers[number].text...)
		f = b.Documents[i].appendPassages(f)
		number++
	}
	return f, nil
}

func (d *BundleDocument) appendPassages(f []byte) []byte {
	for _, p := range d.Passages {
		f = appendPair(f, "chunk", p.Chunk, uint64(len(p.Text)))
		f = append(f, p.Text...)
		f = append(f, '\n')
	}
	return appendHashes(f, d.Path)
}

// appendPair appends a line of a key and two numbers.
func appendPair(f []byte, key string, a, b uint64) []byte {
	f = append(f, key...)
	f = append(f, ' ')
	f = strconv.AppendUint(f, a, 10)
	f = append(f, ' ')
	f = strconv.AppendUint(f, b, 10)
	return append(f, '\n')
}

// appendHashes appends one line for each hash and the empty line that ends them.
func appendHashes(f []byte, hashes []merkle.Hash) []byte {
	for _, h := range hashes {
		f = appendHash(f, h)
		f = append(f, '\n')
	}
	return append(f, '\n')
}

// parseBundleText parses the text form. [ParseBundle] checks the result and
// that it encodes to the same bytes.
func parseBundleText(file []byte) (*Bundle, error) {
	t := textParser{rest: file}
	b, err := t.bundle()
	if err != nil {
		return nil, fmt.Errorf("line %d: %w", t.line, err)
	}
	return b, nil
}

func (t *textParser) bundle() (*Bundle, error) {
	if err := t.version(bundlePrefix, bundleVersion); err != nil {
		return nil, err
	}
	b := new(Bundle)
	for !bytes.HasPrefix(t.rest, []byte("\n")) {
		document, chunk, err := t.pair("hit")
		if err != nil {
			return nil, err
		}
		if len(b.Hits) == MaxHits {
			return nil, fmt.Errorf("%w: over %d hits", ErrTooLarge, MaxHits)
		}
		b.Hits = append(b.Hits, Place{document, chunk})
	}
	if _, err := t.next(); err != nil {
		return nil, err
	}
	for bytes.HasPrefix(t.rest, []byte("log\n")) {
		l, err := t.bundleLog()
		if err != nil {
			return nil, err
		}
		b.Logs = append(b.Logs, l)
	}
	for len(t.rest) > 0 {
		h, err := t.header()
		if err != nil {
			return nil, err
		}
		d := BundleDocument{Header: h}
		if err := t.passages(&d); err != nil {
			return nil, err
		}
		b.Documents = append(b.Documents, d)
	}
	return b, nil
}

// pair takes off a line of a key and two numbers.
func (t *textParser) pair(key string) (a, b uint64, err error) {
	v, err := t.value(key)
	if err != nil {
		return 0, 0, err
	}
	first, second, _ := bytes.Cut(v, []byte(" "))
	if a, err = parseNumber(first); err == nil {
		b, err = parseNumber(second)
	}
	if err != nil {
		return 0, 0, fmt.Errorf("%w: %s: %w", ErrFormat, key, err)
	}
	return a, b, nil
}

// bundleLog takes off a log with its records and their passages.
func (t *textParser) bundleLog() (l BundleLog, err error) {
	if _, err = t.next(); err != nil {
		return l, err
	}
	if l.Note, err = t.note(3); err != nil {
		return l, err
	}
	if l.Path, err = t.hashes(MaxHits * merkle.MaxPath); err != nil {
		return l, err
	}
	for bytes.HasPrefix(t.rest, []byte("record ")) {
		var d BundleDocument
		if d.Index, err = t.number("record"); err != nil {
			return l, err
		}
		line, err := t.next()
		if err != nil {
			return l, err
		}
		r, err := readRecord(line)
		if err != nil {
			return l, err
		}
		d.Record, d.Header = &r, r.Header
		if err := t.passages(&d); err != nil {
			return l, err
		}
		l.Documents = append(l.Documents, d)
	}
	return l, nil
}

// passages takes off the passages of a document and their path.
func (t *textParser) passages(d *BundleDocument) (err error) {
	for bytes.HasPrefix(t.rest, []byte("chunk ")) {
		chunk, n, err := t.pair("chunk")
		if err != nil {
			return err
		}
		switch have := uint64(len(t.rest)); {
		case n > MaxPassage:
			return fmt.Errorf("passage: %w: %d bytes, at most %d", ErrTooLarge, n, MaxPassage)
		case have <= n:
			return fmt.Errorf("%w: %d of %d bytes of the passage and its line end", ErrTruncated, have, n+1)
		case t.rest[n] != '\n':
			return fmt.Errorf("%w: no line end after the passage", ErrFormat)
		}
		text := bytes.Clone(t.rest[:n])
		t.line += 1 + bytes.Count(text, []byte("\n"))
		t.rest = t.rest[n+1:]
		d.Passages = append(d.Passages, Passage{Chunk: chunk, Text: text})
	}
	d.Path, err = t.hashes(MaxHits * merkle.MaxPath)
	return err
}
