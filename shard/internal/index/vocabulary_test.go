package index

import (
	"fmt"
	"testing"
)

func TestEachTermKeepsItsNumber(t *testing.T) {
	var v vocabulary
	const terms = 5000
	for range 2 {
		for i := range terms {
			term := fmt.Sprintf("term%d", i)
			if n := v.number([]byte(term)); n != uint32(i) || string(v.term(n)) != term {
				t.Fatalf("%s has number %d, which is %q", term, n, v.term(n))
			}
		}
	}
	if v.len() != terms {
		t.Errorf("%d terms, want %d", v.len(), terms)
	}
}

func TestTermsOfOneHashAreApart(t *testing.T) {
	var v vocabulary
	v.grow()
	for i, term := range []string{"one", "two", "three"} {
		s := v.find(7, []byte(term))
		if s.number != 0 {
			t.Fatalf("%q is there before it was added", term)
		}
		v.text = append(v.text, term...)
		v.ends = append(v.ends, uint32(len(v.text)))
		*s = slot{7, uint32(i + 1)}
	}
	for i, term := range []string{"one", "two", "three"} {
		if s := v.find(7, []byte(term)); s.number != uint32(i+1) {
			t.Errorf("%q has number %d, want %d", term, s.number, i+1)
		}
	}
}
