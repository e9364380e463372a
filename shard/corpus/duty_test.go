package corpus

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"arborist/proof"
)

// newWitness returns a store that follows the model to n records as its
// witness, and the witness.
func newWitness(t *testing.T, m *model, n uint64) (*Store, *proof.CosignSigner) {
	t.Helper()
	s, w := newStore(t), testWitness(t, "me")
	s.now = func() time.Time { return time.Unix(1700000000, 0) }
	s.SetWitnesses(nil, w)
	followTo(t, s, m, n)
	if err := s.Witness(context.Background(), m.origin(), true); err != nil {
		t.Fatal(err)
	}
	return s, w
}

func TestAWitnessCosignsWhatItAccepts(t *testing.T) {
	ctx := context.Background()
	m := newModelOf(t, "main", 300)
	s := newStore(t)
	followTo(t, s, m, 50)
	if err := s.Witness(ctx, m.origin(), true); !errors.Is(err, ErrNoCosigner) {
		t.Errorf("without a key: %v", err)
	}
	s, w := newWitness(t, m, 100)
	checkSigners(t, s, m, "me") // the stored head at once
	followTo(t, s, m, 200)
	checkSigners(t, s, m, "me")
	got, err := s.Cosignatures(ctx, m.origin())
	if err != nil || len(got) != 1 || got[0].At.Unix() != 1700000000 {
		t.Errorf("%+v, %v", got, err)
	}
	// The same head again keeps the first cosignature.
	before, _ := s.Note(ctx, m.origin())
	s.now = func() time.Time { return time.Unix(1800000000, 0) }
	followTo(t, s, m, 200)
	if after, _ := s.Note(ctx, m.origin()); !bytes.Equal(before, after) {
		t.Errorf("cosigned again:\n%s", after)
	}
	part, err := s.Prove(ctx, m.origin(), m.recs[7].Header.Root)
	if err != nil || !bytes.Equal(part.Note, before) {
		t.Errorf("the proof has another note: %v", err)
	}
	if found, err := proof.Cosignatures(part.Note, []*proof.Cosigner{w.Cosigner()}); err != nil || len(found) != 1 {
		t.Errorf("%+v, %v", found, err)
	}
	if err := s.Witness(ctx, m.origin(), false); err != nil {
		t.Fatal(err)
	}
	checkSigners(t, s, m, "me") // what was given stays
	followTo(t, s, m, 300)
	checkSigners(t, s, m)
	m.checkLog(t, s, 300)
}

// TestAWitnessNeverCosigns lists what a cosignature would be a lie for.
func TestAWitnessNeverCosigns(t *testing.T) {
	ctx := context.Background()
	m := newModelOf(t, "main", 300)
	fork := m.fork(60, numbered(240, 5000)...)
	t.Run("a head only remembered, nor the stored one below it", func(t *testing.T) {
		s, _ := newWitness(t, m, 100)
		if err := s.Witness(ctx, m.origin(), false); err != nil {
			t.Fatal(err)
		}
		followTo(t, s, m, 150)
		if _, err := s.RememberHead(ctx, m.origin(), m.note(300), m.consistency(150, 300)); err != nil {
			t.Fatal(err)
		}
		if err := s.Witness(ctx, m.origin(), true); err != nil {
			t.Fatal(err)
		}
		if _, err := s.RememberHead(ctx, m.origin(), m.note(300), nil); err != nil {
			t.Fatal(err)
		}
		_, seen, err := s.Head(ctx, m.origin())
		if err != nil {
			t.Fatal(err)
		}
		checkLines(t, seen, m.origin())
		checkSigners(t, s, m)
		if err := s.CosignHeads(ctx); err != nil {
			t.Fatal(err)
		}
		checkSigners(t, s, m)
		followTo(t, s, m, 300) // its records came
		checkSigners(t, s, m, "me")
	})
	t.Run("a frozen corpus", func(t *testing.T) {
		s, w := newWitness(t, m, 100)
		_, err := s.Extend(ctx, m.origin(), fork.note(100), nil)
		if !errors.Is(err, ErrEquivocation) {
			t.Fatal(err)
		}
		if err := s.Witness(ctx, m.origin(), true); !errors.Is(err, ErrFrozen) {
			t.Errorf("witness: %v", err)
		}
		if _, err := s.AddCosignatures(ctx, m.origin(), cosigned(t, m.note(100), 9, w)); !errors.Is(err, ErrFrozen) {
			t.Errorf("add: %v", err)
		}
		other := testWitness(t, "other")
		s.SetWitnesses(nil, other)
		if err := s.CosignHeads(ctx); err != nil {
			t.Fatal(err)
		}
		checkSigners(t, s, m, "me")
	})
	t.Run("an older head", func(t *testing.T) {
		s, _ := newWitness(t, m, 100)
		before, _ := s.Note(ctx, m.origin())
		if _, err := s.Extend(ctx, m.origin(), m.note(90), nil); !errors.Is(err, ErrRollback) {
			t.Errorf("%v", err)
		}
		if after, _ := s.Note(ctx, m.origin()); !bytes.Equal(before, after) {
			t.Error("the head changed")
		}
	})
	t.Run("a head that does not contain what it cosigned", func(t *testing.T) {
		for name, text := range map[string][]byte{"another history": fork.head(100).Text(), "a greater head": m.head(300).Text()} {
			s, _ := newWitness(t, m, 100)
			if _, err := s.write.Exec("UPDATE witness SET cosigned = ?", text); err != nil {
				t.Fatal(err)
			}
			if _, err := s.Extend(ctx, m.origin(), m.note(200), m.lines[100:200]); !errors.Is(err, ErrCorrupt) {
				t.Errorf("%s: %v", name, err)
			}
			if _, err := s.write.Exec("UPDATE witness SET cosigned = ?", m.head(100).Text()); err != nil { // a check sees it too
				t.Fatal(err)
			}
			m.checkLog(t, s, 100)
		}
	})
	t.Run("a log of its own", func(t *testing.T) {
		s, own := newOwn(t)
		s.SetWitnesses(nil, testWitness(t, "me"))
		if err := s.Witness(ctx, own.origin(), true); !errors.Is(err, ErrOwn) {
			t.Errorf("%v", err)
		}
	})
}

