package daemon

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"arborist/daemon/api"
	"arborist/proof"
	"arborist/shard/corpus"
)

// A restored publisher whose first act is a withdrawal asks its followers
// first, as it does before it adds, and hides nothing.
func TestARestoredPublisherWithdrawsNothing(t *testing.T) {
	r := newRestored(t)
	if err := os.Remove(r.home.CorpusHead(MainCorpus)); err != nil {
		t.Fatal(err)
	}
	publisher, _ := serve(t, r.home)
	if _, err := publisher.Join(t.Context(), r.addr); err != nil {
		t.Fatal(err)
	}
	found, err := publisher.Query(t.Context(), api.QueryRequest{Text: "granite"})
	if err != nil || len(found.Hits) != 3 {
		t.Fatal(found, err)
	}
	_, err = publisher.Withdraw(t.Context(), api.WithdrawRequest{Corpus: MainCorpus, What: []string{found.Hits[0].Root.String()}})
	if err == nil || !strings.Contains(err.Error(), corpus.ErrBehind.Error()) {
		t.Fatalf("withdraw: %v", err)
	}
	if found, err := publisher.Query(t.Context(), api.QueryRequest{Text: "granite"}); err != nil || len(found.Hits) != 3 {
		t.Errorf("the refused withdrawal hid something: %d hits, %v", len(found.Hits), err)
	}
	r.wantBack(t, publisher)
}

// A crash between the log and the shards: the document is asked for again by
// its root or its URI, and leaves the search without another record.
func TestAWithdrawalThatWasCutShortIsEndedByRootOrURI(t *testing.T) {
	for _, by := range []string{"root", "uri"} {
		home := newHome(t)
		n := openNode(t, home)
		dir := pages(t, "first", 2)
		add(t, n, api.AddRequest{Paths: []string{dir}})
		hits, err := n.Query(t.Context(), api.QueryRequest{Text: "granite"})
		if err != nil || len(hits.Hits) != 2 {
			t.Fatal(hits, err)
		}
		what := hits.Hits[0].Root.String()
		uri := "file:" + filepath.Join(dir, "p0.md")
		for _, h := range hits.Hits {
			if strings.HasSuffix(h.URI, "p0.md") {
				what, uri = h.Root.String(), h.URI
			}
		}
		if by == "uri" {
			what = uri
		}
		info, err := n.lookupCorpus(t.Context(), MainCorpus)
		if err != nil {
			t.Fatal(err)
		}
		signer, _, err := corpusSigners(home, info)
		if err != nil {
			t.Fatal(err)
		}
		cut := []proof.Record{{Op: proof.OpWithdraw, URI: uri, FetchedAt: time.Unix(1700000000, 0)}}
		if head, err := n.shared.Corpora().Append(t.Context(), info.Origin, signer, cut); err != nil || head.Size != 3 {
			t.Fatal(head, err)
		}
		res, err := n.Withdraw(t.Context(), api.WithdrawRequest{Corpus: MainCorpus, What: []string{what}})
		if err != nil || res.Size != 3 || len(res.Withdrawn) != 1 || res.Withdrawn[0] != uri {
			t.Errorf("by %s: %+v, %v", by, res, err)
		}
		if hits, err := n.Query(t.Context(), api.QueryRequest{Text: "granite"}); err != nil || len(hits.Hits) != 1 {
			t.Errorf("by %s: %d hits, %v", by, len(hits.Hits), err)
		}
		if _, err := n.Withdraw(t.Context(), api.WithdrawRequest{Corpus: MainCorpus, What: []string{what}}); api.AsError(err).Code != api.CodeNotFound {
			t.Errorf("by %s, once more: %v", by, err)
		}
		if check, err := n.Check(t.Context()); err != nil || len(check.Problems) > 0 {
			t.Errorf("check: %+v, %v", check, err)
		}
	}
}
