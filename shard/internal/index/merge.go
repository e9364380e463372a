package index

import (
	"bytes"
	"slices"
)

// mergeWidth is how many segments of about one size become one.
const mergeWidth = 8

// Plan says which segments should become one next: all from the one returned
// on, -1 where none should. Segments are all of postings or all of counts,
// in the order in which they were made.
//
// A segment is merged about once for each factor of eight that the index grows
// by, and a search meets about seven of each size.
func Plan(segments []Segment) int {
	// Only levels that segments have: a damaged one can be any number.
	levels := make([]int, len(segments))
	for i, s := range segments {
		levels[i] = s.Level
	}
	slices.Sort(levels)
	for _, l := range slices.Compact(levels) {
		from := len(segments)
		for from > 0 && segments[from-1].Level <= l {
			from--
		}
		if len(segments)-from >= mergeWidth {
			return from
		}
	}
	return -1
}

// DropRows is told that rows from first up to, not including, end were read and
// are not read again: what they took can be used for rows that are put.
type DropRows func(first, end int64) error

// dropStep is how many rows of a segment are dropped together.
const dropStep = 64

// Merge writes one segment with everything that the segments of r from number
// from on hold, and drops most of their rows on the way. Segments of counts do
// not count here.
func (r *Reader) Merge(from int, put PutRow, drop DropRows, base int64) (Segment, error) {
	merged := r.segments[from:]
	first := merged[0].First
	end := merged[len(merged)-1].First + merged[len(merged)-1].Passages
	m := &merger{reader: r, writer: newSegmentWriter(put, base), drop: drop, first: first, cursor: &cursor{r: &Reader{get: r.get}, docs: new(block)}}
	m.lengths = make([]byte, 2*(end-first))
	for _, s := range merged {
		copy(m.lengths[2*(s.First-first):], s.head.lengths)
	}
	if err := m.run(merged); err != nil {
		return Segment{}, err
	}
	rows, err := m.writer.close(m.lengths)
	if err != nil {
		return Segment{}, err
	}
	return Segment{Level: level(end - first), First: first, Passages: end - first, Base: base, Rows: rows}, nil
}

// MergeCounts writes one segment of counts with what all of them say from
// number from on.
func (r *Reader) MergeCounts(from int, put PutRow, drop DropRows, base int64) (Segment, error) {
	m := &merger{reader: r, writer: newSegmentWriter(put, base), drop: drop}
	top := 0
	for _, s := range r.counts[from:] {
		top = max(top, s.Level)
	}
	if err := m.run(r.counts[from:]); err != nil {
		return Segment{}, err
	}
	rows, err := m.writer.close(nil)
	if err != nil {
		return Segment{}, err
	}
	return Segment{Level: min(top+1, maxLevel), Counts: true, Base: base, Rows: rows}, nil
}

// A merger brings the terms of several segments into one order.
type merger struct {
	reader  *Reader
	writer  *segmentWriter
	drop    DropRows
	first   int64 // passage
	lengths []byte
	list    encoder
	cursor  *cursor // reads without a cache: each row is read once
}

// A source is a segment that is being merged.
type source struct {
	segment *segment
	blocks  blockReader
	block   int
	dropped int64 // rows of the segment, from its base
	done    bool
}

func (m *merger) run(segments []*segment) error {
	sources := make([]*source, len(segments))
	for i, s := range segments {
		sources[i] = &source{segment: s}
		if err := m.advance(sources[i]); err != nil {
			return err
		}
	}
	var same []*source
	var term []byte
	for {
		// Few sources: looking at each is as fast as a heap.
		same = same[:0]
		for _, s := range sources {
			if s.done {
				continue
			}
			c := -1
			if len(same) > 0 {
				c = bytes.Compare(s.blocks.entry.term, same[0].blocks.entry.term)
			}
			if c < 0 {
				same = append(same[:0], s)
			} else if c == 0 {
				same = append(same, s)
			}
		}
		if len(same) == 0 {
			return nil
		}
		term = append(term[:0], same[0].blocks.entry.term...)
		if err := m.term(term, same); err != nil {
			return err
		}
		for _, s := range same {
			if err := m.advance(s); err != nil {
				return err
			}
		}
	}
}

// advance moves a source to its next term.
func (m *merger) advance(s *source) error {
	for {
		more, err := s.blocks.next()
		if more || err != nil {
			return err
		}
		if err := m.dropRead(s); err != nil {
			return err
		}
		if s.block == len(s.segment.head.firsts) {
			s.done = true
			return nil
		}
		// Not through the cache: each row is read once.
		data, err := m.reader.get(s.segment.Base + s.segment.head.rows[s.block])
		if err != nil {
			return err
		}
		s.block++
		s.blocks = blockReader{buffer: buffer{b: data}, counts: s.segment.Counts}
	}
}

// dropRead drops the rows up to the block that was read last: the lists of a
// block stand before it.
func (m *merger) dropRead(s *source) error {
	if s.block == 0 {
		return nil
	}
	first, end := s.dropped, s.segment.head.rows[s.block-1]+1
	if end-first < dropStep {
		return nil
	}
	s.dropped = end
	return m.drop(s.segment.Base+first, s.segment.Base+end)
}

// term writes the lists of one term as one.
func (m *merger) term(term []byte, sources []*source) error {
	if sources[0].segment.Counts {
		e := entry{term: term}
		for _, s := range sources {
			e.sum = e.sum.plus(s.blocks.entry.sum)
		}
		if e.sum == (Count{}) {
			return nil
		}
		return m.writer.entry(&e)
	}
	m.list.reset(m.lengths)
	times := uint64(0)
	for _, s := range sources {
		times += s.blocks.entry.times
		m.cursor.reset(s.segment, s.blocks.entry)
		if err := m.copy(m.cursor, uint32(s.segment.First-m.first)); err != nil {
			return err
		}
	}
	m.list.endBlock()
	m.list.times = times
	return m.writer.add(term, &m.list)
}

// copiedLen is how many postings a block has that is copied as it is: smaller
// ones are put together.
const copiedLen = blockLen / 2

// copy appends what a cursor reads, its passages moved up by a number.
func (m *merger) copy(c *cursor, up uint32) error {
	for p := range c.parts() {
		if err := c.openPart(p); err != nil {
			return err
		}
		for i, h := range c.blocks {
			var err error
			if c.e.parts != nil && h.n >= copiedLen {
				err = m.copyBlock(c, i, up)
			} else {
				err = m.copyPostings(c, i, up)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

func (m *merger) copyBlock(c *cursor, i int, up uint32) error {
	c.at = i
	if err := c.openPositions(); err != nil {
		return err
	}
	m.list.copy(c.blocks[i], up, c.body(i), c.posAt)
	return nil
}

func (m *merger) copyPostings(c *cursor, i int, up uint32) error {
	if err := c.load(i); err != nil {
		return err
	}
	for ; c.i < c.docs.n; c.i++ {
		raw, err := c.rawPositions()
		if err != nil {
			return err
		}
		m.list.pos = append(m.list.pos, raw...)
		m.list.posting(c.doc()+up, c.tf())
	}
	return nil
}
