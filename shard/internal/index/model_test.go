package index

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// A model is an index in memory beside the plain texts that it was made of.
type model struct {
	t        testing.TB
	rows     map[int64][]byte
	next     int64 // row
	segments []Segment
	negative []Segment
	texts    map[int64][]string // passages that are found
	all      map[int64][]string // hidden ones too
	end      int64              // passage
	dead     []Range
	cache    *Cache
}

func newModel(t testing.TB) *model {
	return &model{t: t, rows: map[int64][]byte{}, texts: map[int64][]string{}, all: map[int64][]string{}, end: 1, cache: NewCache(1 << 20)}
}

func (m *model) put(row int64, data []byte) error {
	if row != m.next {
		return fmt.Errorf("row %d, want %d", row, m.next)
	}
	m.rows[row] = slices.Clone(data)
	m.next++
	return nil
}

func (m *model) get(row int64) ([]byte, error) {
	data, ok := m.rows[row]
	if !ok {
		return nil, fmt.Errorf("no row %d", row)
	}
	return data, nil
}

func (m *model) open() *Reader {
	m.t.Helper()
	r, err := Open(slices.Concat(m.negative, m.segments), m.get, m.cache)
	if err != nil {
		m.t.Fatal(err)
	}
	return r
}

func (m *model) must(err error) {
	m.t.Helper()
	if err != nil {
		m.t.Fatal(err)
	}
}

func numbers(b *Builder, words []string) (all []uint32) {
	for _, w := range words {
		all = append(all, b.Number([]byte(w)))
	}
	return all
}

func (m *model) add(texts ...[]string) {
	var b Builder
	for i, words := range texts {
		if n := b.Add(numbers(&b, words)); n != len(words) {
			m.t.Fatalf("a passage of %d words has %d", len(words), n)
		}
		m.texts[m.end+int64(i)], m.all[m.end+int64(i)] = words, words
	}
	s, err := b.Write(m.put, m.end, m.next)
	m.must(err)
	m.segments = append(m.segments, s)
	m.end += int64(len(texts))
	for from := Plan(m.segments); from >= 0; from = Plan(m.segments) {
		s, err := m.open().Merge(from, m.put, m.dropRows, m.next)
		m.must(err)
		m.drop(m.segments[from:])
		m.segments = append(m.segments[:from], s)
	}
}

// dropRows is told by a merge what it does not read again.
func (m *model) dropRows(first, end int64) error {
	for row := first; row < end; row++ {
		if _, ok := m.rows[row]; !ok {
			return fmt.Errorf("row %d is dropped twice", row)
		}
		delete(m.rows, row)
	}
	return nil
}

func (m *model) drop(all []Segment) {
	for _, s := range all {
		for i := range s.Rows {
			delete(m.rows, s.Base+i)
		}
	}
}

// setHidden hides passages, or shows them again.
func (m *model) setHidden(hide bool, passages ...int64) {
	var b Builder
	for _, p := range passages {
		b.Add(numbers(&b, m.all[p]))
		if m.texts[p] = m.all[p]; hide {
			delete(m.texts, p)
		}
	}
	sign := int64(1)
	if hide {
		sign = -1
	}
	s, err := b.WriteCounts(m.put, sign, m.next)
	m.must(err)
	m.negative = append(m.negative, s)
	m.dead = []Range{}
	for p := range m.all {
		if _, ok := m.texts[p]; !ok {
			m.dead = append(m.dead, Range{p, p + 1})
		}
	}
	m.dead = Union(m.dead)
	for from := Plan(m.negative); from >= 0; from = Plan(m.negative) {
		s, err := m.open().MergeCounts(from, m.put, m.dropRows, m.next)
		m.must(err)
		m.drop(m.negative[from:])
		m.negative = append(m.negative[:from], s)
	}
}

// count says how often a clause stands in words, without the code under test.
func (c Clause) count(words []string) (n int) {
next:
	for i := range words {
		for k, w := range c.Words {
			switch {
			case i+k >= len(words):
				continue next
			case c.Prefix && k == len(c.Words)-1 && strings.HasPrefix(words[i+k], w):
			case words[i+k] != w:
				continue next
			}
		}
		n++
	}
	return n
}

