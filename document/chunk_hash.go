package document

import "encoding/binary"

// hashWindow is how many bytes before a cut decide between cuts of one kind.
// It is below minChunk, so they are always there.
const hashWindow = 32

// cutHash hashes the bytes before a cut: four 64-bit little-endian words. It is
// computed at every character of a text that has no words, where the usual
// byte-wise functions take ten times as long.
func cutHash(text []byte, at int) uint64 {
	const odd = 0x9E3779B97F4A7C15 // 2^64 divided by the golden ratio
	b := text[at-hashWindow : at : at]
	h := binary.LittleEndian.Uint64(b[0:]) * odd
	h = (h ^ h>>32 ^ binary.LittleEndian.Uint64(b[8:])) * odd
	h = (h ^ h>>32 ^ binary.LittleEndian.Uint64(b[16:])) * odd
	h = (h ^ h>>32 ^ binary.LittleEndian.Uint64(b[24:])) * odd
	return h ^ h>>32
}

// A picker keeps the cut with the smallest hash, the first on ties.
type picker struct {
	at   int
	hash uint64
	any  bool
}

// offer offers a cut.
func (p *picker) offer(text []byte, at int) {
	h := cutHash(text, at)
	if !p.any || h < p.hash || h == p.hash && at < p.at {
		*p = picker{at: at, hash: h, any: true}
	}
}
