package document

import (
	"bytes"

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

// isComposed reports whether a segment with so many joining characters is in
// NFC.
func isComposed(segment []byte, joins int) bool {
	if joins <= maxJoins {
		return norm.NFC.IsNormal(segment)
	}
	return bytes.Equal(segment, nfc(segment, joins))
}

func classOf(r rune) class {
	block := int(classIndex[r>>8]) << 6
	return class(classBlocks[block|int(r>>2&63)]>>(r&3*2)) & 3
}
