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
//	bytes of the block << 1, bytes of positions, first passage, last passage less the first, block, positions
//
// for one block, or, for a list in rows of its own,
//
//	number of parts << 1 | 1, row of the first counted from the segment's base, for each part the difference of its last passage, and its postings
//
// In a segment of counts two numbers, signed as protobuf's zigzag has it, are
// all that follows the term: of postings, and how often it stands in them.
type entry struct {
	term      []byte
	n         uint64    // postings
	times     uint64    // how often the term stands in all of them
	sum       Count     // of a segment of counts
	block     blockHead // inline: the only one; its limit is a wide one
	body, pos []byte    // inline
	row       uint64
	parts     []partEnd
}

// counts checks what the entry says of its list, which scores go by.
func (e *entry) counts(n, times uint64) error {
	if e.n != n || e.times != times {
		return formatErrorf("a term stands %d times in %d passages, the dictionary says %d times in %d", times, n, e.times, e.n)
	}
	return nil
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
		b = binary.AppendUvarint(b, uint64(len(e.body))<<1)
		b = binary.AppendUvarint(b, uint64(len(e.pos)))
		b = binary.AppendUvarint(b, uint64(e.block.first))
		b = binary.AppendUvarint(b, uint64(e.block.last-e.block.first))
		b = append(b, e.body...)
		return append(b, e.pos...)
	}
	b = binary.AppendUvarint(b, uint64(len(e.parts))<<1|1)
	b = binary.AppendUvarint(b, e.row)
	from := uint32(0)
	for _, p := range e.parts {
		b = binary.AppendUvarint(b, uint64(p.last-from))
		b = binary.AppendUvarint(b, uint64(p.n))
		from = p.last
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
	e.body, e.pos, e.parts, e.row = nil, nil, nil, 0
	v := r.uint()
	if v&1 == 0 {
		if err := r.inline(v >> 1); err != nil {
			return false, err
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

func (r *blockReader) inline(size uint64) error {
	e := &r.entry
	pos, first, span := r.uint(), r.uint(), r.uint()
	e.body = r.take(size)
	e.pos = r.take(pos)
	if e.n > blockLen || e.times-e.n >= maxPassages || first >= 1<<31 || span >= 1<<31-first {
		return formatErrorf("a term has %d postings in the dictionary", e.n)
	}
	e.block = blockHead{first: uint32(first), last: uint32(first + span), n: int(e.n), body: len(e.body), pos: len(e.pos),
		limit: limit{maxTF: uint32(min(e.times-e.n+1, maxWords))}}
	return nil
}

func (r *blockReader) parts(n uint64) error {
	e := &r.entry
	e.row = r.uint()
	if n == 0 || n > uint64(len(r.b)) {
		return formatErrorf("a term has %d postings in %d parts", e.n, n)
	}
	e.parts = make([]partEnd, n)
	last, postings := uint64(0), uint64(0)
	for i := range e.parts {
		d, n := r.uint(), r.uint()
		if last += d; d == 0 && i > 0 || last >= 1<<31 || n == 0 || n > blockLen*partLen {
			return formatErrorf("parts do not ascend")
		}
		postings += n
		e.parts[i] = partEnd{uint32(last), uint32(n)}
	}
	if postings != e.n {
		return formatErrorf("a term has %d postings, its parts have %d", e.n, postings)
	}
	return nil
}

// findBlock returns the number of the block that would hold a term, -1 where
// the term is before all of them. Firsts holds the first term of each block.
func findBlock(firsts []string, term string) int {
	return sort.Search(len(firsts), func(i int) bool { return firsts[i] > term }) - 1
}
