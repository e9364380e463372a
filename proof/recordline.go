package proof

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"time"

	"arborist/document"
)

// timeForm is the form of times, which are in UTC and whole seconds. What else it
// lets through has another spelling.
const timeForm = time.RFC3339

// Line returns the record's only spelling: one line of JSON without a newline
// at its end, at most [MaxRecord] bytes. It is what the log hashes. It fails
// with [ErrFormat] or [ErrTooLarge] where r is not a valid record.
func (r Record) Line() ([]byte, error) {
	if err := r.check(); err != nil {
		return nil, fmt.Errorf("write record: %w: %w", ErrFormat, err)
	}
	return r.checkedLine()
}

// checkedLine is Line for a record that has been checked.
func (r Record) checkedLine() ([]byte, error) {
	b := r.appendLine(make([]byte, 0, 512))
	if len(b) > MaxRecord {
		return nil, fmt.Errorf("write record: %w: %d bytes, at most %d", ErrTooLarge, len(b), MaxRecord)
	}
	return b, nil
}

func (r Record) appendLine(b []byte) []byte {
	b = append(b, `{"op":"`...)
	b = append(b, r.Op...)
	b = append(b, `","id":"`...)
	b, _ = r.ID.AppendText(b)
	b = append(b, '"')
	if r.Op != OpWithdraw {
		b = append(b, `,"root":"`...)
		b, _ = r.Header.Root.AppendText(b)
		b = append(b, `","chunks":`...)
		b = strconv.AppendUint(b, r.Header.Chunks, 10)
		b = append(b, `,"bytes":`...)
		b = strconv.AppendUint(b, r.Header.Bytes, 10)
		b = appendField(b, "norm", r.Header.Norm)
		b = appendField(b, "chunker", r.Header.Chunker)
	}
	b = appendField(b, "uri", r.URI)
	if r.Op != OpWithdraw {
		b = appendField(b, "title", r.Title)
		b = appendField(b, "source", r.Source)
	}
	b = append(b, `,"fetched":"`...)
	b = r.FetchedAt.UTC().AppendFormat(b, timeForm)
	b = append(b, '"')
	if r.Op == OpSupersede {
		b = appendField(b, "supersedes", r.Supersedes.String())
	}
	return append(b, '}')
}

