package index

import (
	"cmp"
	"context"
	"math/bits"
	"slices"
)

// windowLen is how many passages are looked at together: their scores fit into
// the processor's first cache.
const windowLen = 4096

// A window is passages that follow each other. A passage is touched where a
// clause matches it; its score is that of the clauses that were scored.
type window struct {
	start, end uint32
	scores     [windowLen]float64
	touched    [windowLen / 64]uint64
}

// any goes through the passages window by window, and through the clauses
// within each. Every passage that matches is counted; but what each clause can
// give there is known, and clauses that even together do not bring a passage
// among the best (MaxScore, Turtle and Flood 1995) are not scored: a passage
// that others bring near it is scored again, with all clauses in their order.
func (q *Search) any(ctx context.Context, s *segment, i int, hidden *walk, b *best) (total int64, err error) {
	var lanes []*lane
	var not []*stream
	for k, m := range q.Clauses {
		if m.size(i) > 0 {
			lanes = append(lanes, newLane(m, i, k))
		}
	}
	if len(lanes) == 0 {
		return 0, nil
	}
	for _, m := range q.Not {
		if m.size(i) > 0 {
			not = append(not, m.stream(i))
		}
	}
	w := new(window)
	for int64(w.end) < s.Passages {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		b.least = max(b.least, b.floor.get())
		w.start, w.end = w.end, uint32(min(int64(w.end)+windowLen, s.Passages))
		for _, l := range lanes {
			if err := l.enter(w); err != nil {
				return 0, err
			}
		}
		rest := q.choose(lanes, w, b.least)
		for _, l := range lanes {
			if err := q.gather(l, w, s.head.lengths); err != nil {
				return 0, err
			}
		}
		for _, st := range not {
			if err := w.drop(st); err != nil {
				return 0, err
			}
		}
		hidden.clear(w, s.First)
		n, err := q.collect(w, lanes, s, rest, b)
		if total += n; err != nil {
			return total, err
		}
	}
	return total, nil
}

// restShare is the part of the score to reach that lanes that are not scored may
// give together. More of them would save scoring and cost more: passages that
// have to be looked at again.
const restShare = 0.25

// choose says which lanes are scored in a window, and returns what the others
// can give a passage at most: none are where all together are too few.
func (q *Search) choose(lanes []*lane, w *window, least float64) (rest float64) {
	order := slices.Clone(lanes)
	sum := 0.0
	for _, l := range order {
		l.most, l.scored = 0, true
		if limit, some := l.limit(w); some {
			l.most = q.Scorer.most(l.clause, limit)
		}
		sum += l.most
	}
	enough := least * restShare
	if sum < least*(1-slack) {
		enough = least
	}
	slices.SortFunc(order, func(x, y *lane) int { return cmp.Compare(x.most, y.most) })
	for _, l := range order {
		if rest+l.most >= enough {
			break
		}
		rest += l.most
		l.scored = false
	}
	return rest
}

// gather adds what a lane gives a window.
func (q *Search) gather(l *lane, w *window, lengths []byte) error {
	if !l.scored {
		return l.mark(w)
	}
	table := q.Scorer.table[l.clause]
	for {
		docs, tfs, err := l.run(w)
		if err != nil || len(docs) == 0 {
			return err
		}
		for i, doc := range docs {
			tf, length := tfs[i], int(lengths[2*doc])|int(lengths[2*doc+1])<<8
			at := doc - w.start
			if tf-1 < tableTF && length < tableLength {
				w.scores[at] += table[int(tf-1)*tableLength+length]
			} else {
				w.scores[at] += q.Scorer.clause(l.clause, tf, length)
			}
			w.touched[at/64] |= 1 << (at % 64)
		}
	}
}

// drop takes the passages of a stream out of a window.
func (w *window) drop(st *stream) error {
	more, err := st.seek(w.start)
	for ; more && st.doc() < w.end; more, err = st.next() {
		w.clear(st.doc() - w.start)
	}
	return err
}

func (w *window) clear(at uint32) {
	w.touched[at/64] &^= 1 << (at % 64)
	w.scores[at] = 0
}

// clear takes the passages of the ranges out of a window of a segment that
// begins with passage first.
func (h *walk) clear(w *window, first int64) {
	start, end := first+int64(w.start), first+int64(w.end)
	for len(h.rest) > 0 && h.rest[0].First < end {
		r := h.rest[0]
		for p := max(r.First, start); p < min(r.End, end); p++ {
			w.clear(uint32(p - start))
		}
		if r.End > end {
			return
		}
		h.rest = h.rest[1:]
	}
}

// collect counts the passages of a window, keeps the best, and empties it. Rest
// is what the lanes that were not scored can add to a score.
func (q *Search) collect(w *window, lanes []*lane, s *segment, rest float64, b *best) (n int64, err error) {
	near := b.least*(1-slack) - rest
	for i, word := range w.touched {
		n += int64(bits.OnesCount64(word))
		for ; word != 0; word &= word - 1 {
			at := uint32(i*64 + bits.TrailingZeros64(word))
			if score := w.scores[at]; score >= near {
				if rest > 0 {
					if score, err = q.whole(lanes, w.start+at, s); err != nil {
						return n, err
					}
				}
				b.add(s.First+int64(w.start+at), score)
				near = b.least*(1-slack) - rest
			}
			w.scores[at] = 0
		}
		w.touched[i] = 0
	}
	return n, nil
}

// whole returns the score of a passage of the window with all clauses.
func (q *Search) whole(lanes []*lane, doc uint32, s *segment) (score float64, err error) {
	length := s.head.length(doc)
	for _, l := range lanes {
		tf, err := l.frequency(doc)
		if err != nil {
			return 0, err
		}
		if tf > 0 {
			score += q.Scorer.clause(l.clause, tf, length)
		}
	}
	return score, nil
}
