package proof

import (
	"bytes"
	"encoding/json"
	"fmt"

	"arborist/document"
	"arborist/merkle"
)

// A bundleReader walks over the JSON form of a bundle, which has no freedom:
// each key stands where it has to. A decoder that takes JSON at large would give
// a hostile file of empty objects many times its size in memory; here every
// element costs the file as much as it costs us. After an error it does nothing
// any more.
type bundleReader struct {
	file []byte
	pos  int
	err  error
}

// parseBundleJSON parses the JSON form. [ParseBundle] checks the result and
// that it encodes to the same bytes.
func parseBundleJSON(file []byte) (*Bundle, error) {
	r := bundleReader{file: file}
	b := r.bundle()
	if r.err == nil && r.pos != len(file) {
		r.fail(fmt.Errorf("%w: %d bytes after the end", ErrFormat, len(file)-r.pos))
	}
	if r.err != nil {
		return nil, fmt.Errorf("byte %d: %w", r.pos, r.err)
	}
	return b, nil
}

func (r *bundleReader) bundle() *Bundle {
	b := new(Bundle)
	r.literal(`{"format":`)
	r.version(r.text())
	r.literal(`,"hits":`)
	r.list(func() {
		r.literal("[")
		document := r.number()
		r.literal(",")
		b.Hits = append(b.Hits, Place{document, r.number()})
		r.literal("]")
		if len(b.Hits) > MaxHits {
			r.fail(fmt.Errorf("%w: over %d hits", ErrTooLarge, MaxHits))
		}
	})
	r.literal(`,"logs":`)
	r.list(func() {
		r.literal(`{"checkpoint":`)
		l := BundleLog{Note: []byte(r.text())}
		r.literal(`,"hashes":`)
		l.Path = r.hashes()
		r.literal(`,"documents":`)
		r.list(func() { l.Documents = append(l.Documents, r.listed()) })
		r.literal("}")
		b.Logs = append(b.Logs, l)
	})
	r.literal(`,"documents":`)
	r.list(func() { b.Documents = append(b.Documents, r.unlisted()) })
	r.literal("}")
	return b
}

func (r *bundleReader) version(format string) {
	if r.err != nil || format == bundleVersion {
		return
	}
	if n, ok := bytes.CutPrefix([]byte(format), []byte(bundlePrefix)); ok && isNumber(n) {
		r.fail(fmt.Errorf("%w: format %.40q, this program knows %q", ErrVersion, format, bundleVersion))
		return
	}
	r.fail(fmt.Errorf("%w: its format is not %q", ErrFormat, bundleVersion))
}

// listed reads a document of a log.
func (r *bundleReader) listed() (d BundleDocument) {
	r.literal(`{"index":`)
	d.Index = r.number()
	r.literal(`,"record":`)
	line := r.text()
	if r.err != nil {
		return d
	}
	record, err := readRecord([]byte(line))
	if err != nil {
		r.fail(err)
		return d
	}
	d.Record, d.Header = &record, record.Header
	r.passages(&d)
	return d
}

// unlisted reads a document that is in no log.
func (r *bundleReader) unlisted() (d BundleDocument) {
	r.literal(`{"document":`)
	id := r.text()
	r.literal(`,"header":`)
	header := r.text()
	if r.err != nil {
		return d
	}
	var err error
	if d.Header, err = document.ParseHeader([]byte(header)); err != nil {
		r.fail(fmt.Errorf("%w: %w", ErrFormat, err))
		return d
	}
	if want := d.Header.ID().String(); id != want {
		r.fail(fmt.Errorf("%w: the header is of document %s, not %.60s", ErrTampered, want, id))
		return d
	}
	r.passages(&d)
	return d
}

// passages reads the end of a document: its passages and their path.
func (r *bundleReader) passages(d *BundleDocument) {
	r.literal(`,"chunks":`)
	r.list(func() {
		r.literal(`{"chunk":`)
		p := Passage{Chunk: r.number()}
		r.literal(`,"passage":`)
		p.Text = r.bytes()
		r.literal("}")
		d.Passages = append(d.Passages, p)
	})
	r.literal(`,"path":`)
	d.Path = r.hashes()
	r.literal("}")
}

func (r *bundleReader) fail(err error) {
	if r.err == nil {
		r.err = err
	}
}

func (r *bundleReader) literal(want string) {
	if r.err != nil {
		return
	}
	rest := r.file[r.pos:]
	switch {
	case bytes.HasPrefix(rest, []byte(want)):
		r.pos += len(want)
	case bytes.HasPrefix([]byte(want), rest):
		r.fail(ErrTruncated)
	default:
		r.fail(fmt.Errorf("%w: want %s, found %.20q", ErrFormat, want, rest))
	}
}

// has takes want off where it stands next.
func (r *bundleReader) has(want string) bool {
	if r.err != nil || !bytes.HasPrefix(r.file[r.pos:], []byte(want)) {
		return false
	}
	r.pos += len(want)
	return true
}

// list reads an array with a function for one element.
func (r *bundleReader) list(element func()) {
	r.literal("[")
	if r.has("]") {
		return
	}
	for r.err == nil {
		element()
		if !r.has(",") {
			r.literal("]")
			return
		}
	}
}

func (r *bundleReader) number() uint64 {
	start := r.pos
	for r.err == nil && r.pos < len(r.file) && r.file[r.pos] >= '0' && r.file[r.pos] <= '9' {
		r.pos++
	}
	switch {
	case r.err != nil:
		return 0
	case r.pos == len(r.file):
		r.fail(ErrTruncated)
		return 0
	}
	n, err := parseNumber(r.file[start:r.pos])
	if err != nil {
		r.fail(fmt.Errorf("%w: %w", ErrFormat, err))
	}
	return n
}

// token takes off a string with its quotation marks.
func (r *bundleReader) token() []byte {
	start := r.pos
	r.literal(`"`)
	for r.err == nil {
		end := bytes.IndexAny(r.file[r.pos:], `"\`)
		if end < 0 {
			r.fail(ErrTruncated)
			break
		}
		r.pos += end
		if r.file[r.pos] == '"' {
			r.pos++
			return r.file[start:r.pos]
		}
		r.pos = min(r.pos+2, len(r.file))
	}
	return nil
}

func (r *bundleReader) text() (s string) {
	t := r.token()
	if r.err != nil {
		return ""
	}
	if err := json.Unmarshal(t, &s); err != nil {
		r.fail(fmt.Errorf("%w: %w", ErrFormat, err))
	}
	return s
}

// bytes reads a string of base64.
func (r *bundleReader) bytes() []byte {
	t := r.token()
	if r.err != nil {
		return nil
	}
	b, err := strict64.AppendDecode(nil, t[1:len(t)-1])
	if err != nil {
		r.fail(fmt.Errorf("%w: a passage is not base64", ErrFormat))
	}
	return b
}

func (r *bundleReader) hashes() (path []merkle.Hash) {
	r.list(func() {
		t := r.token()
		if r.err != nil {
			return
		}
		h, err := parseHash(t[1 : len(t)-1])
		if err != nil {
			r.fail(fmt.Errorf("%w: %w", ErrFormat, err))
			return
		}
		path = append(path, h)
	})
	return path
}
