package words

import "unicode/utf8"

// word reads the word that begins at text[start], whatever its characters, and
// returns where to go on.
func (t *Tokenizer) word(text []byte, start int, fn func([]byte, int, int)) int {
	t.term = t.term[:0]
	w := wordSpan{end: start, next: start, plain: true}
	for w.next < len(text) && t.more(text, &w) {
	}
	if len(t.term) > 0 {
		t.emit(t.term, w.plain, start, w.end, fn)
	}
	return max(w.next, start+1)
}

// A wordSpan is how far a word has been read.
type wordSpan struct {
	end      int  // of what gave the term
	next     int  // where to go on
	full     bool // nothing more goes into the term
	plain    bool // the term is of a to z so far
	cyrillic bool // its last character is
}

// more reads one character of a word into t.term and reports whether the next
// may belong to the word as well.
func (t *Tokenizer) more(text []byte, w *wordSpan) bool {
	c := t.character(text, w.next)
	switch c.kind {
	case letter, number, mark:
		t.add(c.text, w)
		w.end, w.next, w.cyrillic = c.end, c.end, c.cyrillic
		return true
	case unseen:
		w.next = c.end
		return true
	case apostrophe:
		return t.apostrophe(text, c.end, w)
	}
	return false
}

// apostrophe decides what one that ends before text[i] does to the word that it
// may stand in, and reports whether the word goes on.
func (t *Tokenizer) apostrophe(text []byte, i int, w *wordSpan) bool {
	if len(t.term) == 0 || i == len(text) {
		return false
	}
	clitic := t.clitic(text[i:])
	switch string(clitic) {
	case "":
		if w.cyrillic && t.character(text, i).cyrillic {
			w.next = i
			return true
		}
	case "t":
		if t.term[len(t.term)-1] == 'n' {
			w.next = i
			return true
		}
	default:
		w.next = i + len(clitic)
	}
	return false
}

// clitic returns what text begins with, in lower case, if that is one of the
// short forms that English hangs to a word by an apostrophe, else nothing.
func (t *Tokenizer) clitic(text []byte) []byte {
	n := 0
	for n < len(text) && n < len(t.short) && lower[text[n]] != 0 {
		t.short[n] = lower[text[n]]
		n++
	}
	if n < len(text) && text[n] >= runeSelf && t.character(text, n).kind > apostrophe {
		return nil // the word is longer, and it is with three letters in short
	}
	switch s := t.short[:n]; string(s) {
	case "s", "d", "m", "t", "ll", "re", "ve":
		return s
	}
	return nil
}

// add appends s to the term as far as whole characters of it fit.
func (t *Tokenizer) add(s []byte, w *wordSpan) {
	for len(s) > 0 && !w.full {
		n := 1
		if s[0] >= runeSelf {
			_, n = utf8.DecodeRune(s)
		}
		if w.full = len(t.term)+n > MaxTerm; !w.full {
			w.plain = w.plain && s[0] >= 'a' && s[0] <= 'z'
			t.term = append(t.term, s[:n]...)
			s = s[n:]
		}
	}
}