// appendField appends a key with a string value. Checked strings hold nothing
// that JSON escapes but the quotation mark and the backslash.
func appendField(b []byte, key, value string) []byte {
	b = append(b, `,"`...)
	b = append(b, key...)
	b = append(b, `":"`...)
	for {
		i := strings.IndexAny(value, `"\`)
		if i < 0 {
			break
		}
		b = append(b, value[:i]...)
		b = append(b, '\\', value[i])
		value = value[i+1:]
	}
	b = append(b, value...)
	return append(b, '"')
}

// ParseRecord parses one line of a log and accepts exactly what [Record.Line]
// gives for a valid record: it encodes the result again and compares. Errors
// wrap [ErrFormat] or [ErrTooLarge].
func ParseRecord(line []byte) (Record, error) {
	r, err := readRecord(line)
	if err != nil {
		return Record{}, err
	}
	err = r.check()
	if err == nil && !bytes.Equal(r.appendLine(make([]byte, 0, len(line))), line) {
		err = fmt.Errorf("second spelling of a record")
	}
	if err != nil {
		return Record{}, fmt.Errorf("parse record: %w: %w", ErrFormat, err)
	}
	return r, nil
}

// withoutID returns the line of an add or supersede as a proof file has it:
// without the ID, which is the hash of the header whose fields follow.
func withoutID(line []byte) []byte {
	op, rest, _ := bytes.Cut(line, []byte(`,"id":"`))
	_, rest, _ = bytes.Cut(rest, []byte(`"`))
	return append(bytes.Clone(op), rest...)
}

// readRecord reads the fields of a record's line. The caller has to check them
// and to compare what they encode to.
func readRecord(line []byte) (Record, error) { return (&recordParser{line: string(line)}).read() }

// readWithoutID is readRecord for what [withoutID] gives.
func readWithoutID(line []byte) (Record, error) {
	r, err := (&recordParser{line: string(line), noID: true}).read()
	if err == nil {
		r.ID = r.Header.ID()
	}
	return r, err
}

func (p *recordParser) read() (Record, error) {
	if len(p.line) > MaxRecord {
		return Record{}, fmt.Errorf("parse record: %w: %d bytes, at most %d", ErrTooLarge, len(p.line), MaxRecord)
	}
	r := p.record()
	if p.err != nil {
		return Record{}, fmt.Errorf("parse record: %w: %w", ErrFormat, p.err)
	}
	return r, nil
}

// A recordParser walks over a record's line, which has no freedom: each key
// stands where it has to. After an error it does nothing any more. Strings of the
// record are parts of the line.
type recordParser struct {
	line string
	noID bool // the line leaves out the ID
	pos  int
	err  error
}

func (p *recordParser) record() (r Record) {
	p.literal(`{"op":`)
	r.Op = Op(p.text())
	if !p.noID {
		r.ID = parseWith(p, "id", document.ParseID)
	}
	if r.Op != OpWithdraw {
		r.Header.Root = parseWith(p, "root", document.ParseRoot)
		r.Header.Chunks = p.number("chunks")
		r.Header.Bytes = p.number("bytes")
		r.Header.Norm = p.field("norm")
		r.Header.Chunker = p.field("chunker")
	}
	r.URI = p.field("uri")
	if r.Op != OpWithdraw {
		r.Title = p.field("title")
		r.Source = p.field("source")
	}
	r.FetchedAt = parseWith(p, "fetched", func(s string) (time.Time, error) { return time.Parse(timeForm, s) })
	if r.Op == OpSupersede {
		r.Supersedes = parseWith(p, "supersedes", document.ParseID)
	}
	p.literal("}")
	if p.err == nil && p.pos != len(p.line) {
		p.err = fmt.Errorf("%d bytes after its end", len(p.line)-p.pos)
	}
	return r
}

// parseWith parses a string field with a function of its own.
func parseWith[T any](p *recordParser, key string, parse func(string) (T, error)) (v T) {
	s := p.field(key)
	if p.err != nil {
		return v
	}
	v, err := parse(s)
	if err != nil {
		p.err = fmt.Errorf("%s: %w", key, err)
	}
	return v
}

func (p *recordParser) literal(want string) {
	if p.err != nil {
		return
	}
	rest := p.line[p.pos:]
	if !strings.HasPrefix(rest, want) {
		if strings.HasPrefix(want, rest) {
			p.err = ErrTruncated
			return
		}
		p.err = fmt.Errorf("want %s at byte %d, found %.20q", want, p.pos, rest)
		return
	}
	p.pos += len(want)
}

// key goes over a comma and a key. In one piece it would be made anew each time.
func (p *recordParser) key(key string) {
	p.literal(`,"`)
	p.literal(key)
	p.literal(`":`)
}

func (p *recordParser) field(key string) string {
	p.key(key)
	return p.text()
}

func (p *recordParser) number(key string) uint64 {
	p.key(key)
	if p.err != nil {
		return 0
	}
	start := p.pos
	for p.pos < len(p.line) && p.line[p.pos] >= '0' && p.line[p.pos] <= '9' {
		p.pos++
	}
	if p.pos == len(p.line) {
		p.err = ErrTruncated
		return 0
	}
	n, err := parseNumber(p.line[start:p.pos])
	if err != nil {
		p.err = fmt.Errorf("%s: %w", key, err)
	}
	return n
}

// text parses a JSON string that escapes the quotation mark and the backslash
// alone.
func (p *recordParser) text() string {
	p.literal(`"`)
	if p.err != nil {
		return ""
	}
	start, escaped := p.pos, false
	for p.pos < len(p.line) {
		switch c := p.line[p.pos]; {
		case c == '"':
			raw := p.line[start:p.pos]
			p.pos++
			if escaped {
				return unescape(raw)
			}
			return raw
		case c == '\\':
			if p.pos+1 < len(p.line) && p.line[p.pos+1] != '"' && p.line[p.pos+1] != '\\' {
				p.err = fmt.Errorf(`escape at byte %d: only \" and \\ are allowed`, p.pos)
				return ""
			}
			escaped = true
			p.pos += 2
		default:
			p.pos++
		}
	}
	p.err = ErrTruncated
	return ""
}

// unescape removes the backslash before each escaped character.
func unescape(s string) string {
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' {
			i++
		}
		b = append(b, s[i])
	}
	return string(b)
}
