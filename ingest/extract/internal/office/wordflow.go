package office

import "fmt"

// Characters with a meaning ([MS-DOC], section Special Characters, and Overview
// of Tables for the cell mark).
const (
	charCell       = 0x07
	charTab        = 0x09
	charLine       = 0x0b
	charPage       = 0x0c // or the end of a section
	charParagraph  = 0x0d
	charColumn     = 0x0e
	charFieldBegin = 0x13
	charFieldValue = 0x14
	charFieldEnd   = 0x15
	charHyphen     = 0x1e // that does not break
)

// maxFields is how deep fields may lie in each other.
const maxFields = 200

// A wordFlow writes a part of a document's text.
type wordFlow struct {
	story
	w      *wordFile
	fields []bool // of the open ones: whether their result has begun
	asks   int    // of those, how many still say what to compute
}

// story writes the characters from one place to another.
func (w *wordFile) story(from, to int64, out *markdown) error {
	f := &wordFlow{w: w, story: story{out: out}}
	if err := w.each(from, to, f.char); err != nil {
		return err
	}
	return f.end()
}

// char takes the character at a place of the main stream.
func (f *wordFlow) char(r rune, at int64) error {
	switch r {
	case charFieldBegin, charFieldValue, charFieldEnd:
		return f.field(r)
	}
	if f.asks > 0 {
		return nil // what a field is computed from
	}
	switch r {
	case charParagraph, charPage:
		p := f.w.paras.at(at)
		return f.endParagraph(f.w.styles[p.style], p.item, p.inTable)
	case charCell:
		if f.w.paras.at(at).rowEnd {
			return f.endRow()
		}
		return f.endCell()
	}
	if f.w.runs.at(at).leftOut {
		return nil
	}
	switch r {
	case charTab:
		r = ' '
	case charLine, charColumn:
		r = '\n'
	case charHyphen:
		r = '-'
	}
	if r < ' ' && r != '\n' {
		return nil // pictures, notes, drawings
	}
	return f.add(string(r))
}

// field keeps of a field what it shows (section Fields): begin, what to
// compute, separator, result, end.
func (f *wordFlow) field(r rune) error {
	last := len(f.fields) - 1
	switch {
	case r == charFieldBegin && last+1 >= maxFields:
		return fmt.Errorf("%w: doc: over %d fields in each other", ErrFormat, maxFields)
	case r == charFieldBegin:
		f.fields = append(f.fields, false)
		f.asks++
	case last < 0: // of a field that began nowhere
	case r == charFieldValue && !f.fields[last]:
		f.fields[last] = true
		f.asks--
	case r == charFieldEnd:
		if !f.fields[last] {
			f.asks--
		}
		f.fields = f.fields[:last]
	}
	return nil
}
