package document

import "bytes"

// NormName names the normalisation that [Normalize] does. It stands in every
// header, so a change of the rules needs a new name.
const NormName = "norm-v2"

// byteOrderMark is U+FEFF in UTF-8.
const byteOrderMark = "\uFEFF"

// Normalize returns text in the canonical form norm-v2, which docs/formats.md
// defines: UTF-8 decoded as WHATWG does, line ends as LF, no control
// characters but LF and indenting TAB, NFC of Unicode 15.0, single spaces
// inside lines, no white space at line ends, at most one blank line in a row.
//
// It accepts any bytes, is idempotent, runs in linear time and returns fresh
// memory. The result is at most three times as long as raw and empty where
// raw holds nothing but white space and control characters.
func Normalize(raw []byte) []byte {
	if IsNormal(raw) {
		return append([]byte{}, raw...)
	}
	return squeeze(compose(raw))
}

// IsNormal reports whether text is in the form that [Normalize] gives. It
// allocates nothing unless text holds unusual sequences of combining marks.
func IsNormal(text []byte) bool {
	if !isStripped(text) {
		return false
	}
	var line lineState
	base := 0 // where the character starts that a combining mark would join
	for i := 0; i < len(text); {
		if b := text[i]; b < 0x80 {
			if !line.next(b) {
				return false
			}
			base = i
			i++
			continue
		}
		line.next('x')
		r, size := decodeRune(text[i:])
		if r < 0xA0 || r == '\uFFFD' && string(text[i:i+size]) != "\uFFFD" {
			return false // ill-formed, or a control character of C1
		}
		switch classOf(r) {
		case classSpace:
			return false
		case classPlain:
			base = i
			i += size
		case classUnassigned:
			i += size
			base = i
		case classJoins:
			end, joins := joiningRun(text, i)
			if !isComposed(text[base:end], joins) {
				return false
			}
			base, i = end, end
		}
	}
	return true
}

// joiningRun returns where the run of joining characters that starts at i
// ends, and how many they are.
func joiningRun(text []byte, i int) (end, joins int) {
	for i < len(text) {
		r, size := decodeRune(text[i:])
		if classOf(r) != classJoins {
			break
		}
		joins++
		i += size
	}
	return i, joins
}

// isStripped reports whether text neither starts nor ends with something that
// the last step of the normalisation strips.
func isStripped(text []byte) bool {
	if len(text) == 0 {
		return true
	}
	return !isBlank(text[0]) && !isBlank(text[len(text)-1]) && !bytes.HasPrefix(text, []byte(byteOrderMark))
}

func isBlank(b byte) bool { return b == ' ' || b == '\n' || b == '\t' }

// A lineState follows canonical white space through a text.
type lineState struct {
	inside   bool // after the indentation of the current line
	spaced   bool // the last byte was a space or a tab
	newlines int  // line ends just before
}

// next takes the next byte, where 'x' stands for any character that is no
// white space, and reports whether the text can still be canonical.
func (l *lineState) next(b byte) bool {
	switch {
	case b > ' ' && b != 0x7F:
		l.inside, l.spaced, l.newlines = true, false, 0
		return true
	case b == ' ':
		if l.inside && l.spaced {
			return false
		}
		l.spaced, l.newlines = true, 0
		return true
	case b == '\n':
		l.newlines++
		ok := !l.spaced && l.newlines <= 2
		l.inside, l.spaced = false, false
		return ok
	case b == '\t':
		l.spaced, l.newlines = true, 0
		return !l.inside
	default:
		return false
	}
}

// compose does the steps from decoding to NFC, and turns every white space
// character outside ASCII into a space: none of them takes part in a
// composition, so the order of these two does not matter.
func compose(raw []byte) []byte {
	c := composer{out: make([]byte, 0, len(raw)+len(raw)/16+16)}
	for i := 0; i < len(raw); {
		b := raw[i]
		if b >= 0x80 {
			r, size := decodeRune(raw[i:])
			c.add(r)
			i += size
			continue
		}
		start := i
		for i < len(raw) && (raw[i] >= ' ' && raw[i] < 0x7F || raw[i] == '\n' || raw[i] == '\t') {
			i++
		}
		if i > start {
			c.plain(raw[start:i])
			continue
		}
		if b == '\r' {
			c.plain([]byte{'\n'})
			if i+1 < len(raw) && raw[i+1] == '\n' {
				i++
			}
		}
		i++ // any other control character is dropped
	}
	c.close()
	return c.out
}

// squeeze does the white space steps, in place. The only white space that it
// gets is SPACE, TAB and LF.
func squeeze(text []byte) []byte {
	for { // white space and byte order marks stand in front in any order
		text = bytes.TrimLeft(text, " \t\n")
		rest, found := bytes.CutPrefix(text, []byte(byteOrderMark))
		if !found {
			break
		}
		text = rest
	}
	out := text[:0]
	var (
		newlines int
		indent   []byte // indentation of the current line, not yet written
		inside   bool   // the line has its first character
		spaced   bool   // white space inside the line, not yet written
	)
	for i, b := range text {
		switch b {
		case '\n':
			newlines++
			indent, inside, spaced = text[i+1:i+1], false, false
		case ' ', '\t':
			if inside {
				spaced = true
			} else {
				indent = indent[:len(indent)+1]
			}
		default:
			if !inside {
				// Line ends wait until the text goes on, so none is left at the end.
				out = append(out, "\n\n"[:min(newlines, 2)]...)
				out = append(out, indent...)
				newlines, indent, inside = 0, nil, true
			}
			if spaced {
				out = append(out, ' ')
				spaced = false
			}
			out = append(out, b)
		}
	}
	return out
}