type modelQuery struct {
	clauses, not []Clause
	all          bool
	hidden       []Range
	keep         int
}

// expect searches the plain texts.
func (m *model) expect(q modelQuery) (total int64, rows []Row, stats Statistics) {
	stats.Holding = make([]Count, len(q.clauses))
	hidden := func(p int64) bool { w := walk{q.hidden}; return w.holds(p) }
	for p, words := range m.texts {
		if hidden(p) {
			continue
		}
		stats.Passages++
		stats.Words += int64(len(words))
		for i, c := range q.clauses {
			if n := c.count(words); n > 0 {
				stats.Holding[i] = stats.Holding[i].plus(Count{1, int64(n)})
			}
		}
	}
	scorer := stats.Scorer()
	for p, words := range m.texts {
		counts := make([]int, len(q.clauses))
		some, every, out := false, true, hidden(p)
		for i, c := range q.clauses {
			counts[i] = c.count(words)
			some, every = some || counts[i] > 0, every && counts[i] > 0
		}
		for _, c := range q.not {
			out = out || c.count(words) > 0
		}
		if out || !some || q.all && !every {
			continue
		}
		total++
		rows = append(rows, Row{p, scorer.Score(counts, len(words))})
	}
	slices.SortFunc(rows, func(a, b Row) int { return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.Passage, b.Passage)) })
	for i := q.keep; i < len(rows); i++ {
		if rows[i].Score < rows[q.keep-1].Score {
			rows = rows[:i]
		}
	}
	return total, rows, stats
}

func (m *model) search(q modelQuery) (total int64, rows []Row, stats Statistics) {
	m.t.Helper()
	r := m.open()
	var clauses, not []*Matches
	for _, c := range q.clauses {
		f, err := r.Find(context.Background(), c)
		m.must(err)
		n, err := f.Count(m.dead, q.hidden)
		m.must(err)
		stats.Holding = append(stats.Holding, n)
		clauses = append(clauses, f)
	}
	for _, c := range q.not {
		f, err := r.Find(context.Background(), c)
		m.must(err)
		not = append(not, f)
	}
	w := walk{q.hidden}
	for p := range m.end {
		if words, ok := m.texts[p]; ok && !w.holds(p) {
			stats.Passages++
			stats.Words += int64(len(words))
		}
	}
	s := Search{Clauses: clauses, All: q.all, Not: not, Hidden: Union(m.dead, q.hidden), Scorer: stats.Scorer(), Keep: q.keep, Floor: new(Floor)}
	total, rows, err := s.Run(context.Background())
	m.must(err)
	slices.SortFunc(rows, func(a, b Row) int { return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.Passage, b.Passage)) })
	return total, rows, stats
}

// words makes a passage in which some words are frequent and most are rare.
func someWords(r *rand.Rand, n int) []string {
	words := make([]string, n)
	for i := range words {
		words[i] = fmt.Sprintf("w%d", int(float64(400)*r.Float64()*r.Float64()*r.Float64()))
	}
	return words
}

func (m *model) randomQuery(r *rand.Rand) (q modelQuery) {
	clause := func() (c Clause) {
		words := someWords(r, 3)
		for _, t := range m.texts {
			if r.IntN(3) == 0 && len(t) > 3 {
				words = t[r.IntN(len(t)-2):]
			}
			break
		}
		switch r.IntN(5) {
		case 0:
			return Clause{Words: words[:2+r.IntN(2)]}
		case 1:
			return Clause{Words: []string{words[0][:1+r.IntN(2)]}, Prefix: true}
		case 2:
			return Clause{Words: []string{words[0], words[1], words[2][:1+r.IntN(2)]}[r.IntN(2):], Prefix: true}
		}
		return Clause{Words: words[:1]}
	}
	for range 1 + r.IntN(4) {
		q.clauses = append(q.clauses, clause())
	}
	for range r.IntN(2) * r.IntN(3) {
		q.not = append(q.not, clause())
	}
	for range r.IntN(3) {
		from := r.Int64N(m.end)
		q.hidden = append(q.hidden, Range{from, from + 1 + r.Int64N(20)})
	}
	q.hidden = Union(q.hidden)
	q.all, q.keep = r.IntN(2) == 0, 1+r.IntN(30)
	return q
}

