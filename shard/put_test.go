package shard

import (
	"testing"

	"arborist/document"
)

func TestWhatWasPutIsFoundAndProven(t *testing.T) {
	for _, shards := range []int{1, 4} {
		s := newShared(t, shards)
		e := entry(t, "test:a", "The quick brown fox.\n\nIt jumps over the lazy dog.")
		out := put1(t, s, e)
		if want := (document.Outcome{New: true}); out[0] != want {
			t.Errorf("outcome %+v, want %+v", out[0], want)
		}
		r, err := s.Search(t.Context(), Query{Text: "jumping foxes"})
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%+v", r)
		if len(r.Hits) == 0 || r.Hits[0].Root != e.Document.Root() || r.Hits[0].Location != e.Location {
			t.Errorf("hits %+v", r.Hits)
		}
		if n := mustCheck(t, s); n != 1 {
			t.Errorf("checked %d documents, want 1", n)
		}
	}
}
