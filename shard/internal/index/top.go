package index

import (
	"context"
	"math"
	"slices"
	"sync/atomic"
)

// A Row is a passage with its score.
type Row struct {
	Passage int64
	Score   float64
}

// A Floor is a score that the k best of several searches are known to reach.
// It is safe for concurrent use; the zero Floor knows nothing.
type Floor struct{ bits atomic.Uint64 } // scores are positive: their bits are in their order

func (f *Floor) get() float64 { return math.Float64frombits(f.bits.Load()) }

func (f *Floor) raise(score float64) {
	for {
		old := f.bits.Load()
		if score <= math.Float64frombits(old) || f.bits.CompareAndSwap(old, math.Float64bits(score)) {
			return
		}
	}
}

// A Search says which passages of an index are wanted, in what order.
type Search struct {
	Clauses []*Matches // of which all have to match, with All, or any
	All     bool
	Not     []*Matches // of which none may match
	Hidden  []Range    // a union: passages that are left out
	Scorer  *Scorer
	Keep    int // of the best
	Floor   *Floor
}

// Run counts the passages that match and returns the Keep best, and with them
// all that equal the last of these; or fewer, where Floor shows that they are
// not among the best of all searches that share it. They are in no order.
func (q *Search) Run(ctx context.Context) (total int64, rows []Row, err error) {
	if len(q.Clauses) == 0 {
		return 0, nil, nil
	}
	r := q.Clauses[0].reader
	b := &best{keep: q.Keep, floor: q.Floor, full: 2*q.Keep + spare}
	hidden := walk{q.Hidden}
	for i, s := range r.segments {
		var n int64
		if q.All {
			n, err = q.all(ctx, s, i, &hidden, b)
		} else {
			n, err = q.any(ctx, s, i, &hidden, b)
		}
		if err != nil {
			return 0, nil, err
		}
		total += n
	}
	b.cut()
	return total, b.rows, nil
}

// spare is how many rows more than the best are gathered before it is looked
// which ones are: few, since what the best ones reach saves scoring others.
const spare = 50

// best keeps the best rows.
type best struct {
	keep  int
	floor *Floor
	least float64 // what a row has to reach
	rows  []Row
	full  int // rows at which those are dropped that are not among the best
}

func (b *best) add(passage int64, score float64) {
	if score < b.least {
		return
	}
	if b.rows = append(b.rows, Row{passage, score}); len(b.rows) >= b.full {
		b.cut()
		b.full = 2*max(b.keep, len(b.rows)) + spare
	}
}

// cut drops the rows that are not among the best. The k-th best of one search
// is at most the k-th best of all.
func (b *best) cut() {
	if len(b.rows) >= b.keep && b.keep > 0 {
		scores := make([]float64, len(b.rows))
		for i, r := range b.rows {
			scores[i] = r.Score
		}
		slices.Sort(scores)
		b.floor.raise(scores[len(scores)-b.keep])
	}
	b.least = max(b.least, b.floor.get())
	b.rows = slices.DeleteFunc(b.rows, func(r Row) bool { return r.Score < b.least })
}

// all goes along the clause with the fewest matches.
func (q *Search) all(ctx context.Context, s *segment, i int, hidden *walk, b *best) (total int64, err error) {
	streams := make([]*stream, len(q.Clauses))
	order := make([]int, len(streams))
	for k, m := range q.Clauses {
		if m.size(i) == 0 {
			return 0, nil
		}
		streams[k], order[k] = m.stream(i), k
	}
	slices.SortStableFunc(order, func(x, y int) int { return cmpUint(q.Clauses[x].size(i), q.Clauses[y].size(i)) })
	var not []*stream
	for _, m := range q.Not {
		if m.size(i) > 0 {
			not = append(not, m.stream(i))
		}
	}
	lead := streams[order[0]]
	more, err := lead.next()
	for step := 1; more && err == nil; step++ {
		if step%4096 == 0 && ctx.Err() != nil {
			return 0, ctx.Err()
		}
		doc, target := lead.doc(), uint32(0)
		for _, k := range order[1:] {
			if more, err = streams[k].seek(doc); err != nil || !more {
				return total, err
			}
			if d := streams[k].doc(); d != doc {
				target = d
				break
			}
		}
		if target > 0 {
			more, err = lead.seek(target)
			continue
		}
		out := hidden.holds(s.First + int64(doc))
		for _, n := range not {
			found, err := n.seek(doc)
			if err != nil {
				return 0, err
			}
			out = out || found && n.doc() == doc
		}
		if !out {
			total++
			length, score := s.head.length(doc), 0.0
			for k, st := range streams {
				score += q.Scorer.clause(k, st.tf(), length)
			}
			b.add(s.First+int64(doc), score)
		}
		more, err = lead.next()
	}
	return total, err
}
