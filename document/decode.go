package document

// decodeRune decodes the first character of b, which must not be empty, as the
// WHATWG decoder does: a maximal ill-formed subpart, which is the longest
// start of a well-formed sequence or else one byte, gives one U+FFFD. This
// differs from [unicode/utf8], which gives one for each of its bytes.
//
// Source: https://encoding.spec.whatwg.org/#utf-8-decoder, Unicode 15.0 table 3-7.
func decodeRune(b []byte) (r rune, size int) {
	const bad = '\uFFFD'
	first := b[0]
	low, high := byte(0x80), byte(0xBF) // bounds of the second byte
	var need int
	switch {
	case first < 0x80:
		return rune(first), 1
	case first < 0xC2:
		return bad, 1
	case first < 0xE0:
		need, r = 1, rune(first&0x1F)
	case first < 0xF0:
		need, r = 2, rune(first&0x0F)
		if first == 0xE0 {
			low = 0xA0 // no longer than needed
		} else if first == 0xED {
			high = 0x9F // no surrogates
		}
	case first < 0xF5:
		need, r = 3, rune(first&0x07)
		if first == 0xF0 {
			low = 0x90 // no longer than needed
		} else if first == 0xF4 {
			high = 0x8F // nothing above U+10FFFF
		}
	default:
		return bad, 1
	}
	for size = 1; size <= need; size++ {
		if size == len(b) || b[size] < low || b[size] > high {
			return bad, size
		}
		r = r<<6 | rune(b[size]&0x3F)
		low, high = 0x80, 0xBF
	}
	return r, size
}
