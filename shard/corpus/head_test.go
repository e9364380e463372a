package corpus

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"arborist/merkle"
	"arborist/proof"
)

// A light client holds 100 as its only head; each call is made after a restart.
func TestRememberedHeadDemandsConsistency(t *testing.T) {
	ctx := context.Background()
	m := newModelOf(t, "main", 300)
	fork := m.fork(60, numbered(240, 5000)...)
	tests := []struct {
		name string
		note []byte
		path []merkle.Hash
		want error
		size uint64
	}{
		{"the same head", m.note(100), nil, nil, 100},
		{"a later head with its proof", m.note(300), m.consistency(100, 300), nil, 300},
		{"the next head with its proof", m.note(101), m.consistency(100, 101), nil, 101},
		{"a later head without proof", m.note(300), nil, ErrMismatch, 100},
		{"a later head with a proof between others", m.note(300), m.consistency(99, 300), ErrMismatch, 100},
		{"a proof that is too long", m.note(300), append(m.consistency(100, 300), merkle.Hash{1}), ErrMismatch, 100},
		{"an older head", m.note(90), nil, ErrRollback, 100},
		{"an older head with a proof", m.note(90), m.consistency(90, 100), ErrRollback, 100},
		{"same size, other root", fork.note(100), nil, ErrEquivocation, 100},
		{"a head of another history", fork.note(300), fork.consistency(100, 300), ErrMismatch, 100},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "corpora.db")
			s := openTest(t, path)
			if _, err := s.Follow(ctx, m.signer.Verifier()); err != nil {
				t.Fatal(err)
			}
			if _, _, err := s.Head(ctx, m.origin()); !errors.Is(err, ErrNotFound) {
				t.Fatalf("head before the first: %v", err)
			}
			if _, err := s.RememberHead(ctx, m.origin(), m.note(100), nil); err != nil {
				t.Fatal(err)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			s = openTest(t, path)
			if _, err := s.RememberHead(ctx, m.origin(), tt.note, tt.path); !errors.Is(err, tt.want) {
				t.Fatalf("remember: %v, want %v", err, tt.want)
			}
			head, note, err := s.Head(ctx, m.origin())
			if err != nil || head != m.head(tt.size) || !bytes.Equal(note, m.note(tt.size)) {
				t.Fatalf("head %v, %v; want size %d", head, err, tt.size)
			}
			info, err := s.Lookup(ctx, m.origin())
			if err != nil || info.Seen != tt.size || info.Size != 0 {
				t.Fatalf("info %+v, %v", info, err)
			}
			m.checkLog(t, s, 0) // a head alone shows nothing
			if tt.want == ErrEquivocation {
				_, err := s.RememberHead(ctx, m.origin(), m.note(300), m.consistency(100, 300))
				checkFrozen(t, s, m, err)
			}
		})
	}
}

// A remembered head binds the records that come later.
func TestRecordsHaveToMeetTheRememberedHead(t *testing.T) {
	ctx := context.Background()
	m := newModelOf(t, "main", 300)
	fork := m.fork(60, numbered(240, 5000)...)
	remembering := func(t *testing.T) *Store {
		s := newStore(t)
		followTo(t, s, m, 50)
		if _, err := s.RememberHead(ctx, m.origin(), m.note(100), m.consistency(50, 100)); err != nil {
			t.Fatal(err)
		}
		return s
	}
	t.Run("met", func(t *testing.T) {
		s := remembering(t)
		if _, err := s.Extend(ctx, m.origin(), m.note(300), m.lines[50:300]); err != nil {
			t.Fatal(err)
		}
		m.checkLog(t, s, 300)
	})
	t.Run("reached exactly", func(t *testing.T) {
		s := remembering(t)
		if _, err := s.Extend(ctx, m.origin(), m.note(100), m.lines[50:100]); err != nil {
			t.Fatal(err)
		}
		m.checkLog(t, s, 100)
	})
	t.Run("between the stored and the remembered", func(t *testing.T) {
		s := remembering(t)
		if _, err := s.Extend(ctx, m.origin(), m.note(80), m.lines[50:80]); !errors.Is(err, ErrRollback) {
			t.Fatal(err)
		}
		m.checkLog(t, s, 50)
	})
	t.Run("another history, signed", func(t *testing.T) {
		s := remembering(t)
		_, err := s.Extend(ctx, m.origin(), fork.note(300), fork.lines[50:300])
		if !errors.Is(err, ErrEquivocation) {
			t.Fatal(err)
		}
		checkFrozen(t, s, m, err)
		m.checkLog(t, s, 50)
	})
}