// TestSearchIsThatOfThePlainTexts puts, hides, shows and merges at random and
// compares every answer, scores to the bit, with one computed from the texts.
func TestSearchIsThatOfThePlainTexts(t *testing.T) {
	for seed := range uint64(4) {
		r := rand.New(rand.NewPCG(seed, 1))
		m := newModel(t)
		for step := range 40 {
			var texts [][]string
			for range 1 + r.IntN(1+r.IntN(300)) {
				texts = append(texts, someWords(r, r.IntN(60)))
			}
			m.add(texts...)
			var victims []int64
			for p := range m.texts {
				if r.IntN(12) == 0 {
					victims = append(victims, p)
				}
				if len(victims) > 20 {
					break
				}
			}
			if len(victims) > 0 {
				m.setHidden(true, victims...)
			}
			for p := range m.all {
				if _, ok := m.texts[p]; !ok && r.IntN(3) == 0 {
					m.setHidden(false, p)
					break
				}
			}
			for range 8 {
				q := m.randomQuery(r)
				total, rows, stats := m.search(q)
				wantTotal, want, wantStats := m.expect(q)
				if total != wantTotal || fmt.Sprint(stats) != fmt.Sprint(wantStats) || !slices.Equal(rows, want) {
					t.Fatalf("seed %d, step %d, %+v: %d matches, %+v, %d rows; want %d, %+v, %d", seed, step, q, total, stats, len(rows), wantTotal, wantStats, len(want))
				}
			}
		}
		if n := len(m.segments); n > 40 {
			t.Errorf("%d segments after 60 puts", n)
		}
	}
}

// TestDamagedRowsAreErrors changes bytes of rows: an answer or an error that
// says that the index is damaged, no panic, no endless run.
func TestDamagedRowsAreErrors(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	m := newModel(t)
	m.cache = nil
	for range 3 {
		var texts [][]string
		for range 150 {
			texts = append(texts, someWords(r, 40))
		}
		m.add(texts...)
	}
	m.setHidden(true, 5, 6, 200)
	damaged := 0
	for range 1200 {
		row := r.Int64N(m.next)
		old := m.rows[row]
		bad := slices.Clone(old)
		switch r.IntN(4) {
		case 0:
			bad = bad[:r.IntN(len(bad))]
		case 1:
			bad = append(bad, byte(r.Uint32()))
		default:
			for range 1 + r.IntN(3) {
				bad[r.IntN(min(len(bad), 1+r.IntN(len(bad))))] ^= byte(1 << r.IntN(8))
			}
		}
		m.rows[row] = bad
		if m.tryAll(m.randomQuery(r)) {
			damaged++
		}
		m.rows[row] = old
	}
	if damaged < 300 {
		t.Errorf("only %d of 1200 damages were found", damaged)
	}
}

// tryAll runs everything that reads rows and reports whether any of it failed.
func (m *model) tryAll(q modelQuery) (failed bool) {
	check := func(err error) bool {
		if err != nil && !errors.Is(err, ErrFormat) {
			m.t.Fatalf("%v", err)
		}
		failed = failed || err != nil
		return err != nil
	}
	r, err := Open(slices.Concat(m.negative, m.segments), m.get, nil)
	if check(err) {
		return true
	}
	s := Search{All: q.all, Scorer: Statistics{Passages: 1000, Words: 40000, Holding: make([]Count, len(q.clauses))}.Scorer(), Keep: 10, Floor: new(Floor)}
	for _, c := range q.clauses {
		f, err := r.Find(context.Background(), c)
		if check(err) {
			return true
		}
		_, err = f.Count(nil, q.hidden)
		check(err)
		s.Clauses = append(s.Clauses, f)
	}
	_, _, err = s.Run(context.Background())
	check(err)
	_, err = r.Merge(0, func(int64, []byte) error { return nil }, func(int64, int64) error { return nil }, 0)
	check(err)
	return failed
}
