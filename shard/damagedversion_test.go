package shard

import (
	"fmt"
	"path/filepath"
	"testing"

	"arborist/document"
)

// damageText makes the text of a stored document unreadable, and lets the set forget
// that it was sound.
func damageText(t *testing.T, s *Shared, root document.Root) *Shared {
	t.Helper()
	home := s.home(root).path
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	tamper(t, home, fmt.Sprintf("UPDATE texts SET data = zeroblob(9) WHERE id = (SELECT id FROM documents WHERE root = x'%x')", root[:]))
	s, err := OpenShared(filepath.Dir(home))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// sameCounts fails where the words of two sets weigh differently.
func sameCounts(t *testing.T, a, b *Shared, words ...string) {
	t.Helper()
	for _, word := range words {
		var scores [2][]float64
		for i, s := range []*Shared{a, b} {
			r, err := s.Search(t.Context(), Query{Text: word, Limit: 100})
			if err != nil {
				t.Fatal(err)
			}
			for _, h := range r.Hits {
				scores[i] = append(scores[i], h.Score)
			}
		}
		if fmt.Sprint(scores[0]) != fmt.Sprint(scores[1]) {
			t.Errorf("%q: scores %v, want %v", word, scores[0], scores[1])
		}
	}
}

func TestADamagedVersionIsSupersededAndCountsNoMore(t *testing.T) {
	for _, shards := range []int{1, 4} {
		old, other := entry(t, "test:x", "alpha beta gamma"), entry(t, "test:y", "beta gamma delta")
		fresh := entry(t, "test:x", "gamma delta epsilon")
		whole := newShared(t, shards)
		put1(t, whole, old, other)
		put1(t, whole, fresh)

		s := newShared(t, shards)
		put1(t, s, old, other)
		s = damageText(t, s, old.Document.Root())
		if out := put1(t, s, fresh)[0]; !out.New || out.Superseded != old.Document.Root() {
			t.Errorf("%d shards: outcome %+v", shards, out)
		}
		if current, n := currentRoot(t, s, "test:x"); n != 2 || len(current) != 1 || current[0] != fresh.Document.Root() {
			t.Errorf("%d shards: %v of %d versions are current", shards, current, n)
		}
		sameCounts(t, s, whole, "alpha", "beta", "gamma", "delta", "epsilon")
		if len(s.Damage()) == 0 {
			t.Errorf("%d shards: the damage was met and is not told of", shards)
		}
	}
}

func TestADamagedDocumentCanBeWithdrawn(t *testing.T) {
	s := newShared(t, 4)
	old := entry(t, "test:x", "alpha beta gamma")
	put1(t, s, old, entry(t, "test:y", "beta gamma delta"))
	s = damageText(t, s, old.Document.Root())
	if err := s.Withdraw(t.Context(), "", "test:x"); err != nil {
		t.Fatal(err)
	}
	if hits := found(t, s, "alpha"); len(hits) > 0 {
		t.Errorf("it is still found: %v", hits)
	}
}

func TestAVersionThatComesBackReplacesItsDamagedText(t *testing.T) {
	for _, shards := range []int{1, 4} {
		a, b, other := entry(t, "test:x", "alpha beta gamma"), entry(t, "test:x", "beta epsilon"), entry(t, "test:y", "beta gamma delta")
		whole, s := newShared(t, shards), newShared(t, shards)
		for _, e := range []document.Entry{a, b, other} {
			put1(t, whole, e)
			put1(t, s, e)
		}
		put1(t, whole, a)
		s = damageText(t, s, a.Document.Root())
		put1(t, s, a)
		if d, err := s.Document(t.Context(), a.Document.Root()); err != nil || string(d.Text()) != string(a.Document.Text()) {
			t.Errorf("%d shards: document %v, %v", shards, d, err)
		}
		sameCounts(t, s, whole, "alpha", "beta", "gamma", "epsilon")
		if n := mustCheck(t, s); n != 3 {
			t.Errorf("%d shards: checked %d documents, want 3", shards, n)
		}
	}
}
