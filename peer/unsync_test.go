package peer

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"arborist/shard"
	"arborist/shard/corpus"
)

// statusOf returns the status that a node's handler gives to a path.
func statusOf(n *node, path string) int {
	w := httptest.NewRecorder()
	n.peer.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, PathPrefix+path, nil))
	return w.Code
}

func TestUnsyncEndsServingAndSearchAndKeepsTrustAndTexts(t *testing.T) {
	a, b := newNode(t).up(nil), newNode(t).up(nil)
	origin := a.origin("main")
	a.publish("main", entriesOf(t, "doc:/x", 300, 150)...)
	both := entryOf(t, "doc:/both", "A zyzzyva that is in two corpora.")
	a.publish("main", both, entryOf(t, "doc:/one", "A quagga that is in one."))
	b.publish("mine", both)
	server := httptest.NewServer(a.peer.Handler())
	defer server.Close()
	b.sync(server.URL, origin)
	paths := []string{origin + "/key", origin + "/checkpoint", origin + "/tile/0/000", origin + "/pack/000", origin + "/doc/" + both.Document.Root().String()}
	for _, p := range paths {
		if got := statusOf(b, p); got != http.StatusOK {
			t.Fatalf("%s = %d before", p, got)
		}
	}
	for _, want := range []int{302, 0} { // twice
		got, ended, err := b.peer.Unsync(t.Context(), origin)
		if err != nil || got != origin || ended != want {
			t.Fatalf("unsync = %s, %d, %v, want %d", got, ended, err, want)
		}
		for _, p := range paths {
			if got := statusOf(b, p); got != http.StatusNotFound {
				t.Errorf("%s = %d after, want 404", p, got)
			}
		}
	}
	hits := func(word string) int {
		r, err := b.shared.Search(t.Context(), shard.Query{Text: word})
		if err != nil {
			t.Fatal(err)
		}
		return len(r.Hits)
	}
	if hits("zyzzyva") != 1 || hits("quagga") != 0 {
		t.Errorf("%d hits of what another corpus lists too, %d of what none does; want 1 and 0", hits("zyzzyva"), hits("quagga"))
	}
	if b.documents() != 302 {
		t.Errorf("%d documents are stored, want 302", b.documents())
	}
	if _, err := b.shared.Check(t.Context(), func(p string) { t.Errorf("check: %s", p) }); err != nil {
		t.Error(err)
	}

	// The head that was accepted is not forgotten: an older one is a rollback.
	older := folderOf(t, a, entriesOf(t, "doc:/x", 10, 150))
	if _, err := b.peer.Sync(t.Context(), "file:"+older, origin, nil); err == nil {
		t.Error("another history was taken up after unsync")
	}
	res := b.sync(server.URL, origin)
	if res.Resumed != 302 || res.Verified != 0 {
		t.Errorf("sync after unsync = %+v, want nothing fetched", res)
	}
	sameLog(t, a, b, "main")
	if hits("quagga") != 1 {
		t.Error("what is followed again is not found")
	}
}

// A kill can come between any two transactions of an unsync. Whatever it leaves,
// the next sync must show all of the corpus again: so nothing may be hidden while
// the log says that all of it is here.
func TestASyncBringsBackWhatAnUnsyncThatWasCutHasHidden(t *testing.T) {
	const n = 3000
	a, b := newNode(t).up(nil), newNode(t).up(nil)
	origin := a.origin("main")
	a.publish("main", entriesOf(t, "doc:/x", n, 60)...)
	server := httptest.NewServer(a.peer.Handler())
	defer server.Close()
	b.sync(server.URL, origin)
	found := func() int {
		r, err := b.shared.Search(t.Context(), shard.Query{Text: "end", Limit: 1})
		if err != nil {
			t.Fatal(err)
		}
		return int(r.Total)
	}
	all := found()
	if all < n {
		t.Fatalf("%d of %d documents are found", all, n)
	}
	ctx, cut := context.WithCancel(t.Context())
	defer cut()
	var work sync.WaitGroup
	ended := make(chan struct{})
	work.Go(func() {
		defer close(ended)
		b.peer.Unsync(ctx, origin)
	})
	for running := true; running; {
		select {
		case <-ended:
			running = false
		default:
		}
		if found() < all {
			if size := b.size(origin); size != 0 {
				t.Errorf("some documents are hidden while the log has %d records", size)
			}
			cut()
		}
	}
	work.Wait()
	if left := found(); left == all {
		t.Errorf("%d documents are found after an unsync", left)
	}
	b.sync(server.URL, origin)
	if got := found(); got != all {
		t.Errorf("after an unsync that was cut and a sync %d are found, want %d", got, all)
	}
}

func TestUnsyncIsForFollowedCorpora(t *testing.T) {
	a := newNode(t).up(nil)
	a.publish("main", entryOf(t, "doc:/1", "text"))
	if _, _, err := a.peer.Unsync(t.Context(), "main"); !errors.Is(err, ErrOwn) {
		t.Errorf("own corpus = %v, want ErrOwn", err)
	}
	if _, _, err := a.peer.Unsync(t.Context(), testPeer+"/nowhere"); !errors.Is(err, corpus.ErrNotFound) {
		t.Errorf("a corpus that is not here = %v, want ErrNotFound", err)
	}
}

func TestWhoeverComesSecondHearsWhatIsRunning(t *testing.T) {
	a, b := newNode(t).up(nil), newNode(t).up(nil)
	origin := a.origin("main")
	a.publish("main", entriesOf(t, "doc:/x", 3, 150)...)
	server := httptest.NewServer(a.peer.Handler())
	defer server.Close()
	b.sync(server.URL, origin)
	if _, _, err := b.peer.Unsync(t.Context(), origin); err != nil {
		t.Fatal(err)
	}
	asked := false
	if _, _, err := b.peer.Purge(t.Context(), origin, false, func(int, int) {
		asked = true
		if _, _, err := b.peer.Purge(t.Context(), origin, false, func(int, int) {}); !errors.Is(err, ErrUnsyncing) {
			t.Errorf("a purge beside a purge = %v, want ErrUnsyncing", err)
		}
		if _, _, err := b.peer.Unsync(t.Context(), origin); !errors.Is(err, ErrUnsyncing) {
			t.Errorf("an unsync beside a purge = %v, want ErrUnsyncing", err)
		}
		if _, err := b.peer.Sync(t.Context(), server.URL, origin, nil); !errors.Is(err, ErrUnsyncing) {
			t.Errorf("a sync beside a purge = %v, want ErrUnsyncing", err)
		}
	}); err != nil || !asked {
		t.Fatalf("purge = %v, asked %t", err, asked)
	}
	b.sync(server.URL, origin)
}
