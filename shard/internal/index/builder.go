package index

import (
	"cmp"
	"encoding/binary"
	"slices"
)

// maxOccurrences is how many words a [Builder] should hold at most: at 12 bytes
// each, and as much again while it writes.
const maxOccurrences = 1 << 20

// A Builder inverts passages in memory. The zero Builder is ready for use, and
// again after Write.
type Builder struct {
	ids     map[string]uint32
	edition uint64 // of ids: grows when they are given anew
	terms   []string
	count   []uint32     // occurrences of each term; while they are sorted, where its next one goes
	used    []uint32     // terms with occurrences
	words   []occurrence // of all passages, in their order
	sorted  []occurrence // the same by term
	lengths []byte
	length  uint32 // of the passage that is being added
	list    encoder
}

// An occurrence is a term at a place.
type occurrence struct{ term, doc, pos uint32 }

// Term adds the next word of the passage and returns its number. Words beyond
// what a passage can have are left out, and so are words too long to be terms.
func (b *Builder) Term(term []byte) (number uint32) {
	if len(term) > MaxTerm || len(term) == 0 {
		return noTerm
	}
	id, ok := b.ids[string(term)]
	if !ok {
		if b.ids == nil {
			b.ids = make(map[string]uint32)
		}
		id = uint32(len(b.terms))
		s := string(term)
		b.ids[s] = id
		b.terms = append(b.terms, s)
		b.count = append(b.count, 0)
	}
	b.Again(id)
	return id
}

// noTerm is the number of what is no term.
const noTerm = 1<<32 - 1

// Again adds a word by the number that Term gave it, while Numbering is the same.
func (b *Builder) Again(number uint32) {
	if b.length == maxWords || number == noTerm {
		return
	}
	if b.count[number] == 0 {
		b.used = append(b.used, number)
	}
	b.count[number]++
	if len(b.words) == cap(b.words) {
		b.words = slices.Grow(b.words, max(len(b.words), 1<<16))
	}
	b.words = append(b.words, occurrence{number, uint32(b.Passages()), b.length})
	b.length++
}

// Numbering names the numbers of terms: another name, other numbers.
func (b *Builder) Numbering() uint64 { return b.edition }

// EndPassage ends the passage and returns its length in words.
func (b *Builder) EndPassage() (words int) {
	words = int(b.length)
	b.lengths = binary.LittleEndian.AppendUint16(b.lengths, uint16(words))
	b.length = 0
	return words
}

// Passages returns how many passages were ended.
func (b *Builder) Passages() int { return len(b.lengths) / 2 }

// Full reports whether the passages should be written before more are added.
func (b *Builder) Full() bool { return len(b.words) >= maxOccurrences }

// Write writes the passages, of which the first gets the number first, as a
// segment whose rows start at base, and forgets them. There must be at least one.
func (b *Builder) Write(put PutRow, first, base int64) (Segment, error) {
	w := newSegmentWriter(put, base)
	order, ends := b.sort()
	list := &b.list
	from := 0
	for i, id := range order {
		words := b.sorted[from:ends[i]]
		from = ends[i]
		list.reset(b.lengths)
		for j := 0; j < len(words); {
			doc, start, before := words[j].doc, j, uint32(0)
			for ; j < len(words) && words[j].doc == doc; j++ {
				list.pos = binary.AppendUvarint(list.pos, uint64(words[j].pos-before))
				before = words[j].pos
			}
			list.posting(doc, uint32(j-start))
		}
		list.endBlock()
		if err := w.add([]byte(b.terms[id]), list); err != nil {
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
		words := b.sorted[from:ends[i]]
		from = ends[i]
		e := entry{term: []byte(b.terms[id])}
		last := uint32(1<<32 - 1)
		for _, o := range words {
			if o.doc != last {
				e.sum.Passages, last = e.sum.Passages+sign, o.doc
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

// sort brings the words into the order of terms, and those of one term into
// that of passages. It returns the terms in order and where each one's words end.
func (b *Builder) sort() (order []uint32, ends []int) {
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
	b.sorted = slices.Grow(b.sorted[:0], len(b.words))[:len(b.words)]
	for _, o := range b.words {
		b.sorted[b.count[o.term]] = o
		b.count[o.term]++
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
		copy(first[:], b.terms[id])
		heads[i] = head{binary.BigEndian.Uint64(first[:]), id}
	}
	slices.SortFunc(heads, func(x, y head) int {
		if x.first != y.first {
			return cmp.Compare(x.first, y.first)
		}
		return cmp.Compare(b.terms[x.id], b.terms[y.id])
	})
	for i, h := range heads {
		b.used[i] = h.id
	}
	return b.used
}

// A Builder that is used again keeps its vocabulary and its buffers, up to
// these sizes: most of the words of the next passages are in it already.
const (
	keptTerms       = 1 << 17
	keptOccurrences = 1 << 20
)

// Reset forgets passages that were not written.
func (b *Builder) Reset() {
	for _, id := range b.used {
		b.count[id] = 0
	}
	b.used, b.words, b.sorted, b.lengths, b.length = b.used[:0], b.words[:0], b.sorted[:0], nil, 0
	if len(b.terms) > keptTerms {
		b.ids, b.terms, b.count, b.used = nil, nil, nil, nil
		b.edition++
	}
	if cap(b.words) > keptOccurrences {
		b.words, b.sorted = nil, nil
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
