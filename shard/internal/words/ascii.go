package words

import "unicode/utf8"

const runeSelf = utf8.RuneSelf

const nul32 = "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"

// lower holds, for each byte that is an ASCII letter or digit, its lower case;
// for every other byte 0.
const lower = nul32 +
	"\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x000123456789\x00\x00\x00\x00\x00\x00" +
	"\x00abcdefghijklmnopqrstuvwxyz\x00\x00\x00\x00\x00" +
	"\x00abcdefghijklmnopqrstuvwxyz\x00\x00\x00\x00\x00" +
	nul32 + nul32 + nul32 + nul32

// ascii reads the word at text[start], an ASCII letter or digit, and returns
// where it ends. It is the fast path: what it cannot decide by bytes alone it
// hands to word.
func (t *Tokenizer) ascii(text []byte, start int, fn func([]byte, int, int)) int {
	buf := &t.buf
	n, digits := 0, false
	i := start
	for ; i < len(text) && n < MaxTerm; i++ {
		c := lower[text[i]]
		if c == 0 {
			break
		}
		digits = digits || c < 'a'
		buf[n] = c
		n++
	}
	if i < len(text) {
		c := text[i]
		switch {
		case c >= runeSelf && t.character(text, i).kind > dense, c == '\'', n == MaxTerm:
			return t.word(text, start, fn)
		case n == 1 && !digits && (c == '+' || c == '#'):
			if k := sign(text[i:]); k > 0 {
				buf[1], buf[2] = c, c
				t.emit(buf[:1+k], false, start, i+k, fn)
				return i + k
			}
		}
	}
	t.emit(buf[:n], !digits, start, i, fn)
	return i
}

// sign returns the length of the ++ or # that text begins with, if it belongs to
// the letter before it as in C++ and C#: no letter comes after.
func sign(text []byte) int {
	k := 1
	if text[0] == '+' {
		if len(text) < 2 || text[1] != '+' {
			return 0
		}
		k = 2
	}
	if len(text) > k && (lower[text[k]] >= 'a' || text[k] == '_') {
		return 0
	}
	return k
}

// emit gives a word to fn, stemmed if it is of a to z alone.
func (t *Tokenizer) emit(word []byte, plain bool, start, end int, fn func([]byte, int, int)) {
	if plain {
		word = t.stems.of(word)
	}
	t.run = 0
	fn(word, start, end)
}
