package words

// memoSlots is how much a memo remembers, memoBytes how long what it remembers
// may be.
const (
	memoSlots = 4096
	memoBytes = 15
)

// A memo remembers what became of short strings, in 128 KiB. Each has one place
// in the table, and what comes last has it: text repeats so much that no better
// order pays.
type memo struct {
	asked int // while there is no table
	table *[memoSlots]memoSlot
}

// memoAfter is how many strings it takes before a table is worth its memory: a
// query has fewer.
const memoAfter = 64

type memoSlot struct {
	n, m     uint8 // lengths of key and value
	key, val [memoBytes]byte
}

// slot returns the place of key, which is not empty, or nil where it is too long
// or there is no table yet.
func (c *memo) slot(key []byte) *memoSlot {
	if len(key) > memoBytes {
		return nil
	}
	if c.table == nil {
		if c.asked++; c.asked <= memoAfter {
			return nil
		}
		c.table = new([memoSlots]memoSlot)
	}
	hash := uint32(2166136261)
	for _, b := range key {
		hash = (hash ^ uint32(b)) * 16777619 // FNV-1a
	}
	return &c.table[(hash^hash>>15)%memoSlots]
}

func (s *memoSlot) holds(key []byte) bool { return string(s.key[:s.n]) == string(key) }

func (s *memoSlot) value() []byte { return s.val[:s.m] }

// put remembers val for key, if it is short enough.
func (s *memoSlot) put(key, val []byte) {
	if len(val) <= memoBytes {
		s.n = uint8(copy(s.key[:], key))
		s.m = uint8(copy(s.val[:], val))
	}
}

// stems finds stems and remembers them.
type stems struct {
	known memo
	word  [MaxTerm + 2]byte
}

// of returns the stem of a word of the letters a to z, valid until the next call.
func (c *stems) of(word []byte) []byte {
	if len(word) <= 2 {
		return word
	}
	s := c.known.slot(word)
	if s != nil && s.holds(word) {
		return s.value()
	}
	out := stem(c.word[:copy(c.word[:], word)])
	if s != nil {
		s.put(word, out)
	}
	return out
}
