package corpus

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"arborist/document"
	"arborist/proof"
)

// newOwn returns a store with one own corpus and its model, both empty.
func newOwn(t testing.TB) (*Store, *model) {
	t.Helper()
	s, m := newStore(t), newModel(t, "main")
	if _, err := s.Create(context.Background(), "main", m.signer.Verifier()); err != nil {
		t.Fatal(err)
	}
	return s, m
}

// appendBoth appends to the store and to its model.
func appendBoth(t tester, s *Store, m *model, recs ...proof.Record) {
	t.Helper()
	for _, r := range recs {
		m.put(r)
	}
	head, err := s.Append(context.Background(), m.origin(), m.signer, recs)
	if err != nil || head != m.head(m.size()) {
		t.Fatalf("append gives %v, %v; want %v", head, err, m.head(m.size()))
	}
}

func TestAppendWritesOnlyWhatChanges(t *testing.T) {
	const uri = "https://example.org/page"
	a, b := listed(uri, "A"), listed(uri, "B")
	retitled := a
	retitled.Title, retitled.FetchedAt = "Another title", testTime.AddDate(1, 0, 0)
	withdrawA, withdrawB := a.Withdrawal(testTime), b.Withdrawal(testTime)
	states := map[string][]proof.Record{
		"nothing":      nil,
		"A is current": {a},
		"A was":        {a, withdrawal(uri)},
		"A, B, A":      {a, b, a},
	}
	tests := []struct {
		state string
		give  proof.Record
		op    proof.Op // "" for no record
	}{
		{"nothing", a, proof.OpAdd},
		{"nothing", withdrawal(uri), ""},
		{"nothing", withdrawA, ""},
		{"A is current", a, ""},
		{"A is current", retitled, ""},
		{"A is current", b, proof.OpSupersede},
		{"A is current", withdrawal(uri), proof.OpWithdraw},
		{"A is current", withdrawA, proof.OpWithdraw},
		{"A is current", withdrawB, ""},
		{"A was", a, proof.OpAdd},
		{"A was", b, proof.OpAdd},
		{"A was", withdrawal(uri), ""},
		{"A, B, A", a, ""},
		{"A, B, A", b, proof.OpSupersede},
		{"A, B, A", withdrawB, ""},
		{"A, B, A", withdrawA, proof.OpWithdraw},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprintf("%s: %s %s", tt.state, tt.give.Op, tt.give.Title), func(t *testing.T) {
			s, m := newOwn(t)
			appendBoth(t, s, m, states[tt.state]...)
			before := m.size()
			appendBoth(t, s, m, tt.give)
			m.checkLog(t, s, m.size())
			switch grown := m.size() - before; {
			case tt.op == "" && grown != 0:
				t.Fatalf("appended a %s", m.recs[before].Op)
			case tt.op != "" && (grown != 1 || m.recs[before].Op != tt.op):
				t.Fatalf("appended %v, want one %s", m.recs[before:], tt.op)
			}
			appendBoth(t, s, m, tt.give) // once more: no effect
			if extra := m.size() - before; tt.op != "" && extra != 1 {
				t.Fatalf("the same again appended %d", extra-1)
			}
		})
	}
}

// The operation that a caller names is only its intent to list.
func TestAppendChoosesBetweenAddAndSupersede(t *testing.T) {
	s, m := newOwn(t)
	r := listed("u:1", "A")
	r.Op, r.Supersedes = proof.OpSupersede, header("never seen").ID()
	r.ID = document.ID{} // the header has it
	head, err := s.Append(context.Background(), m.origin(), m.signer, []proof.Record{r})
	if err != nil {
		t.Fatal(err)
	}
	m.put(listed("u:1", "A"))
	if head != m.head(1) {
		t.Fatalf("head %v, want that of one add", head)
	}
}

func TestNothingAppendedSignsNothing(t *testing.T) {
	ctx := context.Background()
	s, m := newOwn(t)
	head, err := s.Append(ctx, m.origin(), m.signer, nil)
	if err != nil || head != m.head(0) {
		t.Fatalf("empty append gives %v, %v", head, err)
	}
	m.checkLog(t, s, 0)
	appendBoth(t, s, m, numbered(3, 0)...)
	note, err := s.Note(ctx, m.origin())
	if err != nil {
		t.Fatal(err)
	}
	var before, after int64
	if err := s.write.QueryRow("SELECT total_changes()").Scan(&before); err != nil {
		t.Fatal(err)
	}
	appendBoth(t, s, m, numbered(3, 0)...)
	if err := s.write.QueryRow("SELECT total_changes()").Scan(&after); err != nil {
		t.Fatal(err)
	}
	if again, err := s.Note(ctx, m.origin()); err != nil || string(again) != string(note) || before != after {
		t.Fatalf("the same append again wrote %d rows, note %q, %v", after-before, again, err)
	}
}

