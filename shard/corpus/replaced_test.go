package corpus

import (
	"errors"
	"path/filepath"
	"testing"

	"arborist/merkle"
	"arborist/proof"
)

// wantShown demands that exactly one piece of evidence is kept, of this kind,
// and that its file shows it to whoever has one of the keys and the rotations
// that the store gives.
func wantShown(t *testing.T, s *Store, origin string, kind proof.EvidenceKind, keys ...*proof.Verifier) proof.Finding {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "evidence")
	if err := s.FileEvidence(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	kept, err := s.Evidence(t.Context(), origin)
	if err != nil || len(kept) != 1 || kept[0].Kind != kind {
		t.Fatalf("kept %+v, %v; want one of the kind %s", kept, err, kind)
	}
	name, err := kept[0].FileName()
	if err != nil {
		t.Fatal(err)
	}
	e, err := proof.ParseEvidence([]byte(folder(t, dir)[name]))
	if err != nil {
		t.Fatal(err)
	}
	var chain []proof.Rotation
	if file, err := s.KnownRotations(t.Context(), origin); err == nil {
		if chain, err = proof.ParseRotations(file); err != nil {
			t.Fatal(err)
		}
	}
	var f proof.Finding
	for _, v := range keys {
		if f, err = e.Verify(v, chain...); err != nil || f.Kind != kind {
			t.Fatalf("%s: %+v, %v", kind, f, err)
		}
	}
	return f
}

