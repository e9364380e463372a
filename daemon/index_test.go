package daemon

import (
	"context"
	"testing"
	"testing/synctest"

	"arborist/crawl"
	"arborist/daemon/api"
	"arborist/document"
	"arborist/shard"
)

// What was stored when its process died is found after the next start, of a
// corpus as of the private crawl db.
func TestWhatWasStoredAndNotIndexedIsFoundAfterTheNextStart(t *testing.T) {
	home := newHome(t)
	// Not as a node: that indexes what it finds when it starts.
	shared, err := shard.OpenShared(home.Shards())
	if err != nil {
		t.Fatal(err)
	}
	private, err := crawl.OpenPrivate(home.CrawlDB())
	if err != nil {
		t.Fatal(err)
	}
	d, err := document.New([]byte("Whoever is stopped half way has an unfindable quetzal."))
	if err != nil {
		t.Fatal(err)
	}
	entry := []document.Entry{{Document: d, Location: document.Location{URI: "test:1", Source: "test"}}}
	for _, err := range []error{second(private.Store(t.Context(), entry)), second(shared.Store(t.Context(), entry)), private.Close(), shared.Close()} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if private, err = crawl.OpenPrivate(home.CrawlDB()); err != nil {
		t.Fatal(err)
	}
	if left, err := private.File().Pending(t.Context()); err != nil || left != 1 {
		t.Errorf("%d documents wait in the crawl db, %v; want 1", left, err)
	}
	if err := private.Close(); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		n := openNode(t, home)
		synctest.Wait()
		status, err := n.Status(t.Context())
		if err != nil || status.Pending != 0 {
			t.Errorf("%d documents wait, %v", status.Pending, err)
		}
		for _, q := range []api.QueryRequest{{Text: "quetzal"}, {Text: "quetzal", NoCrawlDB: true}} {
			res, err := n.Query(context.Background(), q)
			if err != nil || len(res.Hits) != 1 {
				t.Errorf("%+v: %d hits, %v", q, len(res.Hits), err)
			}
		}
	})
}

func second[T any](_ T, err error) error { return err }

// A sync that is cut off when the daemon stops ends after its node is closed.
func TestACallThatEndsAfterItsNodeWakesNothing(t *testing.T) {
	n := openNode(t, newHome(t))
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		n.wakeIndexer()
	}
}
