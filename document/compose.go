package document

import "unicode/utf8"

// compose does the steps from decoding to NFC, and turns every white space
// character outside ASCII into a space: none of them takes part in a
// composition, so the order of these two does not matter.
func compose(raw []byte) []byte {
	c := composer{out: make([]byte, 0, len(raw)+len(raw)/16+16)}
	for i := 0; i < len(raw); {
		if n, last := plainRun(raw[i:]); n > 0 {
			c.plain(raw[i:i+n], last)
			i += n
			continue
		}
		if raw[i] >= 0x80 {
			r, size := decodeRune(raw[i:])
			c.add(r)
			i += size
			continue
		}
		if raw[i] == '\r' {
			c.plain([]byte{'\n'}, 0)
			if i+1 < len(raw) && raw[i+1] == '\n' {
				i++
			}
		}
		i++ // any other control character is dropped
	}
	c.close()
	return c.out
}

// plainRun returns the length of the run of well-formed characters that text
// starts with and that are kept as they are, and where the last one starts.
func plainRun(text []byte) (n, last int) {
	for n < len(text) {
		if b := text[n]; b < 0x80 {
			run := keptRun(text[n:])
			if run == 0 {
				break
			}
			n += run
			last = n - 1
			continue
		}
		r, size := decodeRune(text[n:])
		if r < 0xA0 || r == '\uFFFD' || classOf(r) != classPlain {
			break
		}
		last = n
		n += size
	}
	return n, last
}

// keptRun returns the length of the run of kept ASCII characters that text
// starts with.
func keptRun(text []byte) int {
	n := 0
	for n < len(text) {
		if n+8 <= len(text) && isPrintable8(load8(text, n)) {
			n += 8
		} else if isKept(text[n]) {
			n++
		} else {
			break
		}
	}
	return n
}

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
		segment := c.out[c.base:]
		if c.joins > maxJoins || !isComposed(segment, c.joins) {
			c.out = append(c.out[:c.base], nfc(segment, c.joins)...)
		}
		c.joins = 0
	}
	c.base = len(c.out)
}
