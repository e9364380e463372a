package index

import (
	"math"
	"testing"
)

// However short passages are, a builder that is written when it says so holds
// each at its own number.
func TestBuilderIsFullBeforeItRunsOutOfPassages(t *testing.T) {
	m := newModel(t)
	var b Builder
	one, last := []uint32{b.Number([]byte("word"))}, []uint32{b.Number([]byte("word")), b.Number([]byte("last"))}
	passages := int64(0)
	for !b.Full() {
		if passages++; passages > maxPassagesHeld {
			t.Fatalf("not full with %d passages", passages)
		}
		if passages == maxPassagesHeld {
			b.Add(last)
		} else {
			b.Add(one)
		}
	}
	s, err := b.Write(m.put, 1, m.next)
	m.must(err)
	m.segments = append(m.segments, s)
	var words, lasts int64
	m.must(m.open().Each(t.Context(), func(term []byte, passage int64, position uint32) {
		switch {
		case string(term) == "word" && position == 0 && passage == words+1:
			words++
		case string(term) == "last" && position == 1 && passage == passages:
			lasts++
		default:
			t.Fatalf("%q at %d of passage %d", term, position, passage)
		}
	}))
	if words != passages || lasts != 1 {
		t.Errorf("%d and %d words in %d passages", words, lasts, passages)
	}
}

// TestPlanOfADamagedLevelEnds gives segments levels that no merge makes: a put
// asks for the plan before anything of the index was looked at.
func TestPlanOfADamagedLevelEnds(t *testing.T) {
	all := make([]Segment, mergeWidth)
	for i := range all {
		all[i].Level = math.MaxInt - i
	}
	if from := Plan(all); from != 0 {
		t.Errorf("all of one size from %d on", from)
	}
	all[0].Level = math.MinInt
	if from := Plan(all[:mergeWidth-1]); from != -1 {
		t.Errorf("too few, and yet from %d on", from)
	}
}
