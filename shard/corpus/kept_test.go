package corpus

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"arborist/proof"
)

// A memKeeper keeps heads in memory. Fail, where set, is what Keep returns.
type memKeeper struct {
	notes map[string][]byte
	kept  int // calls of Keep
	fail  error
}

func newKeeper() *memKeeper { return &memKeeper{notes: make(map[string][]byte)} }

func (k *memKeeper) Kept(origin string) ([]byte, error) { return k.notes[origin], nil }

func (k *memKeeper) Keep(origin string, note []byte) error {
	if k.fail == nil {
		k.notes[origin] = bytes.Clone(note)
		k.kept++
	}
	return k.fail
}

// ownStore makes a store that has appended the records [0, n) of a model.
func ownStore(t *testing.T, m *model, n int, k HeadKeeper) *Store {
	t.Helper()
	ctx := context.Background()
	s := openTest(t, filepath.Join(t.TempDir(), "corpora.db"))
	if k != nil {
		s.KeepHeads(k)
	}
	if _, err := s.Create(ctx, "main", m.signer.Verifier()); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Append(ctx, m.origin(), m.signer, numbered(n, 0)); err != nil {
		t.Fatal(err)
	}
	return s
}

func TestEverySignedHeadIsKeptBeforeAppendReturns(t *testing.T) {
	ctx := context.Background()
	m, k := newModelOf(t, "main", 30), newKeeper()
	s := ownStore(t, m, 10, k)
	wantKept := func(n uint64, calls int) {
		t.Helper()
		if !bytes.Equal(k.notes[m.origin()], m.note(n)) || k.kept != calls {
			t.Fatalf("kept %q after %d calls, want the head at %d after %d", k.notes[m.origin()], k.kept, n, calls)
		}
	}
	wantKept(10, 1)
	if _, err := s.Append(ctx, m.origin(), m.signer, numbered(10, 0)); err != nil { // changes nothing
		t.Fatal(err)
	}
	wantKept(10, 1)
	// A keeper that fails does not hide: the same call again makes it good.
	k.fail = os.ErrPermission
	if _, err := s.Append(ctx, m.origin(), m.signer, numbered(20, 0)); !errors.Is(err, os.ErrPermission) {
		t.Fatal(err)
	}
	wantKept(10, 1)
	k.fail = nil
	if _, err := s.Append(ctx, m.origin(), m.signer, numbered(20, 0)); err != nil {
		t.Fatal(err)
	}
	wantKept(20, 2)
	// One that was lost is made again.
	delete(k.notes, m.origin())
	if err := s.Reconcile(ctx, m.origin()); err != nil {
		t.Fatal(err)
	}
	wantKept(20, 3)
}

func TestAKeptHeadBindsAnOlderLog(t *testing.T) {
	ctx := context.Background()
	m := newModelOf(t, "main", 30)
	fork := m.fork(5, numbered(25, 5000)...)
	// The same name under a key that we do not have.
	forger, err := proof.NewSigner(m.origin(), [32]byte{9})
	if err != nil {
		t.Fatal(err)
	}
	other := &model{signer: forger}
	for _, r := range numbered(30, 9000) {
		other.write(r)
	}
	for _, c := range []struct {
		name   string
		note   []byte
		want   error // of the append
		seen   uint64
		frozen bool
	}{
		{"none", nil, nil, 11, false},
		{"the same", m.note(10), nil, 11, false},
		{"a smaller one, as after a crash", m.note(7), nil, 11, false},
		{"a larger one", m.note(30), ErrBehind, 30, false},
		{"one record more", m.note(11), ErrBehind, 11, false},
		{"another of this size", fork.note(10), ErrFrozen, 10, true},
		{"another that is smaller", fork.note(7), ErrFrozen, 10, true},
		{"no note", []byte("no note\n"), ErrKept, 10, false},
		{"of another key", newModelOf(t, "other", 30).note(30), ErrKept, 10, false},
		{"of another key for this corpus, larger", other.note(30), ErrKept, 10, false},
		{"of another key for this corpus, of another log", other.note(4), ErrKept, 10, false},
		{"without its signature", m.note(30)[:bytes.Index(m.note(30), []byte("\n\n"))+2], ErrKept, 10, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			k := newKeeper()
			s := ownStore(t, m, 10, nil)
			s.KeepHeads(k)
			if c.note != nil {
				k.notes[m.origin()] = c.note
			}
			may := s.MayAppend(ctx, m.origin(), m.signer)
			if !errors.Is(may, c.want) {
				t.Errorf("may append: %v, want %v", may, c.want)
			}
			_, err := s.Append(ctx, m.origin(), m.signer, numbered(11, 0))
			if !errors.Is(err, c.want) || (err == nil) != (c.want == nil) {
				t.Errorf("append: %v, want %v", err, c.want)
			}
			info, err := s.Lookup(ctx, m.origin())
			if err != nil || info.Seen != c.seen || info.Frozen != c.frozen {
				t.Errorf("known now: %+v, %v", info, err)
			}
			if c.want == ErrBehind { // what was signed comes back, and it goes on
				if _, err := s.Extend(ctx, m.origin(), m.note(30), m.lines[10:30]); err != nil {
					t.Fatal(err)
				}
				if _, err := s.Append(ctx, m.origin(), m.signer, numbered(31, 0)); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// A followed corpus may have the name of an own one: its head is nobody's to keep.
func TestNoHeadIsKeptOfAFollowedCorpus(t *testing.T) {
	m, k := newModelOf(t, "main", 30), newKeeper()
	s := newStore(t)
	s.KeepHeads(k)
	k.notes[m.origin()] = []byte("nonsense")
	followTo(t, s, m, 20)
	if err := s.Reconcile(context.Background(), m.origin()); err != nil || k.kept != 0 {
		t.Errorf("%v, kept %d times", err, k.kept)
	}
}
