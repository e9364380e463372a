package index

import (
	"context"
	"slices"
	"strings"
)

// A Clause is what a passage must have: words next to each other, of which with
// Prefix the last stands for any word that starts so.
type Clause struct {
	Words  []string
	Prefix bool
}

// Count returns how often the clause stands in a text's words.
func (c Clause) Count(words []string) (n int) {
	whole := len(c.Words)
	if c.Prefix {
		whole--
	}
	for i := 0; i+len(c.Words) <= len(words); i++ {
		if slices.Equal(words[i:i+whole], c.Words[:whole]) && (!c.Prefix || strings.HasPrefix(words[i+whole], c.Words[whole])) {
			n++
		}
	}
	return n
}

// Matches are the passages that a clause matches, segment by segment.
type Matches struct {
	reader *Reader
	term   string  // where a single word is looked for, whose lists are not read yet
	lists  []found // of each segment
}

// found is what a clause matches in a segment: a list that is still to be read,
// or passages with frequencies.
type found struct {
	entry     entry
	docs, tfs []uint32
}

// Find looks a clause up. A single word costs the look-up alone; for phrases
// and prefixes the lists are read.
func (r *Reader) Find(ctx context.Context, c Clause) (*Matches, error) {
	m := &Matches{reader: r, lists: make([]found, len(r.segments))}
	if len(c.Words) == 1 && !c.Prefix {
		m.term = c.Words[0]
	}
	for i, s := range r.segments {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		var err error
		switch {
		case c.Prefix && len(c.Words) == 1:
			m.lists[i], err = r.prefix(ctx, s, c.Words[0])
		case c.Prefix:
			m.lists[i], err = r.phrasePrefix(ctx, s, c.Words)
		case len(c.Words) == 1:
			m.lists[i].entry, _, err = r.lookup(s, m.term)
		default:
			m.lists[i], err = r.phrase(ctx, s, c.Words, nil)
		}
		if err != nil {
			return nil, err
		}
	}
	return m, nil
}

// Count counts the passages that match and are not in any range of out, a union.
// Hidden, a union too, is what segments of counts have been told is hidden:
// those passages do not count, unless it is nil.
func (m *Matches) Count(hidden, out []Range) (n Count, err error) {
	if m.term == "" {
		w := walk{Union(hidden, out)}
		for i, s := range m.reader.segments {
			for k, d := range m.lists[i].docs {
				if !w.holds(s.First + int64(d)) {
					n = n.plus(Count{1, int64(m.lists[i].tfs[k])})
				}
			}
		}
		return n, nil
	}
	for _, l := range m.lists {
		n = n.plus(Count{int64(l.entry.n), int64(l.entry.times)})
	}
	if hidden != nil {
		fewer, err := m.reader.counted(m.term)
		if n = n.plus(fewer); err != nil {
			return n, err
		}
	}
	if len(out) > 0 {
		in, err := m.within(out, hidden)
		if n = n.plus(Count{-in.Passages, -in.Times}); err != nil {
			return n, err
		}
	}
	if n.Passages < 0 || n.Times < n.Passages {
		return n, formatErrorf("%d passages hold a word %d times", n.Passages, n.Times)
	}
	return n, nil
}

// within counts the matches in the ranges of a union that are not hidden.
func (m *Matches) within(ranges, hidden []Range) (n Count, err error) {
	w := walk{hidden}
	for i, s := range m.reader.segments {
		st := m.stream(i)
		for _, r := range ranges {
			first, end := max(r.First-s.First, 0), min(r.End-s.First, s.Passages)
			if first >= end {
				continue
			}
			more, err := st.seek(uint32(first))
			for ; more && int64(st.doc()) < end; more, err = st.next() {
				if !w.holds(s.First + int64(st.doc())) {
					n = n.plus(Count{1, int64(st.tf())})
				}
			}
			if err != nil {
				return n, err
			}
			if !more {
				break
			}
		}
	}
	return n, nil
}

// starting returns the lists of all words that start with prefix.
func (r *Reader) starting(s *segment, prefix string) (entries []entry, err error) {
	err = r.scan(s, max(0, findBlock(s.head.firsts, prefix)), func(e *entry) bool {
		starts := strings.HasPrefix(string(e.term), prefix)
		if starts {
			entries = append(entries, *e)
		}
		return starts || string(e.term) < prefix
	}, len(s.head.firsts))
	return entries, err
}

