package office

import (
	"bytes"
	"context"
	"fmt"
	"strings"
)

// rtfMagic is what a file of Rich Text Format starts with.
const rtfMagic = `{\rtf`

const (
	maxGroups    = 1000   // in each other
	maxRTFTable  = 10_000 // fonts, or styles
	maxRTFWord   = 32     // letters of a control word
	maxRTFDigits = 10
)

// A destination is where the text of a group goes ([RTF] 1.9.1, section
// Destinations).
type destination int

const (
	toText destination = iota
	toNothing
	toFonts
	toStyles
	toTitle
)

// A group is what holds until the end of a group.
type group struct {
	to      destination
	flow    *story
	info    bool // inside \info
	hidden  bool // inside \upr, whose \ud is shown
	font    int
	skip    int // characters after a \u that stand for it, for older programs (\uc)
	deleted bool

	style   int // of the paragraph
	item    bool
	inTable bool
}

// An rtfReader reads a file.
type rtfReader struct {
	ctx     context.Context
	rest    []byte
	group           // the open one
	outer   []group // those around it
	notes   *markdown
	title   strings.Builder
	run     []byte // characters of a code page that are not decoded yet
	high    rune   // the first half of a pair of \u
	ignored int    // characters that are still to be skipped after a \u

	code        int // the code page of the file
	defaultFont int
	fonts       map[int]int     // to code pages
	levels      map[int]int     // of headings, by styles
	name        strings.Builder // of the style that is read
}

// readRTF reads a file of Rich Text Format.
func readRTF(ctx context.Context, body []byte) (Document, error) {
	out := &markdown{}
	r := &rtfReader{ctx: ctx, rest: body, notes: &markdown{}, code: codePageANSI, fonts: map[int]int{}, levels: map[int]int{}}
	r.group = group{flow: &story{out: out}, skip: 1}
	if err := r.read(); err != nil {
		return Document{}, err
	}
	if err := r.flow.end(); err != nil {
		return Document{}, err
	}
	out.end()
	if err := out.write(string(r.notes.text)); err != nil {
		return Document{}, err
	}
	d := Document{Kind: "rtf", Title: oneLine(clean(r.title.String())), Markdown: bytes.TrimSpace(out.text)}
	if d.Title == "" {
		d.Title = out.heading
	}
	return d, nil
}

// read goes through the file up to the end of its outermost group.
func (r *rtfReader) read() error {
	for n := 1; len(r.rest) > 0; n++ {
		if n%(1<<16) == 0 && r.ctx.Err() != nil {
			return context.Cause(r.ctx)
		}
		c := r.rest[0]
		r.rest = r.rest[1:]
		var err error
		switch c {
		case '{':
			err = r.open()
		case '}':
			if err = r.close(); err == nil && len(r.outer) == 0 {
				return nil
			}
		case '\\':
			err = r.control()
		case '\r', '\n':
		case '\t':
			err = r.put(" ")
		default:
			err = r.byte(c)
		}
		if err != nil {
			return err
		}
	}
	return fmt.Errorf("%w: rtf: it ends with %d groups open", ErrFormat, len(r.outer))
}

func (r *rtfReader) open() error {
	if len(r.outer) == maxGroups {
		return fmt.Errorf("%w: rtf: over %d groups in each other", ErrFormat, maxGroups)
	}
	r.ignored = 0
	if err := r.decode(); err != nil {
		return err
	}
	r.outer = append(r.outer, r.group)
	return nil
}

func (r *rtfReader) close() error {
	r.ignored = 0
	if err := r.decode(); err != nil {
		return err
	}
	inner := r.group
	r.group = r.outer[len(r.outer)-1]
	r.outer = r.outer[:len(r.outer)-1]
	if inner.to == toStyles {
		r.endStyle(inner.style)
	}
	if inner.flow != r.flow {
		return inner.flow.end()
	}
	return nil
}

// control reads a control word or symbol (section Control Word).
func (r *rtfReader) control() error {
	if len(r.rest) == 0 {
		return nil // read says that it is cut short
	}
	n := 0
	for n < len(r.rest) && r.rest[n]|0x20 >= 'a' && r.rest[n]|0x20 <= 'z' {
		n++
	}
	if n > maxRTFWord {
		return fmt.Errorf("%w: rtf: a control word of %d letters", ErrFormat, n)
	}
	if n == 0 {
		c := r.rest[0]
		r.rest = r.rest[1:]
		return r.symbol(c)
	}
	word := string(r.rest[:n])
	r.rest = r.rest[n:]
	value, has, err := r.parameter()
	if err != nil {
		return err
	}
	return r.word(word, value, has)
}

// parameter reads the number after a control word, and the space after it.
func (r *rtfReader) parameter() (value int, has bool, err error) {
	n, negative := 0, len(r.rest) > 1 && r.rest[0] == '-' && isDigit(r.rest[1])
	if negative {
		n = 1
	}
	for digits := 0; n < len(r.rest) && isDigit(r.rest[n]); n++ {
		if digits++; digits > maxRTFDigits {
			return 0, false, fmt.Errorf("%w: rtf: a number of over %d digits", ErrFormat, maxRTFDigits)
		}
		value, has = 10*value+int(r.rest[n]-'0'), true
	}
	if negative {
		value = -value
	}
	if n < len(r.rest) && r.rest[n] == ' ' {
		n++
	}
	r.rest = r.rest[n:]
	return value, has, nil
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// symbol takes a control symbol.
func (r *rtfReader) symbol(c byte) error {
	switch c {
	case '\'':
		if len(r.rest) < 2 {
			return nil
		}
		b := unhex(r.rest[0])<<4 | unhex(r.rest[1])
		r.rest = r.rest[2:]
		return r.byte(b)
	case '\\', '{', '}':
		return r.byte(c)
	case '*':
		r.starred()
	case '~':
		return r.put("\u00a0")
	case '_':
		return r.put("-")
	case '\t':
		return r.put(" ")
	case '\r', '\n':
		return r.endParagraph()
	}
	return nil
}

func unhex(c byte) byte {
	switch {
	case isDigit(c):
		return c - '0'
	case c|0x20 >= 'a' && c|0x20 <= 'f':
		return c | 0x20 - 'a' + 10
	}
	return 0
}
