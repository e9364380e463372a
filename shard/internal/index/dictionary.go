package index

import (
	"bytes"
	"encoding/binary"
	"sort"
)

const (
	// MaxTerm is the longest term, in bytes.
	MaxTerm = 255
	// blockBytes is the size at which a dictionary block is closed: half a block
	// is read for each look-up, and its first term is kept in memory.
	blockBytes = 1200
	// inlineBytes is the longest list, postings and positions, that stands in
	// the dictionary itself.
	inlineBytes = 400
)

// A Count says how many passages hold something, and how often it stands in them.
type Count struct{ Passages, Times int64 }

func (c Count) plus(o Count) Count { return Count{c.Passages + o.Passages, c.Times + o.Times} }

// maxPassages is the most passages that an index is believed to have.
const maxPassages = 1 << 40

// A dictionary block is terms in order. Each has: length of the prefix that it
// shares with the one before, length of the rest, the rest; the number of its
// postings, and how often it stands in all of them beyond once each; then either
//
//	bytes of postings << 1, bytes of positions, postings, positions
//
// for at most one block, or, for a list in rows of its own,
//
//	number of parts << 1 | 1, row of the first counted from the segment's base, for each part the difference of its last passage
//
// In a segment of counts two numbers, signed as protobuf's zigzag has it, are
// all that follows the term: of postings, and how often it stands in them.
type entry struct {
	term      []byte
	n         uint64 // postings
	times     uint64 // how often the term stands in all of them
	sum       Count  // of a segment of counts
	docs, pos []byte // inline; one block
	row       uint64
	parts     []uint32 // last passage of each part
}

// appendEntry writes an entry behind one with the term before.
func appendEntry(b, before []byte, e *entry) []byte {
	shared := 0
	for shared < min(len(before), len(e.term)) && before[shared] == e.term[shared] {
		shared++
	}
	b = binary.AppendUvarint(b, uint64(shared))
	b = binary.AppendUvarint(b, uint64(len(e.term)-shared))
	b = append(b, e.term[shared:]...)
	if e.sum != (Count{}) {
		return binary.AppendVarint(binary.AppendVarint(b, e.sum.Passages), e.sum.Times)
	}
	b = binary.AppendUvarint(b, e.n)
	b = binary.AppendUvarint(b, e.times-e.n)
	if e.parts == nil {
		b = binary.AppendUvarint(b, uint64(len(e.docs))<<1)
		b = binary.AppendUvarint(b, uint64(len(e.pos)))
		b = append(b, e.docs...)
		return append(b, e.pos...)
	}
	b = binary.AppendUvarint(b, uint64(len(e.parts))<<1|1)
	b = binary.AppendUvarint(b, e.row)
	from := uint32(0)
	for _, last := range e.parts {
		b = binary.AppendUvarint(b, uint64(last-from))
		from = last
	}
	return b
}

// A blockReader reads the entries of a dictionary block. Its entry is valid
// until the next one is read.
type blockReader struct {
	buffer
	entry  entry
	read   int
	counts bool // of a segment of counts
}

// next reads the next entry; at the end of the block it returns false.
func (r *blockReader) next() (bool, error) {
	if len(r.b) == 0 && !r.bad {
		return false, nil
	}
	e := &r.entry
	shared, rest := r.uint(), r.uint()
	if shared > uint64(len(e.term)) || rest > MaxTerm || shared+rest > MaxTerm {
		return false, formatErrorf("a term is over %d bytes", MaxTerm)
	}
	suffix := r.take(rest)
	if r.bad {
		return false, formatErrorf("a dictionary block is cut off")
	}
	if r.read > 0 && bytes.Compare(suffix, e.term[shared:]) <= 0 {
		return false, formatErrorf("terms do not ascend")
	}
	e.term = append(e.term[:shared], suffix...)
	if r.counts {
		return r.sum()
	}
	e.n = r.uint()
	e.times = e.n + r.uint()
	e.docs, e.pos, e.parts, e.row = nil, nil, nil, 0
	v := r.uint()
	if v&1 == 0 {
		pos := r.uint()
		e.docs = r.take(v >> 1)
		e.pos = r.take(pos)
		if e.n > blockLen {
			return false, formatErrorf("a term has %d postings in the dictionary", e.n)
		}
	} else if err := r.parts(v >> 1); err != nil {
		return false, err
	}
	if r.bad || e.n == 0 || e.n > maxPassages || e.times < e.n || e.times > maxPassages*maxWords || len(e.term) == 0 {
		return false, formatErrorf("a dictionary block is cut off")
	}
	r.read++
	return true, nil
}

func (r *blockReader) sum() (bool, error) {
	signed := func(v uint64) int64 { return int64(v>>1) ^ -int64(v&1) }
	r.entry.sum = Count{signed(r.uint()), signed(r.uint())}
	if r.bad || r.entry.sum == (Count{}) || len(r.entry.term) == 0 {
		return false, formatErrorf("a dictionary block is cut off")
	}
	r.read++
	return true, nil
}

func (r *blockReader) parts(n uint64) error {
	e := &r.entry
	e.row = r.uint()
	if n > uint64(len(r.b)) || n != (e.n+blockLen*partLen-1)/(blockLen*partLen) {
		return formatErrorf("a term has %d postings in %d parts", e.n, n)
	}
	e.parts = make([]uint32, n)
	last := uint64(0)
	for i := range e.parts {
		d := r.uint()
		if last += d; d == 0 && i > 0 || last > 1<<32-1 {
			return formatErrorf("parts do not ascend")
		}
		e.parts[i] = uint32(last)
	}
	return nil
}

// findBlock returns the number of the block that would hold a term, -1 where
// the term is before all of them. Firsts holds the first term of each block.
func findBlock(firsts []string, term string) int {
	return sort.Search(len(firsts), func(i int) bool { return firsts[i] > term }) - 1
}
