package index

import "hash/maphash"

// A vocabulary numbers terms from 0 on, in the order in which they are met. The
// zero vocabulary is empty.
//
// It is a hash table with linear probing that holds no pointers: a builder has
// more than a hundred thousand terms, which as keys of a map are as many things
// for the garbage collector.
type vocabulary struct {
	seed  maphash.Seed
	slots []slot // a power of two, at most half of them in use
	text  []byte // of all terms
	ends  []uint32
}

// A slot is empty where its number is 0.
type slot struct{ hash, number uint32 } // the number and one more

const leastSlots = 1 << 8

// len returns how many terms there are.
func (v *vocabulary) len() int { return len(v.ends) }

// term returns a term by its number.
func (v *vocabulary) term(number uint32) []byte {
	if number == 0 {
		return v.text[:v.ends[0]]
	}
	return v.text[v.ends[number-1]:v.ends[number]]
}

// number returns the number of a term.
func (v *vocabulary) number(term []byte) uint32 {
	if 2*len(v.ends) >= len(v.slots) {
		v.grow()
	}
	hash := uint32(maphash.Bytes(v.seed, term))
	s := v.find(hash, term)
	if s.number == 0 {
		v.text = append(v.text, term...)
		v.ends = append(v.ends, uint32(len(v.text)))
		*s = slot{hash, uint32(len(v.ends))}
	}
	return s.number - 1
}

// find returns the slot of a term, or the empty one that it should get.
func (v *vocabulary) find(hash uint32, term []byte) *slot {
	mask := uint32(len(v.slots) - 1)
	for i := hash & mask; ; i = (i + 1) & mask {
		s := &v.slots[i]
		if s.number == 0 || s.hash == hash && string(v.term(s.number-1)) == string(term) {
			return s
		}
	}
}

func (v *vocabulary) grow() {
	if v.slots == nil {
		v.seed = maphash.MakeSeed()
	}
	old := v.slots
	v.slots = make([]slot, max(leastSlots, 2*len(old)))
	mask := uint32(len(v.slots) - 1)
	for _, s := range old {
		if s.number == 0 {
			continue
		}
		i := s.hash & mask
		for v.slots[i].number != 0 {
			i = (i + 1) & mask
		}
		v.slots[i] = s
	}
}