// A batch stands or falls as a whole, and one that fell leaves no trace.
func TestBadRecordFailsTheWholeBatch(t *testing.T) {
	ctx := context.Background()
	s, m := newOwn(t)
	appendBoth(t, s, m, numbered(300, 0)...)
	for name, bad := range map[string]proof.Record{
		"no URI":       listed("", "x"),
		"line end":     listed("u:a\nb", "x"),
		"long URI":     listed("u:"+strings.Repeat("x", proof.MaxURI), "x"),
		"wrong ID":     {Op: proof.OpAdd, ID: header("y").ID(), Header: header("x"), URI: "u:1", FetchedAt: testTime},
		"no header":    {Op: proof.OpAdd, URI: "u:1", FetchedAt: testTime},
		"no time":      {Op: proof.OpAdd, Header: header("x"), URI: "u:1"},
		"bad withdraw": {Op: proof.OpWithdraw, URI: "https://example.org/1"},
	} {
		_, err := s.Append(ctx, m.origin(), m.signer, append(numbered(10, 1000), bad))
		if !errors.Is(err, ErrRecord) {
			t.Errorf("%s: %v", name, err)
		}
	}
	m.checkLog(t, s, 300)
	appendBoth(t, s, m, numbered(10, 1000)...)
	m.checkLog(t, s, 310)
}

func TestOnlyThePublisherAppends(t *testing.T) {
	ctx := context.Background()
	s, m := newOwn(t)
	followed := newModel(t, "other")
	if _, err := s.Follow(ctx, followed.signer.Verifier()); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name   string
		origin string
		signer *proof.Signer
		want   error
	}{
		{"followed corpus, its own key", followed.origin(), followed.signer, ErrNotOwn},
		{"another key of the same name", m.origin(), testSigner(t, "main", 2), ErrKey},
		{"key of another corpus", m.origin(), followed.signer, ErrKey},
		{"no such corpus", testPeer + "/nowhere", testSigner(t, "nowhere", 1), ErrNotFound},
	} {
		if _, err := s.Append(ctx, tt.origin, tt.signer, numbered(1, 0)); !errors.Is(err, tt.want) {
			t.Errorf("%s: %v, want %v", tt.name, err, tt.want)
		}
	}
	m.checkLog(t, s, 0)
}

func TestEndedContextAppendsNothing(t *testing.T) {
	s, m := newOwn(t)
	appendBoth(t, s, m, numbered(5, 0)...)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := s.Append(ctx, m.origin(), m.signer, numbered(5, 5)); !errors.Is(err, context.Canceled) {
		t.Fatalf("append: %v", err)
	}
	m.checkLog(t, s, 5)
}

// Appends from many goroutines end as one log that holds all of them, and
// whoever reads meanwhile sees whole heads only.
func TestConcurrentAppendsSerialise(t *testing.T) {
	ctx := context.Background()
	s, m := newOwn(t)
	const writers, batches, size = 4, 10, 20
	done := make(chan struct{})
	var readers, appenders sync.WaitGroup
	for range 2 {
		readers.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				part, err := s.Prove(ctx, m.origin(), header("content 0").Root)
				if err == nil {
					var head proof.Checkpoint
					head, err = proof.OpenCheckpoint(part.Note, m.signer.Verifier())
					if err == nil && head.Size%size != 0 {
						err = fmt.Errorf("head at size %d, between two batches", head.Size)
					}
				}
				if err != nil && !errors.Is(err, ErrNotFound) {
					t.Errorf("read during appends: %v", err)
					return
				}
			}
		})
	}
	heads := make(chan proof.Checkpoint, writers*batches)
	for w := range writers {
		appenders.Go(func() {
			for b := range batches {
				head, err := s.Append(ctx, m.origin(), m.signer, numbered(size, (w*batches+b)*size))
				if err != nil {
					t.Errorf("append: %v", err)
					return
				}
				heads <- head
			}
		})
	}
	appenders.Wait()
	close(done)
	readers.Wait()
	close(heads)
	recs, err := s.Records(ctx, m.origin(), 0, writers*batches*size)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range recs {
		m.put(r)
	}
	m.checkLog(t, s, writers*batches*size)
	for head := range heads {
		if head != m.head(head.Size) {
			t.Errorf("head at size %d is not one of the final log", head.Size)
		}
	}
}
