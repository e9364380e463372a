package words

// slots is how many stems are remembered, slotWord how long a word may be for
// it. Words of text repeat so much that a table without any order will do.
const (
	slots    = 4096
	slotWord = 15
)

// stems finds stems and remembers those of words met before, in a table that a
// word has one place in; a word that comes takes the place of the one there.
type stems struct {
	table *[slots]slot
	long  []byte
}

type slot struct {
	n, m       uint8 // lengths of word and stem
	word, stem [slotWord]byte
}

// of returns the stem of a word of the letters a to z. It may change word, and
// is valid until the next call.
func (c *stems) of(word []byte) []byte {
	if len(word) <= 2 {
		return word
	}
	if len(word) > slotWord {
		c.long = append(c.long[:0], word...)
		return stem(c.long)
	}
	if c.table == nil {
		c.table = new([slots]slot)
	}
	hash := uint32(len(word))
	for _, b := range word {
		hash = (hash ^ uint32(b)) * 0x01000193 // FNV-1a
	}
	s := &c.table[(hash^hash>>15)%slots]
	if string(s.word[:s.n]) != string(word) {
		s.n = uint8(copy(s.word[:], word))
		s.m = uint8(copy(s.stem[:], stem(word)))
	}
	return s.stem[:s.m]
}
