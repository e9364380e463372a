package index

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"slices"
)

// maxWordsHeld is how many words a [Builder] should hold at most: at 4 bytes
// each, and 4 more while it writes. English text of 8 MiB has about so many.
const maxWordsHeld = 3 << 19

// maxPassagesHeld is how many passages it can hold: see place.
const maxPassagesHeld = 1 << 16

// A Builder inverts passages in memory. The zero Builder is ready for use, and
// again after Write.
type Builder struct {
	terms   vocabulary
	edition uint64   // of the numbers of terms: grows when they are given anew
	words   []uint32 // of all passages, in their order: numbers of terms
	lengths []byte
	list    encoder

	// While the words are sorted:
	count  []uint32 // occurrences of each term, then where its next one goes
	used   []uint32 // terms with occurrences
	places []place  // of the words, by term
}

// A place is where a word stands: its passage in the upper half and its position
// in the lower. They are put in order all over memory, so small ones pay.
type place uint32

func (p place) passage() uint32 { return uint32(p >> 16) }
func (p place) pos() uint16     { return uint16(p) }

// Number returns the number of a term, while Numbering is the same.
func (b *Builder) Number(term []byte) uint32 {
	if len(term) > MaxTerm || len(term) == 0 {
		return noTerm
	}
	return b.terms.number(term)
}

// noTerm is the number of what is no term.
const noTerm = 1<<32 - 1

// Numbering names the numbers of terms: another name, other numbers.
func (b *Builder) Numbering() uint64 { return b.edition }

// Add adds a passage, as the numbers of its words, and returns its length in
// words. Words beyond what a passage can have are left out, and so are those too
// long to be terms.
func (b *Builder) Add(numbers []uint32) (words int) {
	if len(numbers) > maxWords || slices.Contains(numbers, noTerm) {
		numbers = slices.DeleteFunc(slices.Clone(numbers), func(n uint32) bool { return n == noTerm })
		numbers = numbers[:min(len(numbers), maxWords)]
	}
	if words = len(numbers); words > cap(b.words)-len(b.words) {
		b.words = slices.Grow(b.words, max(words, len(b.words)))
	}
	b.words = append(b.words, numbers...)
	b.lengths = binary.LittleEndian.AppendUint16(b.lengths, uint16(words))
	return words
}

// Passages returns how many passages were ended.
func (b *Builder) Passages() int { return len(b.lengths) / 2 }

// Full reports whether the passages must be written before more are added.
func (b *Builder) Full() bool {
	return len(b.words) >= maxWordsHeld || b.Passages() >= maxPassagesHeld
}

// Write writes the passages, of which the first gets the number first, as a
// segment whose rows start at base, and forgets them. There must be at least one.
func (b *Builder) Write(put PutRow, first, base int64) (Segment, error) {
	w := newSegmentWriter(put, base)
	order, ends := b.sort()
	list := &b.list
	from := 0
	for i, id := range order {
		places := b.places[from:ends[i]]
		from = ends[i]
		list.reset(b.lengths)
		for j := 0; j < len(places); {
			passage, start, before := places[j].passage(), j, uint16(0)
			for ; j < len(places) && places[j].passage() == passage; j++ {
				list.pos = binary.AppendUvarint(list.pos, uint64(places[j].pos()-before))
				before = places[j].pos()
			}
			list.posting(passage, uint32(j-start))
		}
		list.endBlock()
		if err := w.add(b.terms.term(id), list); err != nil {
			return Segment{}, err
		}
	}
	n := int64(b.Passages())
	rows, err := w.close(b.lengths)
	if err != nil {
		return Segment{}, err
	}
	b.Reset()
	return Segment{Level: level(n), First: first, Passages: n, Base: base, Rows: rows}, nil
}

// WriteCounts writes the [Count] of each term in the passages, times sign, as a segment of counts, and forgets the passages.
func (b *Builder) WriteCounts(put PutRow, sign, base int64) (Segment, error) {
	w := newSegmentWriter(put, base)
	order, ends := b.sort()
	from := 0
	for i, id := range order {
		places := b.places[from:ends[i]]
		from = ends[i]
		e := entry{term: b.terms.term(id)}
		last := uint32(1<<32 - 1)
		for _, p := range places {
			if p.passage() != last {
				e.sum.Passages, last = e.sum.Passages+sign, p.passage()
			}
			e.sum.Times += sign
		}
		if err := w.entry(&e); err != nil {
			return Segment{}, err
		}
	}
	level := level(int64(b.Passages()))
	rows, err := w.close(nil)
	if err != nil {
		return Segment{}, err
	}
	b.Reset()
	return Segment{Level: level, Counts: true, Base: base, Rows: rows}, nil
}

// sort brings the places of the words into the order of terms, and those of one
// term into that of passages. It returns the terms in order and where each one's
// places end.
func (b *Builder) sort() (order []uint32, ends []int) {
	if n := b.terms.len(); n > cap(b.count) {
		b.count = make([]uint32, 2*n)
	}
	b.count = b.count[:b.terms.len()]
	clear(b.count)
	for _, id := range b.words {
		if b.count[id] == 0 {
			b.used = append(b.used, id)
		}
		b.count[id]++
	}
	order = b.inOrder()
	// A counting sort: every term knows where its words go.
	ends = make([]int, len(order))
	sum := uint32(0)
	for i, id := range order {
		n := b.count[id]
		b.count[id] = sum
		sum += n
		ends[i] = int(sum)
	}
	if len(b.words) > cap(b.places) {
		b.places = make([]place, cap(b.words))
	}
	b.places = b.places[:len(b.words)]
	words := b.words
	for passage := range b.Passages() {
		n := binary.LittleEndian.Uint16(b.lengths[2*passage:])
		for pos, id := range words[:n] {
			b.places[b.count[id]] = place(passage<<16 | pos)
			b.count[id]++
		}
		words = words[n:]
	}
	return order, ends
}

// inOrder returns the terms that occur in their order.
func (b *Builder) inOrder() []uint32 {
	// Most comparisons end at the first bytes, which stand together here.
	type head struct {
		first uint64
		id    uint32
	}
	heads := make([]head, len(b.used))
	for i, id := range b.used {
		var first [8]byte
		copy(first[:], b.terms.term(id))
		heads[i] = head{binary.BigEndian.Uint64(first[:]), id}
	}
	slices.SortFunc(heads, func(x, y head) int {
		if x.first != y.first {
			return cmp.Compare(x.first, y.first)
		}
		return bytes.Compare(b.terms.term(x.id), b.terms.term(y.id))
	})
	for i, h := range heads {
		b.used[i] = h.id
	}
	return b.used
}

// A Builder that is used again keeps its vocabulary and its buffers, up to
// these sizes: most of the words of the next passages are in it already.
const (
	keptTerms = 1 << 18
	keptWords = 2 * maxWordsHeld
)

// Reset forgets passages that were not written.
func (b *Builder) Reset() {
	b.used, b.words, b.lengths = b.used[:0], b.words[:0], nil
	if b.terms.len() > keptTerms {
		b.terms, b.count, b.used = vocabulary{}, nil, nil
		b.edition++
	}
	if cap(b.words) > keptWords || cap(b.places) > keptWords {
		b.words, b.places = nil, nil
	}
}

// level returns the level of a segment with so many passages: 0 up to 64, one
// more for each factor of [mergeWidth].
func level(passages int64) int {
	l := 0
	for n := int64(64); passages > n; n *= mergeWidth {
		l++
	}
	return l
}
