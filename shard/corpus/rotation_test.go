package corpus

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"testing"

	"arborist/merkle"
	"arborist/proof"
)

// rotated rotates the key of an own corpus and returns the file.
func rotated(t *testing.T, s *Store, old, next *proof.Signer) []byte {
	t.Helper()
	ctx := context.Background()
	if _, err := s.Rotate(ctx, old.Name(), old, next); err != nil {
		t.Fatal(err)
	}
	file, err := s.Rotations(ctx, old.Name())
	if err != nil {
		t.Fatal(err)
	}
	return file
}

func checkClean(t *testing.T, s *Store) {
	t.Helper()
	if _, err := s.Check(context.Background(), func(p string) { t.Errorf("check: %s", p) }); err != nil {
		t.Fatal(err)
	}
}

// own makes an own corpus of n records.
func own(t *testing.T, signer *proof.Signer, n int) *Store {
	t.Helper()
	s := openTest(t, filepath.Join(t.TempDir(), "own.db"))
	if _, err := s.Create(context.Background(), "main", signer.Verifier()); err != nil {
		t.Fatal(err)
	}
	if n > 0 {
		if _, err := s.Append(context.Background(), signer.Name(), signer, numbered(n, 0)); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func TestBothKeysSignUntilTheOldOneIsGone(t *testing.T) {
	ctx := context.Background()
	for _, n := range []int{0, 5} {
		old, next, third := testSigner(t, "main", 1), testSigner(t, "main", 2), testSigner(t, "main", 3)
		s := own(t, old, n)
		file := rotated(t, s, old, next)
		if again := rotated(t, s, old, next); !bytes.Equal(again, file) {
			t.Error("the same rotation again is another one")
		}
		info, err := s.Lookup(ctx, "main")
		if err != nil || info.Key != next.Verifier().String() || len(info.Older) != 1 || info.Older[0] != old.Verifier().String() {
			t.Fatalf("%+v, %v", info, err)
		}
		opens := func(signers ...*proof.Signer) {
			t.Helper()
			note, err := s.Note(ctx, info.Origin)
			if err != nil {
				t.Fatal(err)
			}
			for _, v := range []*proof.Signer{old, next} {
				_, err := proof.OpenCheckpoint(note, v.Verifier())
				want := v == signers[0] || v == signers[len(signers)-1]
				if (err == nil) != want {
					t.Errorf("signed by %s: %v, want %v", v.Verifier(), err, want)
				}
			}
		}
		if n > 0 {
			opens(old, next)
		}
		if _, err := s.Append(ctx, info.Origin, old, numbered(2, 100)); !errors.Is(err, ErrKey) {
			t.Errorf("the old key alone: %v", err)
		}
		if _, err := s.Append(ctx, info.Origin, next, numbered(2, 100), third); !errors.Is(err, ErrKey) {
			t.Errorf("a third key beside: %v", err)
		}
		if _, err := s.Append(ctx, info.Origin, next, numbered(2, 100), old); err != nil {
			t.Fatal(err)
		}
		opens(old, next)
		if _, err := s.Append(ctx, info.Origin, next, numbered(2, 200)); err != nil {
			t.Fatal(err)
		}
		opens(next)
		if _, err := s.Rotate(ctx, info.Origin, next, old); !errors.Is(err, proof.ErrRotation) {
			t.Errorf("back to the old key: %v", err)
		}
		rotated(t, s, next, third)
		checkClean(t, s)
	}
}

func noteBy(t *testing.T, m *model, size uint64, signers ...*proof.Signer) []byte {
	t.Helper()
	note, err := proof.SignCheckpoint(m.head(size), signers...)
	if err != nil {
		t.Fatal(err)
	}
	return note
}

// The follower has 5 records; the key was changed at 8; the head has 12.
func TestFollowerMovesOnlyAlongAChainThatFitsItsLog(t *testing.T) {
	ctx := context.Background()
	m := newModelOf(t, "main", 12)
	old, next, thief := m.signer, testSigner(t, "main", 2), testSigner(t, "main", 3)
	rotation := func(size uint64, root merkle.Hash, a, b *proof.Signer) []byte {
		r, err := proof.MakeRotation(proof.Checkpoint{Origin: m.origin(), Size: size, Root: root}, a, b)
		if err != nil {
			t.Fatal(err)
		}
		return r.Note()
	}
	good := Handover{
		Rotations: rotation(8, m.root(8), old, next), Statement: []byte("two"), Note: noteBy(t, m, 12, next),
		Paths: map[uint64][]merkle.Hash{5: m.consistency(5, 12), 8: m.consistency(8, 12)},
	}
	for _, row := range []struct {
		name   string
		change func(h *Handover)
		want   error
	}{
		{"all is well", func(*Handover) {}, nil},
		{"root that is not in the log", func(h *Handover) { h.Rotations = rotation(8, merkle.Hash{1}, old, next) }, ErrMismatch},
		{"root that is not in the stored log", func(h *Handover) { h.Rotations = rotation(4, merkle.Hash{1}, old, next) }, ErrEquivocation},
		{"root that is not in the log, which is shown", func(h *Handover) {
			h.Rotations, h.Roots = rotation(8, merkle.Hash{1}, old, next), map[uint64]merkle.Hash{8: m.root(8)}
		}, ErrEquivocation},
		{"root that is not in the log, and a wrong one for it", func(h *Handover) {
			h.Rotations, h.Roots = rotation(8, merkle.Hash{1}, old, next), map[uint64]merkle.Hash{8: {2}}
		}, ErrMismatch},
		{"rotation above the head", func(h *Handover) { h.Rotations = rotation(13, merkle.Hash{1}, old, next) }, ErrMismatch},
		{"rotation at the head, other root", func(h *Handover) { h.Rotations = rotation(12, merkle.Hash{1}, old, next) }, ErrEquivocation},
		{"no path from the stored head", func(h *Handover) { h.Paths = map[uint64][]merkle.Hash{8: m.consistency(8, 12)} }, ErrMismatch},
		{"no path from the rotation", func(h *Handover) { h.Paths = map[uint64][]merkle.Hash{5: m.consistency(5, 12)} }, ErrMismatch},
		{"head signed by the old key alone", func(h *Handover) { h.Note = noteBy(t, m, 12, old) }, proof.ErrUnknownKey},
		{"head below the stored one", func(h *Handover) {
			h.Rotations, h.Note = rotation(3, m.root(3), old, next), noteBy(t, m, 4, next)
		}, ErrRollback},
		{"from another key", func(h *Handover) { h.Rotations = rotation(8, m.root(8), thief, next) }, ErrKey},
		{"no statement", func(h *Handover) { h.Statement = nil }, ErrKey},
		{"no rotation", func(h *Handover) { h.Rotations = nil }, proof.ErrFormat},
	} {
		s := openTest(t, filepath.Join(t.TempDir(), "follower.db"))
		if _, err := s.Follow(ctx, old.Verifier()); err != nil {
			t.Fatal(err)
		}
		if err := s.Certify(ctx, m.origin(), []byte("one")); err != nil {
			t.Fatal(err)
		}
		if _, err := s.ExtendFrom(ctx, m.origin(), m.note(5), m.from(5)); err != nil {
			t.Fatal(err)
		}
		h := good
		row.change(&h)
		err := s.AcceptRotations(ctx, m.origin(), h)
		if !errors.Is(err, row.want) || (err == nil) != (row.want == nil) {
			t.Errorf("%s: %v, want %v", row.name, err, row.want)
		}
		info, _ := s.Lookup(ctx, m.origin())
		if moved := info.Key == next.Verifier().String(); moved != (row.want == nil) {
			t.Errorf("%s: moved %v", row.name, moved)
		}
		if frozen := row.want == ErrEquivocation; info.Frozen != frozen {
			t.Errorf("%s: frozen %v", row.name, info.Frozen)
		} else if frozen {
			wantShown(t, s, m.origin(), proof.RotationHead, old.Verifier(), next.Verifier())
		}
		if row.want == nil {
			checkMoved(t, s, m, old, next, thief, h)
		}
		checkClean(t, s)
		s.Close()
	}
}

// checkMoved: until the records are there, what is served stays in the old
// key's terms; then all of it moves at once.
func checkMoved(t *testing.T, s *Store, m *model, old, next, thief *proof.Signer, h Handover) {
	t.Helper()
	ctx := context.Background()
	if b, err := s.Statement(ctx, m.origin()); err != nil || string(b) != "one" {
		t.Errorf("statement before the records: %q, %v", b, err)
	}
	if b, err := s.Rotations(ctx, m.origin()); !errors.Is(err, ErrNotFound) {
		t.Errorf("rotations before the records: %q, %v", b, err)
	}
	checkClean(t, s)
	if _, err := s.ExtendFrom(ctx, m.origin(), m.note(12), m.from(12)); !errors.Is(err, proof.ErrUnknownKey) {
		t.Errorf("a head of the old key alone: %v", err)
	}
	if _, err := s.ExtendFrom(ctx, m.origin(), h.Note, m.from(12)); err != nil {
		t.Fatal(err)
	}
	if b, err := s.Statement(ctx, m.origin()); err != nil || string(b) != "two" {
		t.Errorf("statement after the records: %q, %v", b, err)
	}
	if b, err := s.Rotations(ctx, m.origin()); err != nil || !bytes.Equal(b, h.Rotations) {
		t.Errorf("rotations after the records: %q, %v", b, err)
	}
	checkClean(t, s)
	// Another rotation of the old key: whoever holds it has signed two.
	r, err := proof.MakeRotation(m.head(8), old, thief)
	if err != nil {
		t.Fatal(err)
	}
	err = s.AcceptRotations(ctx, m.origin(), Handover{Rotations: r.Note(), Statement: []byte("three"), Note: noteBy(t, m, 12, thief)})
	if !errors.Is(err, ErrEquivocation) || !errors.Is(err, ErrFrozen) {
		t.Errorf("two rotations of one key: %v", err)
	}
	wantFork(t, s, m.origin(), next.Verifier(), old.Verifier(), thief.Verifier())
	if _, err := s.ExtendFrom(ctx, m.origin(), h.Note, m.from(12)); !errors.Is(err, ErrFrozen) {
		t.Errorf("a frozen corpus takes a head: %v", err)
	}
	if info, _ := s.Lookup(ctx, m.origin()); !info.Frozen || info.Key != next.Verifier().String() {
		t.Errorf("%+v", info)
	}
}

// wantFork checks that two rotations of one key are kept, and in a file that
// each of their keys verifies.
func wantFork(t *testing.T, s *Store, origin string, keys ...*proof.Verifier) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "evidence")
	if err := s.FileEvidence(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	kept, err := s.Evidence(t.Context(), origin)
	if err != nil || len(kept) != 1 || kept[0].Kind != proof.RotationFork {
		t.Fatalf("%d kept, %v", len(kept), err)
	}
	name, err := kept[0].FileName()
	if err != nil {
		t.Fatal(err)
	}
	e, err := proof.ParseEvidence([]byte(folder(t, dir)[name]))
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range keys {
		if f, err := e.Verify(v); err != nil || f.Replaced == nil {
			t.Errorf("%+v, %v", f, err)
		}
	}
}

// A follower that has moved to the new key and holds records under the old
// one's head meets a head of the new key that contradicts them.
func TestHeadsOfTheOldAndTheNewKeyThatContradictFreeze(t *testing.T) {
	ctx := context.Background()
	m := newModelOf(t, "main", 12)
	old, next := m.signer, testSigner(t, "main", 2)
	lie := m.fork(3, numbered(9, 200)...)
	r, err := proof.MakeRotation(m.head(8), old, next)
	if err != nil {
		t.Fatal(err)
	}
	for _, size := range []uint64{4, 5} { // below the stored head, and as large
		s := newStore(t)
		dir := filepath.Join(t.TempDir(), "evidence")
		if err := s.FileEvidence(ctx, dir); err != nil {
			t.Fatal(err)
		}
		followTo(t, s, m, 5)
		if err := s.AcceptRotations(ctx, m.origin(), Handover{
			Rotations: r.Note(), Statement: []byte("two"), Note: noteBy(t, m, 12, next),
			Paths: map[uint64][]merkle.Hash{5: m.consistency(5, 12), 8: m.consistency(8, 12)},
		}); err != nil {
			t.Fatal(err)
		}
		if _, err := s.RememberHead(ctx, m.origin(), noteBy(t, lie, size, next), nil); !errors.Is(err, ErrEquivocation) || errors.Is(err, ErrCorrupt) {
			t.Fatalf("at size %d: %v", size, err)
		}
		file, err := s.KnownRotations(ctx, m.origin())
		if err != nil {
			t.Fatal(err)
		}
		chain, err := proof.ParseRotations(file)
		if err != nil {
			t.Fatal(err)
		}
		files := folder(t, dir)
		for name, text := range files {
			e, err := proof.ParseEvidence([]byte(text))
			if err != nil {
				t.Fatal(name, err)
			}
			for _, v := range []*proof.Verifier{old.Verifier(), next.Verifier()} {
				if f, err := e.Verify(v, chain...); err != nil || f.Kind != proof.Equivocation {
					t.Errorf("%s: %+v, %v", name, f, err)
				}
			}
		}
		if len(files) != 1 {
			t.Errorf("%d files", len(files))
		}
		checkClean(t, s)
	}
}

func TestCheckFindsRotationsThatAreNotTheLogs(t *testing.T) {
	old, next := testSigner(t, "main", 1), testSigner(t, "main", 2)
	for name, change := range map[string]string{
		"cut":          "UPDATE rotation SET note = substr(note, 1, 100)",
		"missing":      "DELETE FROM rotation",
		"another root": "",
	} {
		path := filepath.Join(t.TempDir(), "own.db")
		s := openTest(t, path)
		if _, err := s.Create(t.Context(), "main", old.Verifier()); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Append(t.Context(), old.Name(), old, numbered(5, 0)); err != nil {
			t.Fatal(err)
		}
		rotated(t, s, old, next)
		// Only the old key's line is left, so that the chain is needed.
		if err := s.update(t.Context(), func(tx *sql.Tx) error {
			if change != "" {
				_, err := tx.Exec(change)
				if name == "missing" {
					note, _ := proof.SignCheckpoint(proof.Checkpoint{Origin: old.Name(), Size: 5, Root: merkle.Hash{1}}, old)
					_, err = tx.Exec("UPDATE corpus SET note = ?", note)
				}
				return err
			}
			r, err := proof.MakeRotation(proof.Checkpoint{Origin: old.Name(), Size: 5, Root: merkle.Hash{1}}, old, next)
			if err != nil {
				return err
			}
			_, err = tx.Exec("UPDATE rotation SET note = ?", r.Note())
			return err
		}); err != nil {
			t.Fatal(err)
		}
		found := 0
		if _, err := s.Check(t.Context(), func(string) { found++ }); err != nil || found == 0 {
			t.Errorf("%s: %d problems, %v", name, found, err)
		}
	}
}
