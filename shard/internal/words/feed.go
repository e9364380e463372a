package words

import (
	"encoding/binary"
	"math/bits"
)

// A Vocabulary numbers terms.
type Vocabulary interface {
	// Number returns the number of a term, which is valid until it returns.
	Number(term []byte) uint32
	// Numbering names the numbers that terms have: another name, other numbers.
	Numbering() uint64
}

// Numbers appends to dst the number of each term that [Tokenizer.Each] gives, and
// remembers those of short words: most words of a text are a few thousand that
// come again and again, and for these neither case nor stem nor term is looked
// at twice. A tokenizer asks one vocabulary.
func (t *Tokenizer) Numbers(dst []uint32, text []byte, v Vocabulary) []uint32 {
	if t.familiar == nil || t.numbering != v.Numbering() {
		t.familiar, t.numbering = new([familiarWords]familiarWord), v.Numbering()
	}
	fn := func(term []byte, _, _ int) { dst = append(dst, v.Number(term)) }
	t.run = 0
	for i := 0; i < len(text); {
		if lower[text[i]] == 0 {
			if text[i] < runeSelf {
				i++
			} else {
				i = t.step(text, i, fn)
			}
			continue
		}
		w, end := shortWord(text, i)
		if end == i {
			i = t.ascii(text, i, fn)
			continue
		}
		known := &t.familiar[w.slot()]
		if known.low == w.low && known.high == w.high {
			dst = append(dst, known.number)
			i = end
			continue
		}
		given := len(dst)
		if i = t.ascii(text, i, fn); len(dst) == given+1 && i == end {
			*known = familiarWord{w.low, w.high, dst[given]}
		}
	}
	return dst
}

// familiarWords is how many words a tokenizer remembers, in 768 KiB. Each has
// one place, and what comes last has it, as in a [memo].
const (
	familiarWords = 1 << familiarBits
	familiarBits  = 15
)

// A familiarWord is an ASCII word of at most 16 letters and digits, in lower
// case and filled up with zeros, and the number of its term.
type familiarWord struct {
	low, high uint64
	number    uint32
}

func (w familiarWord) slot() uint64 {
	h := (w.low ^ w.high*0x9e3779b97f4a7c15) * 0xbf58476d1ce4e5b9
	return h >> (64 - familiarBits)
}

// shortWord reads the word at text[start], an ASCII letter or digit, and returns
// where it ends: at start, where it is too long or what follows may belong to it.
func shortWord(text []byte, start int) (w familiarWord, end int) {
	rest := text[start:]
	if len(rest) < 16 {
		var filled [16]byte // zeros part words
		copy(filled[:], rest)
		rest = filled[:]
	}
	var n, more int
	if w.low, n = wordBytes(binary.LittleEndian.Uint64(rest)); n == 8 {
		w.high, more = wordBytes(binary.LittleEndian.Uint64(rest[8:]))
	}
	end = start + n + more
	if end == len(text) {
		return w, end
	}
	switch c := text[end]; {
	case n+more == 16, c >= runeSelf, c == '\'', c == '+', c == '#':
		return w, start
	}
	return w, end
}

// wordBytes returns how many of eight bytes, from the lowest on, are ASCII
// letters and digits, and these in lower case, zeros behind them.
func wordBytes(x uint64) (low uint64, n int) {
	const (
		each = 0x0101010101010101
		high = 0x80 * each
	)
	// The high bit of each byte says whether the seven below it are at least so much.
	plain := x &^ high
	small := plain | 0x20*each
	letters := (small + (0x80-'a')*each) &^ (small + (0x80-'z'-1)*each)
	digits := (plain + (0x80-'0')*each) &^ (plain + (0x80-'9'-1)*each)
	others := ^((letters | digits) &^ x) & high
	n = bits.TrailingZeros64(others) / 8
	return small & (1<<(8*n) - 1), n
}
