package document

import "encoding/binary"

// Eight bytes of text at once: most text is ASCII, and this makes the check of
// a canonical text several times as fast.
const (
	eachByte = 0x0101010101010101
	highBits = eachByte * 0x80
)

// load8 returns the eight bytes of text at i, which must be there.
func load8(text []byte, i int) uint64 { return binary.LittleEndian.Uint64(text[i:]) }

// isPrintable8 reports whether all eight bytes are printable ASCII or SPACE.
func isPrintable8(x uint64) bool {
	// The first term has a high bit where a byte is below SPACE, the second
	// where one is DEL. A borrow or a carry needs such a byte below it.
	return ((x-eachByte*' ')|(x+eachByte)|x)&highBits == 0
}

// spaces8 returns the high bit of each byte that is SPACE, where all are ASCII.
func spaces8(x uint64) uint64 {
	return ^((x ^ eachByte*' ') + eachByte*0x7F) & highBits
}

// isBlank reports whether b is one of the three white space characters that
// canonical text may hold.
func isBlank(b byte) bool { return b == ' ' || b == '\n' || b == '\t' }

// isKept reports whether b is an ASCII character that normalisation keeps.
func isKept(b byte) bool { return b >= ' ' && b < 0x7F || b == '\n' || b == '\t' }
