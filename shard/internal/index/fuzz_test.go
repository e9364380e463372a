package index

import (
	"context"
	"errors"
	"testing"
)

// rowsOf makes the rows of a small index: a long list, short ones, counts.
func rowsOf(t testing.TB) (segments []Segment, rows map[int64][]byte) {
	m := newModel(t)
	var texts [][]string
	for range 200 {
		texts = append(texts, []string{"all", "have", "these"})
	}
	m.add(texts...)
	m.add([]string{"a", "few", "words", "all", "of", "them", "rare"})
	m.setHidden(true, 3)
	return append(m.negative, m.segments...), m.rows
}

// FuzzRows puts any bytes in the place of a row and runs everything that reads
// rows: an answer or ErrFormat, nothing else.
func FuzzRows(f *testing.F) {
	segments, rows := rowsOf(f)
	for row, data := range rows {
		f.Add(row, data)
	}
	f.Fuzz(func(t *testing.T, row int64, data []byte) {
		if _, ok := rows[row]; !ok || len(data) > 1<<16 {
			return
		}
		get := func(r int64) ([]byte, error) {
			if r == row {
				return data, nil
			}
			if old, ok := rows[r]; ok {
				return old, nil
			}
			return nil, ErrFormat
		}
		check := func(err error) bool {
			if err != nil && !errors.Is(err, ErrFormat) {
				t.Fatal(err)
			}
			return err != nil
		}
		r, err := Open(segments, get, nil)
		if check(err) {
			return
		}
		s := Search{Scorer: Statistics{Passages: 201, Words: 600, Holding: make([]Count, 4)}.Scorer(), Keep: 10, Floor: new(Floor)}
		for _, c := range []Clause{{Words: []string{"all"}}, {Words: []string{"these"}}, {Words: []string{"have", "these"}}, {Words: []string{"r"}, Prefix: true}} {
			m, err := r.Find(context.Background(), c)
			if check(err) {
				return
			}
			_, err = m.Count([]Range{{3, 4}}, []Range{{7, 20}})
			check(err)
			s.Clauses = append(s.Clauses, m)
		}
		for _, s.All = range []bool{false, true} {
			_, _, err = s.Run(context.Background())
			check(err)
		}
		check(r.Each(context.Background(), func([]byte, int64, uint32) {}))
		check(r.EachCount(context.Background(), func([]byte, Count) {}))
		_, err = r.Merge(0, func(int64, []byte) error { return nil }, func(int64, int64) error { return nil }, 0)
		check(err)
	})
}