func TestReportedForkFreezesOnlyWhenProven(t *testing.T) {
	ctx := context.Background()
	m := newModelOf(t, "main", 300)
	fork := m.fork(60, numbered(240, 5000)...)
	for _, old := range []uint64{100, 128} { // 128: the proof leaves the old root out
		for _, tt := range []struct {
			name string
			note []byte
			root merkle.Hash
			path []merkle.Hash
			want error
		}{
			{"proven", fork.note(300), fork.root(old), fork.consistency(old, 300), nil},
			{"our own history", m.note(300), m.root(old), m.consistency(old, 300), ErrMismatch},
			{"another root than the proof's", fork.note(300), merkle.Hash{1}, fork.consistency(old, 300), ErrMismatch},
			{"proof of our history", m.note(300), fork.root(old), m.consistency(old, 300), ErrMismatch},
			{"not signed", append(fork.note(300), 'x'), fork.root(old), fork.consistency(old, 300), proof.ErrFormat},
		} {
			t.Run(fmt.Sprintf("%s at %d", tt.name, old), func(t *testing.T) {
				s := newStore(t)
				followTo(t, s, m, old)
				if err := s.ReportFork(ctx, m.origin(), tt.note, tt.root, tt.path); !errors.Is(err, tt.want) {
					t.Fatalf("report: %v, want %v", err, tt.want)
				}
				_, err := s.Extend(ctx, m.origin(), m.note(300), m.lines[old:])
				if tt.want == nil {
					checkFrozen(t, s, m, err)
				} else if err != nil {
					t.Fatalf("extend after an unproven report: %v", err)
				}
			})
		}
	}
}

// A publisher restored from an old backup learns from a follower how far its
// key has signed, signs nothing below, and gets the lost records back.
func TestRestoredPublisherDoesNotForkItself(t *testing.T) {
	ctx := context.Background()
	s, m := newOwn(t)
	appendBoth(t, s, m, numbered(100, 0)...)
	lost := m.fork(100, numbered(150, 100)...)
	if _, err := s.RememberHead(ctx, m.origin(), lost.note(90), nil); !errors.Is(err, ErrRollback) {
		t.Fatalf("an older own head: %v", err)
	}
	if _, err := s.RememberHead(ctx, m.origin(), lost.note(250), nil); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Append(ctx, m.origin(), m.signer, numbered(1, 900)); !errors.Is(err, ErrBehind) {
		t.Fatalf("append below a signed head: %v", err)
	}
	m.checkLog(t, s, 100)
	if _, err := s.Extend(ctx, m.origin(), lost.note(250), lost.lines[100:]); err != nil {
		t.Fatal(err)
	}
	appendBoth(t, s, lost, numbered(10, 900)...)
	lost.checkLog(t, s, 260)
}

// Already the attempt to fetch a later head of one's own stops the signing.
func TestOwnHeadAboveTheLogStopsAppendAtOnce(t *testing.T) {
	ctx := context.Background()
	s, m := newOwn(t)
	lost := newModelOf(t, "main", 10)
	if _, err := s.Extend(ctx, m.origin(), lost.note(10), nil); err == nil {
		t.Fatal("extended by no lines")
	}
	if _, err := s.Append(ctx, m.origin(), m.signer, numbered(1, 900)); !errors.Is(err, ErrBehind) {
		t.Fatalf("append below a signed head: %v", err)
	}
}

func TestForkOfAnOwnKeyFreezesTheOwnCorpus(t *testing.T) {
	ctx := context.Background()
	s, m := newOwn(t)
	appendBoth(t, s, m, numbered(100, 0)...)
	fork := m.fork(60, numbered(40, 5000)...)
	if _, err := s.RememberHead(ctx, m.origin(), fork.note(80), nil); !errors.Is(err, ErrEquivocation) {
		t.Fatal(err)
	}
	_, err := s.Append(ctx, m.origin(), m.signer, numbered(1, 900))
	checkFrozen(t, s, m, err)
	m.checkLog(t, s, 100)
}

