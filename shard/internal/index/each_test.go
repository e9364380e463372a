package index

import (
	"context"
	"fmt"
	"hash/maphash"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestWhatEachAcceptsAnswersAsBefore changes single bits of every row: what
// Each and EachCount then read as before, searches have to answer as before. A
// check of a file, a stranger's above all, rests on it.
func TestWhatEachAcceptsAnswersAsBefore(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	m := newModel(t)
	m.cache = nil
	for range 2 {
		var texts [][]string
		for range 60 {
			texts = append(texts, someWords(r, 12))
		}
		m.add(texts...)
	}
	m.setHidden(true, 5, 6, 100)
	terms := make(map[string]bool)
	for _, words := range m.all {
		for _, w := range words {
			terms[w] = true
		}
	}
	all := slices.Sorted(maps.Keys(terms))
	seed := maphash.MakeSeed()
	read := m.read(seed)
	answers, err := m.answers(all)
	if err != nil {
		t.Fatal(err)
	}
	accepted := 0
	for _, row := range slices.Sorted(maps.Keys(m.rows)) {
		for i, old := range m.rows[row] {
			m.rows[row][i] ^= 1 << r.IntN(8)
			if m.read(seed) == read {
				accepted++
				if got, err := m.answers(all); got != answers {
					t.Errorf("row %d of %d bytes, byte %d is %#x in place of %#x: read as before, and answers differ: %v", row, len(m.rows[row]), i, m.rows[row][i], old, err)
				}
			}
			m.rows[row][i] = old
		}
	}
	t.Logf("%d bytes with another bit are read as before", accepted)
}

// read returns a sum of what a check reads, or its error.
func (m *model) read(seed maphash.Seed) string {
	r, err := Open(slices.Concat(m.negative, m.segments), m.get, nil)
	if err != nil {
		return err.Error()
	}
	sum, lengths := uint64(0), ""
	err = r.Each(context.Background(), func(term []byte, passage int64, position uint32) {
		sum += maphash.Comparable(seed, [3]any{string(term), passage, position})
	})
	if err != nil {
		return err.Error()
	}
	err = r.EachCount(context.Background(), func(term []byte, n Count) { sum += maphash.Comparable(seed, [3]any{string(term), n.Passages, n.Times}) })
	if err != nil {
		return err.Error()
	}
	for p := range m.end {
		n, ok := r.Length(p)
		lengths += fmt.Sprint(n, ok)
	}
	return fmt.Sprint(sum, lengths)
}

// answers returns what searches for each term, and for some together, answer.
func (m *model) answers(terms []string) (all string, err error) {
	r, err := Open(slices.Concat(m.negative, m.segments), m.get, nil)
	if err != nil {
		return "", err
	}
	ctx := context.Background()
	for i, term := range terms {
		clauses := []Clause{{Words: []string{term}}}
		if i%8 == 0 {
			clauses = append(clauses, Clause{Words: []string{terms[0]}}, Clause{Words: []string{term, terms[1]}}, Clause{Words: []string{term}, Prefix: true})
		}
		s := Search{Hidden: m.dead, Keep: 10, Floor: new(Floor)}
		stats := Statistics{Passages: 120, Words: 1440}
		for _, c := range clauses {
			f, err := r.Find(ctx, c)
			if err != nil {
				return "", err
			}
			n, err := f.Count(m.dead, nil)
			if err != nil {
				return "", err
			}
			s.Clauses, stats.Holding = append(s.Clauses, f), append(stats.Holding, n)
		}
		s.Scorer = stats.Scorer()
		total, rows, err := s.Run(ctx)
		if err != nil {
			return "", err
		}
		all += fmt.Sprintln(term, total, stats.Holding, rows)
	}
	return all, nil
}
