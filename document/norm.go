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

// ascii takes at least one character from the start of text, which is ASCII,
// and reports how many and whether the text can still be canonical.
func (l *lineState) ascii(text []byte) (n int, ok bool) {
	if l.inside {
		for ; n+8 <= len(text); n += 8 {
			x := load8(text, n)
			if !isPrintable8(x) {
				break
			}
			spaces := spaces8(x)
			if spaces&(spaces<<8) != 0 || l.spaced && x&0xFF == ' ' {
				return n, false
			}
			l.spaced, l.newlines = x>>56 == ' ', 0
		}
		if n > 0 {
			return n, true
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