// A stale cache can serve any number of old heads; anybody can add signature
// lines of other keys to a note. Neither fills the disk.
func TestEvidenceIsBounded(t *testing.T) {
	ctx := context.Background()
	m := newModelOf(t, "main", 100)
	s := newStore(t)
	followTo(t, s, m, 100)
	cosigned := func(n uint64, seed byte) []byte {
		extra, err := proof.SignNote(m.head(n).Text(), testSigner(t, "witness", seed))
		if err != nil {
			t.Fatal(err)
		}
		return append(m.note(n), extra[len(m.head(n).Text())+1:]...)
	}
	for i := range 5 {
		if _, err := s.Extend(ctx, m.origin(), cosigned(70, byte(i)), nil); !errors.Is(err, ErrRollback) {
			t.Fatal(err)
		}
	}
	if all, err := s.Evidence(ctx, m.origin()); err != nil || len(all) != 1 {
		t.Fatalf("one old head under five sets of signatures: %d kept, %v", len(all), err)
	}
	for i := range 2 * maxRollbacks {
		if _, err := s.Extend(ctx, m.origin(), m.note(uint64(i)), nil); !errors.Is(err, ErrRollback) {
			t.Fatal(err)
		}
	}
	all, err := s.Evidence(ctx, m.origin())
	if err != nil || len(all) != maxRollbacks {
		t.Fatalf("%d kept, %v", len(all), err)
	}
	for _, e := range all {
		if f, err := e.Verify(m.signer.Verifier()); err != nil || f.Kind != proof.Rollback || !f.Consistent {
			t.Errorf("an old head that agrees with ours: %+v, %v", f, err)
		}
		if !bytes.Equal(e.Newer, m.note(100)) {
			t.Errorf("the note known then is not kept")
		}
	}
	// The same note again is no new find, and a fork outlives the cap.
	fork := newModelOf(t, "main", 0)
	for _, r := range numbered(100, 5000) {
		fork.write(r)
	}
	_, err = s.Extend(ctx, m.origin(), fork.note(50), nil)
	checkFrozen(t, s, m, err)
}

// A rollback on the far side of a remembered head turns out to be a fork when
// the records arrive: the evidence says so then.
func TestEvidenceIsRaisedToAnEquivocation(t *testing.T) {
	ctx := context.Background()
	m := newModelOf(t, "main", 100)
	fork := newModel(t, "main")
	for _, r := range numbered(100, 5000) {
		fork.write(r)
	}
	s := newStore(t)
	if _, err := s.Follow(ctx, m.signer.Verifier()); err != nil {
		t.Fatal(err)
	}
	if _, err := s.RememberHead(ctx, m.origin(), m.note(100), nil); err != nil {
		t.Fatal(err)
	}
	if _, err := s.RememberHead(ctx, m.origin(), fork.note(80), nil); !errors.Is(err, ErrRollback) {
		t.Fatal(err)
	}
	followTo(t, s, m, 100)
	_, err := s.RememberHead(ctx, m.origin(), fork.note(80), nil)
	checkFrozen(t, s, m, err)
	if all, err := s.Evidence(ctx, m.origin()); err != nil || len(all) != 1 {
		t.Fatalf("%d kept, %v", len(all), err)
	}
}

// Evidence proves what it says to somebody who has the notes and the key, and
// no changed part of it does.
func TestEvidenceIsCheckedFromTheNotesAlone(t *testing.T) {
	ctx := context.Background()
	m := newModelOf(t, "main", 100)
	fork := m.fork(30, numbered(70, 5000)...)
	s := newStore(t)
	followTo(t, s, m, 100)
	if _, err := s.Extend(ctx, m.origin(), fork.note(80), nil); !errors.Is(err, ErrEquivocation) {
		t.Fatal(err)
	}
	all, err := s.Evidence(ctx, m.origin())
	if err != nil || len(all) != 1 {
		t.Fatalf("%+v, %v", all, err)
	}
	v := m.signer.Verifier()
	if _, err := all[0].Verify(v); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*Evidence){
		"older note of our history": func(e *Evidence) { e.Older = m.note(80) },
		"newer note of the fork":    func(e *Evidence) { e.Newer = fork.note(100) },
		"notes swapped":             func(e *Evidence) { e.Older, e.Newer = e.Newer, e.Older },
		"unsigned":                  func(e *Evidence) { e.Older = e.Older[:len(e.Older)-3] },
		"root":                      func(e *Evidence) { e.Root[5] ^= 1 },
		"path":                      func(e *Evidence) { e.Path = slices.Clone(e.Path); e.Path[1][0] ^= 1 },
		"no path":                   func(e *Evidence) { e.Path = nil },
	} {
		e := all[0]
		change(&e)
		if _, err := e.Verify(v); err == nil {
			t.Errorf("%s: still proves an equivocation", name)
		}
	}
	if _, err := all[0].Verify(testSigner(t, "main", 7).Verifier()); err == nil {
		t.Error("proves something about another key")
	}
}
