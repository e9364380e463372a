package index

// A Segment says where a segment is. Its rows are Base up to, not including,
// Base+Rows.
type Segment struct {
	// Level grows with the number of passages: see [Writer.Merge].
	Level int
	// First is the number of the first passage, Passages how many numbers from
	// there on the segment covers. A segment of counts has none.
	First, Passages int64
	// Counts: for each term the segment holds a [Count] alone, which is added to
	// that of the term's postings: what has become hidden is negative.
	Counts     bool
	Base, Rows int64
}

// maxLevel is far above any level that merging reaches.
const maxLevel = 1 << 16

// PutRow stores a row. The data must not be kept.
type PutRow func(row int64, data []byte) error

// A segmentWriter writes one segment, term by term.
type segmentWriter struct {
	put     PutRow
	base    int64
	next    int64 // row
	block   []byte
	entries int
	first   []byte // term of the block
	before  []byte // term written last
	head    head
}

func newSegmentWriter(put PutRow, base int64) *segmentWriter {
	return &segmentWriter{put: put, base: base, next: base}
}

func (w *segmentWriter) row(data []byte) error {
	err := w.put(w.next, data)
	w.next++
	return err
}

// add writes the list of the next term, which must not be empty and have no open block.
func (w *segmentWriter) add(term []byte, list *encoder) error {
	e := entry{term: term, n: uint64(list.n), times: list.times}
	if len(list.blocks) == 1 && len(list.body)+len(list.pos) <= inlineBytes {
		e.block, e.body, e.pos = list.blocks[0], list.body, list.pos
		return w.entry(&e)
	}
	e.row = uint64(w.next - w.base)
	e.parts = make([]partEnd, list.parts())
	for i := range e.parts {
		docs, pos, end := list.part(i)
		e.parts[i] = end
		if err := w.row(docs); err != nil {
			return err
		}
		if err := w.row(pos); err != nil {
			return err
		}
	}
	return w.entry(&e)
}

func (w *segmentWriter) entry(e *entry) error {
	before := w.before
	if w.entries == 0 {
		before, w.first = nil, append(w.first[:0], e.term...)
	}
	w.block = appendEntry(w.block, before, e)
	w.before = append(w.before[:0], e.term...)
	if w.entries++; len(w.block) >= blockBytes {
		return w.endBlock()
	}
	return nil
}

func (w *segmentWriter) endBlock() error {
	if w.entries == 0 {
		return nil
	}
	w.head.firsts = append(w.head.firsts, string(w.first))
	w.head.rows = append(w.head.rows, w.next-w.base)
	err := w.row(w.block)
	w.block, w.entries = w.block[:0], 0
	return err
}

// close writes the head and returns the number of rows.
func (w *segmentWriter) close(lengths []byte) (rows int64, err error) {
	if err := w.endBlock(); err != nil {
		return 0, err
	}
	w.head.lengths = lengths
	if err := w.row(w.head.encode()); err != nil {
		return 0, err
	}
	return w.next - w.base, nil
}