// A witness whose key could not be read follows on, and makes up for it.
func TestMissingCosignatureIsMadeUpFor(t *testing.T) {
	ctx := context.Background()
	m := newModelOf(t, "main", 300)
	for name, repair := range map[string]func(s *Store) error{
		"when the store is opened": func(s *Store) error { return s.CosignHeads(ctx) },
		"at the next sync": func(s *Store) error {
			_, err := s.RememberHead(ctx, m.origin(), m.note(200), nil)
			return err
		},
	} {
		s, w := newWitness(t, m, 100)
		s.SetWitnesses(nil, nil)
		followTo(t, s, m, 200)
		checkSigners(t, s, m)
		s.SetWitnesses(nil, w)
		if err := repair(s); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		checkSigners(t, s, m, "me")
	}
}

// An earlier version kept notes as they came; evidence stays so.
func TestSchema1IsBroughtForward(t *testing.T) {
	ctx := context.Background()
	m := newModelOf(t, "main", 300)
	w := testWitness(t, "w")
	path := filepath.Join(t.TempDir(), "corpora.db")
	s := openTest(t, path)
	followTo(t, s, m, 100)
	if _, err := s.RememberHead(ctx, m.origin(), m.note(300), m.consistency(100, 300)); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Extend(ctx, m.origin(), spoiled(m.note(90), w), nil); !errors.Is(err, ErrRollback) {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	db := raw(t, path)
	if _, err := db.Exec("UPDATE corpus SET note = ?, seen = ?", spoiled(cosigned(t, m.note(100), 5, w), w), spoiled(m.note(300), w)); err != nil {
		t.Fatal(err)
	}
	execute(t, db, "DROP TABLE salvaged", "DROP TABLE filter", "DROP TABLE witness", "DROP TABLE rotation", "ALTER TABLE evidence RENAME COLUMN kind TO equivocation", "PRAGMA user_version = 1")
	db.Close()
	for range 2 {
		s = openTest(t, path)
		note, err := s.Note(ctx, m.origin())
		if err != nil || !bytes.Equal(note, m.note(100)) {
			t.Fatalf("note %s, %v", note, err)
		}
		_, seen, err := s.Head(ctx, m.origin())
		if err != nil || !bytes.Equal(seen, m.note(300)) {
			t.Fatalf("seen %s, %v", seen, err)
		}
		kept, err := s.Evidence(ctx, m.origin())
		if err != nil || !slices.ContainsFunc(kept, func(e Evidence) bool { return bytes.Equal(e.Older, spoiled(m.note(90), w)) }) {
			t.Errorf("evidence %v, %v", kept, err)
		}
		checkStore(t, s)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	db = raw(t, path)
	execute(t, db, "DROP TABLE salvaged", "DROP TABLE filter", "DROP TABLE witness", "DROP TABLE rotation", "CREATE VIEW witness AS SELECT 1", "PRAGMA user_version = 1")
	db.Close()
	if _, err := Open(path); err == nil {
		t.Error("a file with a view in its schema was brought forward")
	}
}

// AddCosignatures takes lines for the stored head and nothing else.
func TestAddCosignaturesTakesOnlyTheStoredHead(t *testing.T) {
	ctx := context.Background()
	m := newModelOf(t, "main", 300)
	w := testWitness(t, "w1")
	s := newStore(t)
	s.SetWitnesses([]*proof.Cosigner{w.Cosigner()}, nil)
	if _, err := s.AddCosignatures(ctx, m.origin(), m.note(1)); !errors.Is(err, ErrNotFound) {
		t.Errorf("no corpus: %v", err)
	}
	followTo(t, s, m, 100)
	steps := []struct {
		name  string
		note  []byte
		added int
		want  error
	}{
		{"a later head", cosigned(t, m.note(200), 5, w), 0, ErrMismatch},
		{"an earlier head", cosigned(t, m.note(90), 5, w), 0, ErrMismatch},
		{"not a note", []byte("x"), 0, proof.ErrFormat},
		{"new", cosigned(t, m.note(100), 5, w), 1, nil},
		{"again", cosigned(t, m.note(100), 5, w), 0, nil},
		{"an earlier one of the same witness", cosigned(t, m.note(100), 4, w), 0, nil},
		{"a later one of the same witness", cosigned(t, m.note(100), 6, w), 1, nil},
		{"none", m.note(100), 0, nil},
	}
	for _, step := range steps {
		added, err := s.AddCosignatures(ctx, m.origin(), step.note)
		if added != step.added || !errors.Is(err, step.want) {
			t.Errorf("%s: %d, %v; want %d, %v", step.name, added, err, step.added, step.want)
		}
	}
	if got, err := s.Cosignatures(ctx, m.origin()); err != nil || fmt.Sprint(got) != fmt.Sprint([]proof.Cosignature{{Name: "w1", At: time.Unix(6, 0).UTC()}}) {
		t.Errorf("%v, %v", got, err)
	}
}
