package index

import (
	"math/bits"
	"slices"
	"sort"
)

// A lane is what a clause matches in a segment, as it is read window by window.
// A window never goes beyond the part that is open, so the heads of all blocks
// that it may need are at hand.
type lane struct {
	clause int
	most   float64 // what it gives a passage of the window at most
	scored bool    // in this window

	c      *cursor // of a list; nil: docs and tfs are all there is
	from   int     // first block that reaches into the window
	next   int     // block that is read next
	loaded bool    // the cursor has block next decoded, and is at its posting c.i
	probe  block   // block probed of the part, for frequency
	probed int     // -1: none

	docs, tfs []uint32
	at        int // in docs
	begin     int // where the window begins in docs
}

func newLane(m *Matches, i, clause int) *lane {
	f := &m.lists[i]
	l := &lane{clause: clause, docs: f.docs, tfs: f.tfs, probed: -1}
	if f.entry.n > 0 {
		l.c = m.reader.open(m.reader.segments[i], f.entry)
	}
	return l
}

// enter moves the lane to a window, and ends the window earlier where the part
// ends that is open then.
func (l *lane) enter(w *window) error {
	if l.c == nil {
		l.begin = l.at
		return nil
	}
	for l.c.part < 0 || l.c.part+1 < l.c.parts() && l.c.blocks[len(l.c.blocks)-1].last < w.start {
		if err := l.c.openPart(l.c.part + 1); err != nil {
			return err
		}
		l.next, l.loaded, l.probed = 0, false, -1
	}
	l.from = l.next
	if last := l.c.blocks[len(l.c.blocks)-1].last; last >= w.start && l.c.part+1 < l.c.parts() {
		w.end = min(w.end, last+1)
	}
	return nil
}

// limit bounds the lane's passages in a window; false: it has none there.
func (l *lane) limit(w *window) (most limit, some bool) {
	if l.c == nil {
		return limit{maxTF: maxWords}, l.at < len(l.docs) && l.docs[l.at] < w.end
	}
	most.minLength = maxWords
	for _, h := range l.c.blocks[l.next:] {
		if h.first >= w.end {
			break
		}
		some = true
		most.maxTF, most.minLength = max(most.maxTF, h.maxTF), min(most.minLength, h.minLength)
	}
	return most, some
}

// run returns the next passages of a window, some of them, with their
// frequencies; none at its end.
func (l *lane) run(w *window) (docs, tfs []uint32, err error) {
	if l.c == nil {
		from := l.at
		l.at += below(l.docs[from:], w.end)
		return l.docs[from:l.at], l.tfs[from:l.at], nil
	}
	c := l.c
	if l.next == len(c.blocks) || c.blocks[l.next].first >= w.end {
		return nil, nil, nil
	}
	if !l.loaded {
		if err := c.load(l.next); err != nil {
			return nil, nil, err
		}
		l.loaded = true
	}
	from := c.i
	if c.blocks[l.next].last < w.end {
		l.next, l.loaded = l.next+1, false
		return c.docs.docs[from:c.docs.n], c.docs.tfs[from:c.docs.n], nil
	}
	c.i += below(c.docs.docs[from:c.docs.n], w.end)
	return c.docs.docs[from:c.i], c.docs.tfs[from:c.i], nil
}

// below returns how many of ascending passages are below end.
func below(docs []uint32, end uint32) int {
	if n := len(docs); n == 0 || docs[n-1] < end {
		return n
	}
	return sort.Search(len(docs), func(i int) bool { return docs[i] >= end })
}

// mark touches the lane's passages in a window.
func (l *lane) mark(w *window) error {
	if l.c == nil {
		docs, _, err := l.run(w)
		w.touch(docs)
		return err
	}
	c := l.c
	for l.next < len(c.blocks) && c.blocks[l.next].first < w.end {
		h := &c.blocks[l.next]
		if l.loaded || h.last >= w.end {
			docs, _, err := l.run(w)
			if err != nil {
				return err
			}
			w.touch(docs)
			if h.last >= w.end {
				return nil
			}
			continue
		}
		if !h.dense() {
			if _, err := c.docs.passages(h, c.body(l.next)); err != nil {
				return err
			}
			w.touch(c.docs.docs[:c.docs.n])
		} else if err := w.touchDense(h, c.body(l.next)); err != nil {
			return err
		}
		l.next++
	}
	return nil
}

func (w *window) touch(docs []uint32) {
	for _, doc := range docs {
		at := doc - w.start
		w.touched[at/64] |= 1 << (at % 64)
	}
}

// touchDense touches the passages of a block that lies within the window and is
// written as bits.
func (w *window) touchDense(h *blockHead, data []byte) error {
	at := h.first - w.start
	w.touched[at/64] |= 1 << (at % 64)
	span := int(h.last - h.first)
	if (span+7)/8 > len(data) {
		return formatErrorf("a block of postings is cut off")
	}
	n := 1
	for at++; span > 0; at, span = at+64, span-64 {
		word := load64(data[:min(8, len(data), (span+7)/8)])
		if span < 64 {
			word &= 1<<span - 1
		}
		data = data[min(8, len(data)):]
		n += bits.OnesCount64(word)
		w.touched[at/64] |= word << (at % 64)
		if over := word >> 1 >> (63 - at%64); over != 0 {
			w.touched[at/64+1] |= over
		}
	}
	if n != h.n {
		return formatErrorf("a block of %d postings has %d", h.n, n)
	}
	return nil
}

// frequency returns how often the clause stands in a passage of the window, 0
// where it does not match.
func (l *lane) frequency(doc uint32) (tf uint32, err error) {
	if l.c == nil {
		if i, ok := slices.BinarySearch(l.docs[l.begin:l.at], doc); ok {
			return l.tfs[l.begin+i], nil
		}
		return 0, nil
	}
	blocks := l.c.blocks[l.from:]
	i := sort.Search(len(blocks), func(i int) bool { return blocks[i].last >= doc })
	if i == len(blocks) || blocks[i].first > doc {
		return 0, nil
	}
	if i += l.from; i != l.probed {
		if err := l.probe.decode(&l.c.blocks[i], l.c.body(i)); err != nil {
			return 0, err
		}
		l.probed = i
	}
	if k, ok := slices.BinarySearch(l.probe.docs[:l.probe.n], doc); ok {
		return l.probe.tfs[k], nil
	}
	return 0, nil
}