// prefix finds passages with a word that starts with prefix.
func (r *Reader) prefix(ctx context.Context, s *segment, prefix string) (f found, err error) {
	entries, err := r.starting(s, prefix)
	if err != nil || len(entries) == 0 {
		return f, err
	}
	sum := make([]uint32, s.Passages)
	for _, e := range entries {
		if err := ctx.Err(); err != nil {
			return f, err
		}
		c := r.open(s, e)
		for {
			more, err := c.next()
			if err != nil {
				return f, err
			}
			if !more {
				break
			}
			sum[c.doc()] += c.tf()
		}
	}
	for doc, tf := range sum {
		if tf > 0 {
			f.docs, f.tfs = append(f.docs, uint32(doc)), append(f.tfs, tf)
		}
	}
	return f, nil
}

// phrase finds passages in which words stand next to each other. It calls each,
// which may be nil, with the places of the first word in each.
func (r *Reader) phrase(ctx context.Context, s *segment, words []string, each func(doc uint32, at []uint32)) (f found, err error) {
	cursors := make([]*cursor, len(words))
	order := make([]int, len(words))
	for i, w := range words {
		e, ok, err := r.lookup(s, w)
		if err != nil || !ok {
			return f, err
		}
		cursors[i], order[i] = r.open(s, e), i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmpUint(cursors[a].e.n, cursors[b].e.n) })
	var at, next []uint32
	for steps := 1; ; steps++ {
		if steps%1024 == 0 && ctx.Err() != nil {
			return f, ctx.Err()
		}
		// The rarest word leads; the others follow it.
		doc, ok, err := together(cursors, order)
		if err != nil || !ok {
			return f, err
		}
		if at, err = cursors[0].positions(at[:0]); err != nil {
			return f, err
		}
		for i := 1; i < len(cursors) && len(at) > 0; i++ {
			if next, err = cursors[i].positions(next[:0]); err != nil {
				return f, err
			}
			at = follow(at, next, uint32(i))
		}
		if len(at) > 0 {
			f.docs, f.tfs = append(f.docs, doc), append(f.tfs, uint32(len(at)))
			if each != nil {
				each(doc, at)
			}
		}
	}
}

// phrasePrefix finds passages in which words stand next to each other, the last
// of them any that starts so.
func (r *Reader) phrasePrefix(ctx context.Context, s *segment, words []string) (f found, err error) {
	last := uint32(len(words) - 1)
	places := make(map[uint32][]uint32) // of the first word, by passage
	before, err := r.phrase(ctx, s, words[:last], func(doc uint32, at []uint32) { places[doc] = slices.Clone(at) })
	if err != nil || len(before.docs) == 0 {
		return f, err
	}
	entries, err := r.starting(s, words[last])
	if err != nil {
		return f, err
	}
	// No two words stand at one place: what each adds can be summed up.
	sum := make(map[uint32]uint32)
	var at []uint32
	for _, e := range entries {
		if err := ctx.Err(); err != nil {
			return f, err
		}
		c := r.open(s, e)
		for _, doc := range before.docs {
			more, err := c.seek(doc)
			if err != nil {
				return f, err
			}
			if !more {
				break
			}
			if c.doc() != doc {
				continue
			}
			if at, err = c.positions(at[:0]); err != nil {
				return f, err
			}
			sum[doc] += uint32(len(follow(slices.Clone(places[doc]), at, last)))
		}
	}
	for _, doc := range before.docs {
		if sum[doc] > 0 {
			f.docs, f.tfs = append(f.docs, doc), append(f.tfs, sum[doc])
		}
	}
	return f, nil
}

// together moves cursors to the next passage that all of them have. The first
// one in order leads: it is moved on before anything is compared.
func together(cursors []*cursor, order []int) (doc uint32, ok bool, err error) {
	lead := cursors[order[0]]
	more, err := lead.next()
	for more && err == nil {
		doc, moved := lead.doc(), false
		for _, i := range order[1:] {
			if more, err = cursors[i].seek(doc); err != nil || !more {
				return 0, false, err
			}
			if d := cursors[i].doc(); d != doc {
				more, err = lead.seek(d)
				moved = true
				break
			}
		}
		if !moved {
			return doc, true, nil
		}
	}
	return 0, false, err
}

// follow keeps those of the places at that have the place by further on among
// next. Both ascend.
func follow(at, next []uint32, by uint32) []uint32 {
	kept := at[:0]
	for _, p := range at {
		for len(next) > 0 && next[0] < p+by {
			next = next[1:]
		}
		if len(next) > 0 && next[0] == p+by {
			kept = append(kept, p)
		}
	}
	return kept
}

func cmpUint(a, b uint64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}
