package document

import (
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// nfc returns the NFC of a segment of code points assigned in Unicode 15.0
// with so many joining characters.
func nfc(segment []byte, joins int) []byte {
	if joins <= maxJoins {
		return norm.NFC.Bytes(segment)
	}
	marks := decompose(segment)
	order(marks)
	return recompose(marks)
}

// A mark is a decomposed character with its canonical combining class in the
// highest byte: looking that up is most of the work.
type mark uint32

func newMark(r rune) mark {
	if r < 0x300 {
		return mark(r)
	}
	var b [utf8.UTFMax]byte
	ccc := norm.NFD.Properties(utf8.AppendRune(b[:0], r)).CCC()
	return mark(ccc)<<24 | mark(r)
}

func (m mark) ccc() uint8 { return uint8(m >> 24) }
func (m mark) rune() rune { return rune(m & 0xFFFFFF) }

// decompose returns the full canonical decomposition, not yet ordered.
func decompose(segment []byte) []mark {
	marks := make([]mark, 0, len(segment)/2+8)
	var buffer [32]byte
	for len(segment) > 0 {
		r, size := utf8.DecodeRune(segment)
		switch p := norm.NFD.Properties(segment); {
		case isHangul(r):
			for _, r := range string(norm.NFD.Append(buffer[:0], segment[:size]...)) {
				marks = append(marks, newMark(r))
			}
		case p.Decomposition() != nil:
			for _, r := range string(p.Decomposition()) {
				marks = append(marks, newMark(r))
			}
		default:
			marks = append(marks, mark(p.CCC())<<24|mark(r))
		}
		segment = segment[size:]
	}
	return marks
}

// order sorts each run of combining marks by combining class, keeping the
// order within a class: the canonical ordering algorithm (UAX #15 D109). It
// counts instead of comparing because a hostile text is one run of millions.
func order(marks []mark) {
	var ordered []mark
	for i := 0; i < len(marks); i++ {
		var starts [257]int // where each class starts; counts at first
		start := i
		for ; i < len(marks) && marks[i].ccc() != 0; i++ {
			starts[int(marks[i].ccc())+1]++
		}
		if i-start < 2 {
			continue
		}
		for c := range 256 {
			starts[c+1] += starts[c]
		}
		ordered = append(ordered[:0], marks[start:i]...)
		for _, m := range ordered {
			marks[start+starts[m.ccc()]] = m
			starts[m.ccc()]++
		}
	}
}

// recompose is the canonical composition algorithm (UAX #15 D117).
func recompose(marks []mark) []byte {
	kept := marks[:0]
	starter := -1 // index in kept
	var last uint8
	for _, m := range marks {
		// A mark is blocked by one of the same or a higher class before it; a
		// starter by anything that stands between.
		adjacent := starter == len(kept)-1
		if starter >= 0 && (adjacent || last < m.ccc()) {
			if joined, ok := pair(kept[starter].rune(), m.rune()); ok {
				kept[starter] = mark(joined)
				continue
			}
		}
		if last = m.ccc(); last == 0 {
			starter = len(kept)
		}
		kept = append(kept, m)
	}
	text := make([]byte, 0, len(kept)*2)
	for _, m := range kept {
		text = utf8.AppendRune(text, m.rune())
	}
	return text
}

// pair returns the character that a and b compose to, if there is one.
func pair(a, b rune) (rune, bool) {
	if isVowelOrTail(b) && !isHangul(a) && !isLead(a) {
		return 0, false // spares the work in a hostile run of vowels
	}
	var from, to [32]byte
	joined := norm.NFC.Append(to[:0], utf8.AppendRune(utf8.AppendRune(from[:0], a), b)...)
	r, size := utf8.DecodeRune(joined)
	return r, size == len(joined)
}

func isHangul(r rune) bool      { return r >= 0xAC00 && r <= 0xD7A3 }
func isLead(r rune) bool        { return r >= 0x1100 && r <= 0x1112 }
func isVowelOrTail(r rune) bool { return r >= 0x1161 && r <= 0x11C2 }