// moved makes a follower of m that has its records up to size and has moved to
// the next key, which took over at 8; the last head known is of 12.
func moved(t *testing.T, m *model, size uint64, next *proof.Signer) *Store {
	t.Helper()
	s := newStore(t)
	followTo(t, s, m, min(size, 8))
	r, err := proof.MakeRotation(m.head(8), m.signer, next)
	if err != nil {
		t.Fatal(err)
	}
	h := Handover{Rotations: r.Note(), Statement: []byte("two"), Note: noteBy(t, m, 12, next), Paths: map[uint64][]merkle.Hash{}}
	for _, n := range []uint64{5, 8} {
		h.Paths[n] = m.consistency(n, 12)
	}
	if err := s.AcceptRotations(t.Context(), m.origin(), h); err != nil {
		t.Fatal(err)
	}
	if size > 8 {
		if _, err := s.ExtendFrom(t.Context(), m.origin(), noteBy(t, m, size, next), m.from(size)); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// Whoever has the key that was replaced can sign what he likes: a follower that
// has moved refuses it, keeps what shows something, and goes on.
func TestAReplacedKeyIsRefusedAndKept(t *testing.T) {
	m := newModelOf(t, "main", 16)
	old, next := m.signer, testSigner(t, "main", 2)
	lie := m.fork(4, numbered(12, 200)...)
	for _, row := range []struct {
		name   string
		stored uint64
		note   []byte
		kind   proof.EvidenceKind // empty: nothing is kept
		is     error
	}{
		{"a head of the time before", 12, m.note(5), proof.Rollback, ErrRollback},
		{"a head of the time before, records missing", 5, m.note(7), proof.Rollback, ErrRollback},
		{"the empty log", 12, m.note(0), proof.Rollback, ErrRollback},
		{"a head of the time before, another history", 12, lie.note(6), proof.ReplacedKey, ErrReplaced},
		{"the same, while the stored head is the old key's", 5, lie.note(5), proof.Equivocation, ErrReplaced},
		{"the head where the key was replaced, another history", 12, lie.note(8), proof.ReplacedKey, ErrReplaced},
		{"a head of after that, another history", 12, lie.note(10), proof.ReplacedKey, ErrReplaced},
		{"a head as large as the last, another history", 12, lie.note(12), proof.ReplacedKey, ErrReplaced},
		{"the same, records missing", 5, lie.note(12), proof.ReplacedKey, ErrReplaced},
		{"a head of after that, the same history", 12, m.note(10), proof.ReplacedKey, ErrRollback},
		{"a larger head", 12, lie.note(14), proof.ReplacedKey, ErrRollback},
		{"the last head", 12, m.note(12), "", ErrRollback},
		{"a key that the corpus never had", 12, noteBy(t, lie, 10, testSigner(t, "main", 9)), "", proof.ErrUnknownKey},
	} {
		s := moved(t, m, row.stored, next)
		for range 2 { // the second time it is nothing new
			_, err := s.RememberHead(t.Context(), m.origin(), row.note, nil)
			if !errors.Is(err, row.is) || !errors.Is(err, proof.ErrUnknownKey) {
				t.Errorf("%s: %v", row.name, err)
			}
		}
		if row.kind == "" {
			if kept, err := s.Evidence(t.Context(), m.origin()); err != nil || len(kept) != 0 {
				t.Errorf("%s: kept %+v, %v", row.name, kept, err)
			}
		} else {
			f := wantShown(t, s, m.origin(), row.kind, old.Verifier(), next.Verifier())
			if contradicts := !f.Root.IsZero(); contradicts != (row.is == ErrReplaced) {
				t.Errorf("%s: %s", row.name, f.Statement())
			}
		}
		checkClean(t, s)
		// The corpus goes on.
		if _, err := s.ExtendFrom(t.Context(), m.origin(), noteBy(t, m, 16, next), m.from(16)); err != nil {
			t.Errorf("%s: then %v", row.name, err)
		}
		s.Close()
	}
}

// A head above the last one known shows itself with the tree of who serves it.
func TestAReplacedKeyThatGoesOnIsShownByItsTree(t *testing.T) {
	m := newModelOf(t, "main", 16)
	next := testSigner(t, "main", 2)
	lie := m.fork(10, numbered(6, 200)...)
	s := moved(t, m, 12, next)
	for name, row := range map[string]struct {
		note []byte
		root merkle.Hash
		path []merkle.Hash
	}{
		"of the known history": {m.note(15), m.root(12), m.consistency(12, 15)},
		"another path":         {lie.note(15), lie.root(12), m.consistency(12, 15)},
		"another root":         {lie.note(15), merkle.Hash{1}, lie.consistency(12, 15)},
		"no root":              {lie.note(15), merkle.Hash{}, lie.consistency(12, 15)},
		"by the new key":       {noteBy(t, lie, 15, next), lie.root(12), lie.consistency(12, 15)},
	} {
		if err := s.ReportReplaced(t.Context(), m.origin(), row.note, row.root, row.path); !errors.Is(err, ErrMismatch) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := s.ReportReplaced(t.Context(), m.origin(), lie.note(15), lie.root(12), lie.consistency(12, 15)); err != nil {
		t.Fatal(err)
	}
	wantShown(t, s, m.origin(), proof.ReplacedKey, m.signer.Verifier(), next.Verifier())
	if info, _ := s.Lookup(t.Context(), m.origin()); info.Frozen {
		t.Error("a replaced key has frozen the corpus")
	}
}

// A thief can sign any number of heads: so many are kept, the latest.
func TestHeadsOfAReplacedKeyAreBounded(t *testing.T) {
	m := newModelOf(t, "main", 16)
	next := testSigner(t, "main", 2)
	s := moved(t, m, 12, next)
	for i := range byte(2 * maxRollbacks) {
		c := m.head(6)
		c.Root[0] ^= i + 1
		note, err := proof.SignCheckpoint(c, m.signer)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.RememberHead(t.Context(), m.origin(), note, nil); !errors.Is(err, ErrReplaced) {
			t.Fatal(err)
		}
	}
	kept, err := s.Evidence(t.Context(), m.origin())
	if err != nil || len(kept) != maxRollbacks {
		t.Errorf("%d kept, %v", len(kept), err)
	}
}

// A follower of what the old key signed learns that the corpus was handed over
// in another history: it shows that, and takes no more.
func TestAFollowerOfAForkByTheOldKeyIsFrozen(t *testing.T) {
	truth := newModelOf(t, "main", 16)
	old, next := truth.signer, testSigner(t, "main", 2)
	for _, row := range []struct {
		name   string
		fork   int // the log here parts from the truth there
		stored uint64
		head   uint64 // of the truth, by the next key; the key was changed at 8
		kind   proof.EvidenceKind
	}{
		{"behind the change", 3, 6, 12, proof.Equivocation},
		{"where the key was changed", 3, 8, 12, proof.RotationHead},
		{"beyond the change, parted before it", 3, 10, 12, proof.RotationHead},
		{"beyond the change, parted after it", 9, 10, 12, proof.ReplacedKey},
		{"as large as the head", 9, 12, 12, proof.ReplacedKey},
		{"beyond the head", 9, 14, 12, proof.ReplacedKey},
		{"beyond the head, parted before the change", 3, 14, 12, proof.RotationHead},
	} {
		lie := truth.fork(row.fork)
		for _, r := range numbered(16, 200) {
			lie.write(r)
		}
		s := newStore(t)
		followTo(t, s, lie, row.stored)
		r, err := proof.MakeRotation(truth.head(8), old, next)
		if err != nil {
			t.Fatal(err)
		}
		h := Handover{Rotations: r.Note(), Statement: []byte("two"), Note: noteBy(t, truth, row.head, next),
			Paths: map[uint64][]merkle.Hash{}, Roots: map[uint64]merkle.Hash{}}
		for _, n := range []uint64{row.stored, 8} {
			if n < row.head {
				h.Paths[n], h.Roots[n] = truth.consistency(n, row.head), truth.root(n)
			}
		}
		if err := s.AcceptRotations(t.Context(), truth.origin(), h); !errors.Is(err, ErrEquivocation) || !errors.Is(err, ErrFrozen) {
			t.Errorf("%s: %v", row.name, err)
		}
		wantShown(t, s, truth.origin(), row.kind, old.Verifier(), next.Verifier())
		info, err := s.Lookup(t.Context(), truth.origin())
		if err != nil || !info.Frozen || info.Key != old.Verifier().String() || len(info.Older) != 0 {
			t.Errorf("%s: %+v, %v", row.name, info, err)
		}
		checkClean(t, s)
		s.Close()
	}
}

// An earlier version's evidence is there under its new name.
func TestEvidenceOfSchema3IsBroughtForward(t *testing.T) {
	m := newModelOf(t, "main", 9)
	path := filepath.Join(t.TempDir(), "corpora.db")
	s := openTest(t, path)
	followTo(t, s, m, 9)
	if _, err := s.RememberHead(t.Context(), m.origin(), m.note(4), nil); !errors.Is(err, ErrRollback) {
		t.Fatal(err)
	}
	s.Close()
	db := raw(t, path)
	execute(t, db, "DROP TABLE salvaged", "DROP TABLE filter", "ALTER TABLE evidence RENAME COLUMN kind TO equivocation", "PRAGMA user_version = 3")
	db.Close()
	s = openTest(t, path)
	wantShown(t, s, m.origin(), proof.Rollback, m.signer.Verifier())
	checkClean(t, s)
}
