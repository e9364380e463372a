package shard

import (
	"errors"
	"strings"
	"testing"
	"time"

	"arborist/proof"
	"arborist/shard/corpus"
)

func TestWithdrawnDocumentsLeaveTheSearchAndStayStored(t *testing.T) {
	s := newShared(t, 4)
	ctx := t.Context()
	e := entry(t, "doc:/a", "The walrus and the carpenter were walking close at hand.")
	e.Location.Corpus = "peer/main"
	put1(t, s, e)
	for range 2 { // again it changes nothing
		if err := s.Withdraw(ctx, "peer/main", "doc:/a"); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Withdraw(ctx, "peer/main", "doc:/never"); err != nil {
		t.Fatal(err)
	}
	res, err := s.Search(ctx, Query{Text: "walrus", Limit: 10})
	if err != nil || res.Total != 0 {
		t.Errorf("search found %d passages of a withdrawn document, %v", res.Total, err)
	}
	history, err := s.History(ctx, "doc:/a")
	if err != nil || len(history) != 1 || history[0].Current || history[0].SupersededBy != (Version{}).Root {
		t.Errorf("history = %+v, %v, want one version that is not current and superseded by nothing", history, err)
	}
	if _, err := s.Document(ctx, e.Document.Root()); err != nil {
		t.Errorf("the document is gone: %v", err)
	}
	mustCheck(t, s)

	// It comes back as a new version.
	put1(t, s, e)
	if res, err := s.Search(ctx, Query{Text: "walrus", Limit: 10}); err != nil || res.Total != 1 {
		t.Errorf("search found %d passages after the document came back, %v", res.Total, err)
	}
	mustCheck(t, s)
}

func TestWithdrawTouchesNoOtherCorpus(t *testing.T) {
	s := newShared(t, 2)
	ctx := t.Context()
	e := entry(t, "doc:/a", "The walrus and the carpenter were walking close at hand.")
	for _, origin := range []string{"peer/one", "peer/two"} {
		e.Location.Corpus = origin
		put1(t, s, e)
	}
	if err := s.Withdraw(ctx, "peer/one", "doc:/a"); err != nil {
		t.Fatal(err)
	}
	versions, err := s.Locations(ctx, e.Document.Root())
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range versions {
		if v.Current != (v.Location.Corpus == "peer/two") {
			t.Errorf("after a withdrawal in peer/one, current = %v in %s", v.Current, v.Location.Corpus)
		}
	}
	mustCheck(t, s)
}

// A crash between log and shards leaves a document that is found and no longer
// listed. check names it, and the same call again ends the withdrawal without
// another record; so does adding it again, which takes it back.
func TestAWithdrawalThatWasCutShortIsEndedByTheSameCall(t *testing.T) {
	for _, again := range []string{"withdraw", "put"} {
		s := newShared(t, 2)
		ctx := t.Context()
		p := newPublisher(t, s)
		a, b := entry(t, "doc:/a", "walrus one"), entry(t, "doc:/b", "walrus two")
		put1(t, p, a, b)
		// What Withdraw does until the crash.
		cut := []proof.Record{{Op: proof.OpWithdraw, URI: "doc:/a", FetchedAt: time.Unix(1700000000, 0)}, {Op: proof.OpWithdraw, URI: "doc:/b", FetchedAt: time.Unix(1700000000, 0)}}
		if _, err := s.Corpora().Append(ctx, testOrigin, p.signer, cut); err != nil {
			t.Fatal(err)
		}
		if err := s.Withdraw(ctx, testOrigin, "doc:/a"); err != nil {
			t.Fatal(err)
		}
		var problems []string
		if _, err := s.Check(ctx, func(p string) { problems = append(problems, p) }); err != nil || len(problems) != 1 ||
			!strings.Contains(problems[0], "doc:/b") || !strings.Contains(problems[0], "withdraw it again") {
			t.Errorf("check after the crash: %q, %v", problems, err)
		}
		size, hits := uint64(4), 0
		if again == "withdraw" {
			if err := p.Withdraw(ctx, []string{"doc:/a", "doc:/b"}, time.Unix(1700000000, 0)); err != nil {
				t.Fatal(err)
			}
		} else {
			put1(t, p, a, b)
			size, hits = 6, 2
		}
		info, err := s.Corpora().Lookup(ctx, "main")
		if err != nil || info.Size != size {
			t.Errorf("%s again: %d records, %v; want %d", again, info.Size, err, size)
		}
		if res, err := s.Search(ctx, Query{Text: "walrus", Limit: 10}); err != nil || res.Total != hits {
			t.Errorf("%s again: %d passages, %v; want %d", again, res.Total, err, hits)
		}
		mustCheck(t, s)
	}
}

// The log goes first and refuses for both: what it does not take leaves the
// shards as they were.
func TestARefusedWithdrawalHidesNothing(t *testing.T) {
	s := newShared(t, 2)
	ctx := t.Context()
	p := newPublisher(t, s)
	put1(t, p, entry(t, "doc:/a", "walrus one"))
	foreign, err := proof.NewSigner(testOrigin, [32]byte{9})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Publisher(testOrigin, foreign).Withdraw(ctx, []string{"doc:/a"}, time.Unix(1700000000, 0)); !errors.Is(err, corpus.ErrKey) {
		t.Errorf("with a foreign key: %v", err)
	}
	ahead, err := proof.SignCheckpoint(proof.Checkpoint{Origin: testOrigin, Size: 5, Root: [32]byte{5}}, p.signer)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Corpora().RememberHead(ctx, testOrigin, ahead, nil); err != nil {
		t.Fatal(err)
	}
	if err := p.Withdraw(ctx, []string{"doc:/a"}, time.Unix(1700000000, 0)); !errors.Is(err, corpus.ErrBehind) {
		t.Errorf("behind a signed head: %v", err)
	}
	if res, err := s.Search(ctx, Query{Text: "walrus", Limit: 10}); err != nil || res.Total != 1 {
		t.Errorf("search finds %d passages, %v; want the one that was not withdrawn", res.Total, err)
	}
}

func TestAWithdrawalIsSignedByTheReplacedKeyToo(t *testing.T) {
	s := newShared(t, 2)
	ctx := t.Context()
	p := newPublisher(t, s)
	put1(t, p, entry(t, "doc:/a", "walrus one"))
	next, err := proof.NewSigner(testOrigin, [32]byte{7})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Corpora().Rotate(ctx, testOrigin, p.signer, next); err != nil {
		t.Fatal(err)
	}
	if err := p.Withdraw(ctx, []string{"doc:/a"}, time.Unix(1700000000, 0)); !errors.Is(err, corpus.ErrKey) {
		t.Errorf("signed by the replaced key alone: %v", err)
	}
	if err := s.Publisher(testOrigin, next, p.signer).Withdraw(ctx, []string{"doc:/a"}, time.Unix(1700000000, 0)); err != nil {
		t.Fatal(err)
	}
	note, err := s.Corpora().Note(ctx, testOrigin)
	if err != nil {
		t.Fatal(err)
	}
	for _, by := range []*proof.Signer{p.signer, next} {
		if head, err := proof.OpenCheckpoint(note, by.Verifier()); err != nil || head.Size != 2 {
			t.Errorf("head %+v, %v", head, err)
		}
	}
	mustCheck(t, s)
}
