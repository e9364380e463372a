package words

// A Sink takes the terms of texts and numbers them.
type Sink interface {
	// Term takes the next term, valid until it returns, and returns its number.
	Term(term []byte) (number uint32)
	// Again takes a term that has a number.
	Again(number uint32)
	// Numbering names the numbers that terms have: another name, other numbers.
	Numbering() uint64
}

// Feed gives a sink what [Tokenizer.Each] gives, and remembers the numbers of
// short words: most words of a text are a few thousand that come again and
// again, and for these neither case nor stem nor term is looked at twice. A
// tokenizer feeds one sink.
func (t *Tokenizer) Feed(text []byte, to Sink) {
	if t.familiar == nil || t.numbering != to.Numbering() {
		t.familiar, t.numbering = new([familiarWords]familiarWord), to.Numbering()
	}
	var number uint32
	given := 0
	fn := func(term []byte, _, _ int) {
		number = to.Term(term)
		given++
	}
	t.run = 0
	for i := 0; i < len(text); {
		if text[i] >= runeSelf || lower[text[i]] == 0 {
			i = t.step(text, i, fn)
			continue
		}
		w, end := shortWord(text, i)
		if end == i {
			i = t.ascii(text, i, fn)
			continue
		}
		known := &t.familiar[w.slot()]
		if known.low == w.low && known.high == w.high {
			to.Again(known.number)
			i = end
			continue
		}
		given = 0
		if i = t.ascii(text, i, fn); given == 1 && i == end {
			*known = familiarWord{w.low, w.high, number}
		}
	}
}

// familiarWords is how many words a tokenizer remembers, in 192 KiB. Each has
// one place, and what comes last has it, as in a [memo].
const familiarWords = 1 << 13

// A familiarWord is an ASCII word of at most 16 letters and digits, in lower
// case and filled up with zeros, and the number of its term.
type familiarWord struct {
	low, high uint64
	number    uint32
}

func (w familiarWord) slot() uint64 {
	h := (w.low ^ w.high*0x9e3779b97f4a7c15) * 0xbf58476d1ce4e5b9
	return h >> (64 - 13)
}

// shortWord reads the word at text[start], an ASCII letter or digit, and returns
// where it ends: at start, where it is too long or what follows may belong to it.
func shortWord(text []byte, start int) (w familiarWord, end int) {
	i := start
	for shift := 0; i < len(text) && shift < 64; i, shift = i+1, shift+8 {
		c := lower[text[i]]
		if c == 0 {
			return w, closed(text, start, i)
		}
		w.low |= uint64(c) << shift
	}
	for shift := 0; i < len(text) && shift < 64; i, shift = i+1, shift+8 {
		c := lower[text[i]]
		if c == 0 {
			return w, closed(text, start, i)
		}
		w.high |= uint64(c) << shift
	}
	if i < len(text) {
		return w, start
	}
	return w, i
}

// closed returns end, where the byte there parts words whatever follows it, else start.
func closed(text []byte, start, end int) int {
	switch c := text[end]; {
	case c >= runeSelf, c == '\'', c == '+', c == '#':
		return start
	}
	return end
}
