package document

import (
	"bytes"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// A class says what normalisation does with a code point. The table of
// unicode15.go holds it for all of them.
type class byte

const (
	// classPlain: NFC neither changes it nor joins it to what stands before.
	classPlain class = iota
	// classUnassigned: not assigned in Unicode 15.0. A later version may give
	// it any properties, so it never reaches the normaliser.
	classUnassigned
	// classJoins: NFC may change it or join it to what stands before.
	classJoins
	// classSpace: white space outside ASCII.
	classSpace
)

// maxJoins is the longest run of joining characters that is left to x/text.
// Each has at most three combining marks in its decomposition, so the run
// stays under the 30 marks after which x/text inserts U+034F, which no
// definition of NFC asks for and other languages do not do.
const maxJoins = 9

// A composer puts text into NFC, segment by segment. Splitting at characters
// that join nothing keeps the work on anything else at one table look-up.
type composer struct {
	out   []byte
	base  int // where the segment starts in out
	joins int // joining characters of the segment, 0 where it is closed
}

// add adds the next character, which is outside ASCII, or drops it if it is a
// control character.
func (c *composer) add(r rune) {
	if r < 0xA0 {
		return // C1
	}
	switch classOf(r) {
	case classJoins:
		c.joins++
		c.out = utf8.AppendRune(c.out, r)
		return
	case classSpace:
		r = ' '
	case classUnassigned:
		c.close()
		c.out = utf8.AppendRune(c.out, r)
		c.base = len(c.out)
		return
	}
	c.close()
	c.base = len(c.out)
	c.out = utf8.AppendRune(c.out, r)
}

// plain adds a run of characters that join nothing before them. The last one
// starts at last.
func (c *composer) plain(run []byte, last int) {
	c.close()
	c.base += last
	c.out = append(c.out, run...)
}

// close brings the segment into NFC.
func (c *composer) close() {
	if c.joins > 0 {
		if segment := c.out[c.base:]; !isComposed(segment, c.joins) {
			c.out = append(c.out[:c.base], nfc(segment, c.joins)...)
		}
		c.joins = 0
	}
	c.base = len(c.out)
}

// isComposed reports whether a segment with so many joining characters is in
// NFC.
func isComposed(segment []byte, joins int) bool {
	if joins <= maxJoins {
		return norm.NFC.IsNormal(segment)
	}
	return bytes.Equal(segment, nfc(segment, joins))
}

// nfc returns the NFC of a segment of code points assigned in Unicode 15.0.
func nfc(segment []byte, joins int) []byte {
	if joins <= maxJoins {
		return norm.NFC.Bytes(segment)
	}
	return recompose(order(decompose(segment)))
}

// decompose returns the full canonical decomposition, not yet ordered.
func decompose(segment []byte) []rune {
	decomposed := make([]rune, 0, len(segment)/2)
	for len(segment) > 0 {
		_, size := utf8.DecodeRune(segment)
		// One character at a time: its decomposition is already in order.
		decomposed = append(decomposed, bytes.Runes(norm.NFD.Bytes(segment[:size]))...)
		segment = segment[size:]
	}
	return decomposed
}

func combiningClass(r rune) uint8 {
	var b [utf8.UTFMax]byte
	return norm.NFD.Properties(utf8.AppendRune(b[:0], r)).CCC()
}

// order sorts each run of combining marks by combining class, keeping the
// order within a class: the canonical ordering algorithm (UAX #15 D109). It
// counts instead of comparing because a hostile text is one run of millions.
func order(runes []rune) []rune {
	ordered := make([]rune, 0, len(runes))
	for i := 0; i < len(runes); {
		if combiningClass(runes[i]) == 0 {
			ordered = append(ordered, runes[i])
			i++
			continue
		}
		var marks [256][]rune
		for ; i < len(runes); i++ {
			ccc := combiningClass(runes[i])
			if ccc == 0 {
				break
			}
			marks[ccc] = append(marks[ccc], runes[i])
		}
		for _, m := range marks {
			ordered = append(ordered, m...)
		}
	}
	return ordered
}

// recompose is the canonical composition algorithm (UAX #15 D117).
func recompose(runes []rune) []byte {
	kept := runes[:0]
	starter := -1 // index in kept
	var last uint8
	for _, r := range runes {
		ccc := combiningClass(r)
		// A mark is blocked by one of the same or a higher class before it; a
		// starter by anything that stands between.
		adjacent := starter == len(kept)-1
		if starter >= 0 && (adjacent || last != 0 && last < ccc) {
			if joined, ok := pair(kept[starter], r); ok {
				kept[starter] = joined
				continue
			}
		}
		if ccc == 0 {
			starter = len(kept)
		}
		last = ccc
		kept = append(kept, r)
	}
	return []byte(string(kept))
}

// pair returns the character that a and b compose to, if there is one.
func pair(a, b rune) (rune, bool) {
	joined := []rune(norm.NFC.String(string([]rune{a, b})))
	if len(joined) != 1 {
		return 0, false
	}
	return joined[0], true
}

func classOf(r rune) class {
	block := int(classIndex[r>>8]) << 6
	return class(classBlocks[block|int(r>>2&63)]>>(r&3*2)) & 3
}
