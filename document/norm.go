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
// It accepts any bytes, is idempotent, takes linear time and returns fresh
// memory. The result is at most three times as long as raw and empty where
// raw holds nothing but white space and control characters.
func Normalize(raw []byte) []byte {
	if IsNormal(raw) {
		return append([]byte{}, raw...)
	}
	return squeeze(compose(raw))
}

// IsNormal reports whether text is in the form that [Normalize] gives. It
// allocates nothing unless text holds unusually many combining marks in a row.
func IsNormal(text []byte) bool {
	if !isStripped(text) {
		return false
	}
	var line lineState
	base := 0 // where the character starts that a combining mark would join
	for i := 0; i < len(text); {
		if b := text[i]; b < 0x80 {
			n, ok := line.ascii(text[i:])
			if !ok {
				return false
			}
			i += n
			base = i - 1
			continue
		}
		line.character()
		r, size := decodeRune(text[i:])
		if r < 0xA0 || r == '\uFFFD' && string(text[i:i+size]) != "\uFFFD" {
			return false // a control character of C1, or ill-formed
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

// A lineState follows canonical white space through a text.
type lineState struct {
	inside   bool // after the indentation of the current line
	spaced   bool // the last byte was a space or a tab
	newlines int  // line ends just before
}

// character takes a character that is no white space.
func (l *lineState) character() { *l = lineState{inside: true} }

// ascii takes one or eight bytes from the start of text, which is an ASCII
// character, and reports whether the text can still be canonical.
func (l *lineState) ascii(text []byte) (n int, ok bool) {
	if l.inside && len(text) >= 8 {
		if x := load8(text, 0); isPrintable8(x) {
			spaces := spaces8(x)
			double := spaces&(spaces<<8) != 0 || l.spaced && text[0] == ' '
			l.spaced, l.newlines = text[7] == ' ', 0
			return 8, !double
		}
	}
	switch b := text[0]; {
	case b == ' ':
		ok = !l.inside || !l.spaced
		l.spaced, l.newlines = true, 0
	case b == '\n':
		ok = !l.spaced && l.newlines < 2
		*l = lineState{newlines: l.newlines + 1}
	case b == '\t':
		ok = !l.inside
		l.spaced, l.newlines = true, 0
	default:
		ok = isKept(b)
		l.character()
	}
	return 1, ok
}

// compose does the steps from decoding to NFC, and turns every white space
// character outside ASCII into a space: none of them takes part in a
// composition, so the order of these two does not matter.
func compose(raw []byte) []byte {
	c := composer{out: make([]byte, 0, len(raw)+len(raw)/16+16)}
	for i := 0; i < len(raw); {
		if n, last := plainRun(raw[i:]); n > 0 {
			c.plain(raw[i:i+n], last)
			i += n
			continue
		}
		if raw[i] >= 0x80 {
			r, size := decodeRune(raw[i:])
			c.add(r)
			i += size
			continue
		}
		if raw[i] == '\r' {
			c.plain([]byte{'\n'}, 0)
			if i+1 < len(raw) && raw[i+1] == '\n' {
				i++
			}
		}
		i++ // any other control character is dropped
	}
	c.close()
	return c.out
}

// plainRun returns the length of the run of well-formed characters that text
// starts with and that are kept as they are, and where the last one starts.
func plainRun(text []byte) (n, last int) {
	for n < len(text) {
		if b := text[n]; b < 0x80 {
			run := keptRun(text[n:])
			if run == 0 {
				break
			}
			n += run
			last = n - 1
			continue
		}
		r, size := decodeRune(text[n:])
		if r < 0xA0 || r == '\uFFFD' || classOf(r) != classPlain {
			break
		}
		last = n
		n += size
	}
	return n, last
}

// keptRun returns the length of the run of kept ASCII characters that text
// starts with.
func keptRun(text []byte) int {
	n := 0
	for n < len(text) {
		if n+8 <= len(text) && isPrintable8(load8(text, n)) {
			n += 8
		} else if isKept(text[n]) {
			n++
		} else {
			break
		}
	}
	return n
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
	newlines := 0 // not yet written: no line ends may be left at the end
	for len(text) > 0 {
		line, rest, _ := bytes.Cut(text, []byte{'\n'})
		text = rest
		if line = bytes.TrimRight(line, " \t"); len(line) > 0 {
			out = append(out, "\n\n"[:min(newlines, 2)]...)
			out = squeezeLine(out, line)
			newlines = 0
		}
		newlines++
	}
	return out
}

// squeezeLine appends a line that does not end in white space, which may
// overlap with what lies behind out.
func squeezeLine(out, line []byte) []byte {
	start, end := 0, 0
	for isBlank(line[end]) {
		end++ // the indentation is copied as it is
	}
	for end < len(line) {
		end = blankRun(line, end)
		out = append(out, line[start:end]...)
		start = end
		for start < len(line) && isBlank(line[start]) {
			start++
		}
		if start > end {
			out = append(out, ' ')
		}
		end = start
	}
	return out
}

// blankRun returns where in line, from i, white space starts that is not a
// single space, or the length of the line.
func blankRun(line []byte, i int) int {
	for i < len(line) {
		if i+8 <= len(line) {
			if x := load8(line, i); isPrintable8(x) {
				if spaces := spaces8(x); spaces&(spaces<<8) == 0 && line[i+7] != ' ' {
					i += 8
					continue
				}
			}
		}
		if line[i] == '\t' || line[i] == ' ' && isBlank(line[i+1]) {
			return i
		}
		i++
	}
	return i
}
