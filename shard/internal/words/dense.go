package words

// half is how many bytes of a character go into a pair.
const half = MaxTerm / 2

// denseRun reads the run of characters that begins at text[start] and returns
// where it ends. n characters give n terms: n-1 pairs, then the last alone.
func (t *Tokenizer) denseRun(text []byte, start int, fn func([]byte, int, int)) int {
	t.two = t.two[:0]
	n, first := 0, 0 // characters; bytes of the one before, at the front of t.two
	from, end := start, start
	next := start
	for next < len(text) {
		c := t.character(text, next)
		if c.kind == unseen || c.kind == mark {
			next = c.end
			continue
		}
		if c.kind != dense {
			break
		}
		t.two = append(t.two, cut(c.text, half)...)
		if n > 0 {
			fn(t.two, from, c.end)
			t.two = t.two[:copy(t.two, t.two[first:])]
		}
		from, end, next = next, c.end, c.end
		first = len(t.two)
		n++
	}
	t.run = n
	fn(t.two, from, end)
	return next
}

// cut returns as many whole characters of s as fit into n bytes.
func cut(s []byte, n int) []byte {
	if len(s) <= n {
		return s
	}
	for n > 0 && s[n]&0xc0 == 0x80 {
		n--
	}
	return s[:n]
}
