package index

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// thick makes passages of which some have frequent words, so that lists have
// several parts and windows, written as bits and as differences.
func thick(r *rand.Rand, n int) [][]string {
	texts := make([][]string, n)
	for i := range texts {
		for w, share := range []float64{0.9, 0.5, 0.05, 0.008, 0.0005} {
			// Words come in runs, so that blocks differ in what they can give.
			if r.Float64() < share*float64(1+i/512%3)/2 {
				for range 1 + r.IntN(1+r.IntN(3)) {
					texts[i] = append(texts[i], fmt.Sprintf("w%d", w))
				}
			}
		}
		for range r.IntN(4) {
			texts[i] = append(texts[i], "filler")
		}
	}
	return texts
}

// TestAnyOfFrequentWordsIsThatOfThePlainTexts is TestSearchIsThatOfThePlainTexts
// with lists so long that most of them is not scored.
func TestAnyOfFrequentWordsIsThatOfThePlainTexts(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	m := newModel(t)
	m.add(thick(r, 13000)...)
	m.add(thick(r, 700)...)
	m.setHidden(true, 5, 4097, 4098, 12000)
	if len(m.segments) != 2 {
		t.Fatalf("%d segments, want a long one and a short one", len(m.segments))
	}
	for _, words := range [][]string{{"w0", "w4"}, {"w4", "w1", "w0"}, {"w0", "w1", "w2", "w3"}, {"w3", "w0"}, {"w0"}, {"w2", "none", "w1"}, {"w4", "w3"}} {
		for _, keep := range []int{1, 10, 300} {
			q := modelQuery{keep: keep, hidden: []Range{{4000, 4200}, {9000, 9001}}}
			for _, w := range words {
				q.clauses = append(q.clauses, Clause{Words: []string{w}})
			}
			if keep == 10 {
				q.clauses = append(q.clauses, Clause{Words: []string{"w1", "w2"}})
				q.not = []Clause{{Words: []string{"w3"}}}
			}
			total, rows, stats := m.search(q)
			wantTotal, want, wantStats := m.expect(q)
			if total != wantTotal || fmt.Sprint(stats) != fmt.Sprint(wantStats) || !slices.Equal(rows, want) {
				t.Errorf("%v, keep %d: %d matches, %+v, %d rows; want %d, %+v, %d", words, keep, total, stats, len(rows), wantTotal, wantStats, len(want))
			}
		}
	}
}

// TestABlockThatClaimsTooLittleIsFound writes a list with a limit that its
// postings are beyond: searches would leave them out.
func TestABlockThatClaimsTooLittleIsFound(t *testing.T) {
	for claim, want := range map[uint32]error{5: nil, 6: ErrFormat} {
		m := newModel(t)
		w := newSegmentWriter(m.put, 0)
		list := &encoder{lengths: slices.Repeat([]byte{5, 0}, 300)}
		for doc := range uint32(300) {
			list.pos = append(list.pos, 0)
			list.posting(doc, 1)
		}
		list.endBlock()
		list.blocks[1].minLength = claim
		m.must(w.add([]byte("word"), list))
		rows, err := w.close(list.lengths)
		m.must(err)
		r, err := Open([]Segment{{First: 1, Passages: 300, Rows: rows}}, m.get, nil)
		m.must(err)
		if err := r.Each(context.Background(), func([]byte, int64, uint32) {}); !errors.Is(err, want) {
			t.Errorf("words of a passage at least %d, it has 5: %v, want %v", claim, err, want)
		}
	}
}
