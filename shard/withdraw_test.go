package shard

import (
	"testing"
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
