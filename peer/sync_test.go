package peer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"arborist/document"
)

func TestSyncBringsAWholeCorpus(t *testing.T) {
	for name, listen := range map[string][]string{"TCP": listenTCP, "QUIC": listenQUIC} {
		t.Run(name, func(t *testing.T) {
			a, b := newNode(t).up(listen), newNode(t).up(nil)
			a.publish("main", entriesOf(t, "doc:/x", 300, 1500)...)
			a.publish("main", entryOf(t, "doc:/x/3", "another version of three"), entryOf(t, "doc:/new", textOf("doc:/x/7", 3000)))
			a.publish("main", entryOf(t, "doc:/x/3", "yet another version of three"))
			a.withdraw("main", "doc:/x/5")

			var last Progress
			res, err := b.peer.Sync(t.Context(), a.addr(), "main", func(p Progress) { last = p })
			if err != nil {
				t.Fatal(err)
			}
			if res.Documents != 303 || res.Verified < 303 || res.Resumed > 1 || res.Size != 304 || res.Origin != a.origin("main") {
				t.Errorf("result = %+v, want 303 documents, 304 records", res)
			}
			if last.Documents != 304 || last.Total != 304 || last.Bytes != res.Bytes {
				t.Errorf("last progress = %+v, want 304 of 304 records and %d bytes", last, res.Bytes)
			}
			sameCorpus(t, a, b, "main")

			again := b.sync(a.id, "main")
			if again.Documents != 0 || again.Verified != 0 || again.Bytes != 0 || again.Size != 304 {
				t.Errorf("second sync = %+v, want nothing transferred", again)
			}
		})
	}
}

// cutAfter serves documents until n bytes of packs or n documents went out and
// breaks every stream from then on.
func cutAfter(n int64) (func(string, http.ResponseWriter, *http.Request, http.Handler), *atomic.Int64) {
	var sent atomic.Int64
	return func(path string, w http.ResponseWriter, r *http.Request, honest http.Handler) {
		if !ofKind(kindPack)(path) && !ofKind(kindDoc)(path) {
			honest.ServeHTTP(w, r)
			return
		}
		h := hold(r, honest)
		w.WriteHeader(h.status)
		for len(h.body) > 0 {
			size := min(elementLen(h.body), len(h.body))
			if sent.Add(1) > n {
				w.Write(h.body[:size/2])
				http.NewResponseController(w).Flush()
				panic(http.ErrAbortHandler)
			}
			w.Write(h.body[:size])
			h.body = h.body[size:]
		}
	}, &sent
}

func TestASyncThatWasCutGoesOnWhereItWas(t *testing.T) {
	for _, restart := range []bool{false, true} {
		t.Run(fmt.Sprintf("restart=%v", restart), func(t *testing.T) {
			const n = 700
			// One stream, so that what was served is what came in order.
			single := func(c *Config) { c.Streams = 1 }
			a, b := newNode(t).up(listenTCP), newNode(t).up(nil, single)
			a.publish("main", entriesOf(t, "doc:/x", n, 200)...)
			origin := a.origin("main")
			total := 0
			for _, cut := range []int64{0, 150, 400} {
				change, _ := cutAfter(cut)
				evil := newRelay(t, a, change)
				res, err := b.peer.Sync(t.Context(), evil.addr, origin, nil)
				checkBlame(t, err, evil.host.ID().String(), "", []error{ErrTruncated, ErrUnavailable})
				if b.size(origin) != 0 {
					t.Fatal("the log moved although documents are missing")
				}
				if res.Resumed+res.Documents < total || res.Documents != res.Verified {
					t.Errorf("cut after %d: %+v, with %d here before", cut, res, total)
				}
				total += res.Documents
				if got := b.documents(); got != total {
					t.Fatalf("cut after %d: %d documents stored, the results say %d", cut, got, total)
				}
				if restart {
					b.close()
					b.openStore()
					b.up(nil, single)
				}
			}
			if total == 0 || total >= n {
				t.Fatalf("%d documents came before the cuts, want some", total)
			}
			res := b.sync(a.addr(), origin)
			if res.Documents != n-total || res.Verified != n-total || res.Resumed != total {
				t.Errorf("last sync = %+v, want %d documents fetched and %d resumed", res, n-total, total)
			}
			sameCorpus(t, a, b, "main")
		})
	}
}

func TestCancelLeavesAGoodState(t *testing.T) {
	a, b := newNode(t).up(listenTCP), newNode(t).up(nil)
	a.publish("main", entriesOf(t, "doc:/x", 700, 200)...)
	ctx, cancel := context.WithCancel(t.Context())
	var served atomic.Int64
	evil := newRelay(t, a, func(path string, w http.ResponseWriter, r *http.Request, honest http.Handler) {
		if ofKind(kindPack)(path) && served.Add(1) == 2 {
			cancel()
		}
		honest.ServeHTTP(w, r)
	})
	_, err := b.peer.Sync(ctx, evil.addr, a.origin("main"), nil)
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("error = %v, want context.Canceled", err)
	}
	var blamed *SourceError
	if errors.As(err, &blamed) {
		t.Errorf("our own cancellation is blamed on the source: %v", err)
	}
	b.sync(a.addr(), a.origin("main"))
	sameCorpus(t, a, b, "main")
}

func TestCloseEndsASync(t *testing.T) {
	a, b := newNode(t).up(nil), newNode(t).up(nil)
	a.publish("main", entriesOf(t, "doc:/x", 10, 200)...)
	asked := make(chan struct{})
	evil := newRelay(t, a, func(path string, w http.ResponseWriter, r *http.Request, honest http.Handler) {
		if ofKind(kindPack)(path) {
			close(asked)
			<-r.Context().Done()
			return
		}
		honest.ServeHTTP(w, r)
	})
	result := make(chan error, 1)
	go func() {
		_, err := b.peer.Sync(context.Background(), evil.addr, a.origin("main"), nil)
		result <- err
	}()
	<-asked
	peer := b.peer
	if err := peer.Close(); err != nil {
		t.Error(err)
	}
	b.peer = nil
	if err := <-result; !errors.Is(err, ErrClosed) {
		t.Errorf("the sync ended with %v, want ErrClosed", err)
	}
	if _, err := peer.Sync(t.Context(), evil.addr, "main", nil); !errors.Is(err, ErrClosed) {
		t.Errorf("a sync after Close = %v, want ErrClosed", err)
	}
}

func TestOnlyWhatIsMissingIsFetched(t *testing.T) {
	a, b := newNode(t).up(nil), newNode(t).up(nil)
	texts := entriesOf(t, "doc:/x", 300, 2000)
	a.publish("main", texts...)
	// The follower has some of the documents from a corpus of its own.
	var mine []document.Entry
	for i := 0; i < 300; i += 3 {
		mine = append(mine, document.Entry{Document: texts[i].Document, Location: document.Location{URI: fmt.Sprint("mine:/", i), FetchedAt: testTime}})
	}
	b.publish("own", mine...)
	var sent atomic.Int64
	counting := newRelay(t, a, func(path string, w http.ResponseWriter, r *http.Request, honest http.Handler) {
		h := hold(r, honest)
		sent.Add(int64(len(h.body)))
		h.send(w)
	})
	res := b.sync(counting.addr, a.origin("main"))
	if res.Documents != 200 || res.Resumed != 100 {
		t.Errorf("first sync = %+v, want 200 documents and 100 that were here", res)
	}
	sameCorpus(t, a, b, "main")

	changed := entriesOf(t, "doc:/new", 30, 2000)
	a.publish("main", changed...)
	var want int64
	for _, e := range changed {
		want += int64(e.Document.Header().Bytes)
	}
	sent.Store(0)
	res = b.sync(counting.addr, a.origin("main"))
	if res.Documents != 30 || res.Bytes != want {
		t.Errorf("second sync = %+v, want 30 documents of %d bytes", res, want)
	}
	t.Logf("bytes sent ÷ bytes changed = %.2f", float64(sent.Load())/float64(want))
	if ratio := float64(sent.Load()) / float64(want); ratio > 2.5 {
		t.Errorf("%.2f bytes were sent for each byte that changed", ratio)
	}
	sameCorpus(t, a, b, "main")
}

func TestAFollowerServesOnWhatItFollows(t *testing.T) {
	a, b, c := newNode(t).up(listenTCP), newNode(t).up(listenTCP), newNode(t).up(nil)
	a.publish("main", entriesOf(t, "doc:/x", 40, 500)...)
	b.sync(a.addr(), "main")
	origin := a.origin("main")
	a.close() // the publisher is away

	list, err := c.peer.Corpora(t.Context(), b.addr())
	if err != nil || len(list) != 1 || list[0].Origin != origin || list[0].Publisher != a.id || list[0].Peer != b.id || list[0].Size != 40 {
		t.Fatalf("corpora = %+v, %v, want one of %s", list, err, origin)
	}
	if res := c.sync(b.id, "main"); res.Documents != 40 || res.Origin != origin {
		t.Errorf("sync from the follower = %+v", res)
	}
	a.openStore()
	sameCorpus(t, a, c, "main")
}

func TestSyncOverPlainHTTP(t *testing.T) {
	a, b := newNode(t).up(nil), newNode(t).up(nil)
	a.publish("main", entriesOf(t, "doc:/x", 40, 500)...)
	server := httptest.NewServer(a.peer.Handler())
	defer server.Close()
	if res := b.sync(server.URL, "main"); res.Documents != 40 {
		t.Errorf("sync = %+v", res)
	}
	sameCorpus(t, a, b, "main")
	// The same with the folder spelt out, and from a handler without a key.
	open, err := Handler(a.shared, ServeConfig{})
	if err != nil {
		t.Fatal(err)
	}
	again := httptest.NewServer(http.StripPrefix("/pub", open))
	defer again.Close()
	c := newNode(t).up(nil)
	if res := c.sync(again.URL+"/pub"+PathPrefix, a.origin("main")); res.Documents != 40 {
		t.Errorf("sync = %+v", res)
	}
	for _, bad := range []string{
		"http://", "http://user:secret@127.0.0.1/", "http://127.0.0.1/?q=1", "http://127.0.0.1/#x", "http://%zz/", "ftp://127.0.0.1/",
	} {
		_, err := c.peer.Sync(t.Context(), bad, "main", nil)
		if !errors.Is(err, ErrAddress) || strings.Contains(err.Error(), "secret") {
			t.Errorf("sync from %q = %v, want ErrAddress", bad, err)
		}
	}
}

func TestCorpusNamesAreResolvedWithoutGuessing(t *testing.T) {
	a, b, c := newNode(t).up(listenTCP), newNode(t).up(listenTCP), newNode(t).up(nil)
	a.publish("main", entriesOf(t, "doc:/a", 3, 200)...)
	a.publish("other", entriesOf(t, "doc:/o", 3, 200)...)
	b.publish("main", entriesOf(t, "doc:/b", 3, 200)...)
	b.sync(a.addr(), "main") // b now serves two corpora named main
	for _, k := range []struct {
		who        *node
		from, name string
		want       error
	}{
		{c, b.addr(), "main", ErrAmbiguous},
		{c, b.addr(), "nothing", ErrNoCorpus},
		{c, b.addr(), "", ErrNoCorpus},
		{c, b.addr(), a.origin("other"), ErrMissing},
		{a, b.addr(), a.origin("main"), ErrOwn},
		{c, "12D3KooWDpJ7As7BWAwRMfu1VU2WCqNjvq387JEYKDBj4kx6nXTN", "main", ErrNotConnected},
		{c, "nobody", "main", ErrAddress},
		{c, "/ip4/127.0.0.1/tcp/1", "main", ErrAddress},
		{c, "", "main", ErrAddress},
		{a, a.addr(), "main", ErrSelf},
		{a, a.id, "main", ErrSelf},
	} {
		_, err := k.who.peer.Sync(t.Context(), k.from, k.name, nil)
		if !errors.Is(err, k.want) {
			t.Errorf("sync of %q from %s = %v, want %v", k.name, k.from, err, k.want)
		}
	}
	for _, origin := range []string{"a/b/c", a.id + "/../x", "x/main", "QmcgpsyWgH8Y8ajJz1Cu72KnS5uo2Aa2LpzU7kinSupNKC/main"} {
		if _, err := c.peer.Sync(t.Context(), b.addr(), origin, nil); err == nil {
			t.Errorf("sync of %q was accepted", origin)
		}
	}
	if got := c.documents(); got != 0 {
		t.Errorf("%d documents stored", got)
	}
	c.sync(b.addr(), a.origin("main"))
	c.sync(b.addr(), b.origin("main"))
	sameCorpus(t, a, c, "main")
	sameCorpus(t, b, c, "main")
}

func TestOneSyncOfACorpusAtATime(t *testing.T) {
	a, b := newNode(t).up(nil), newNode(t).up(nil)
	a.publish("main", entriesOf(t, "doc:/x", 10, 200)...)
	asked, goOn := make(chan struct{}), make(chan struct{})
	evil := newRelay(t, a, func(path string, w http.ResponseWriter, r *http.Request, honest http.Handler) {
		if ofKind(kindPack)(path) {
			close(asked)
			<-goOn
		}
		honest.ServeHTTP(w, r)
	})
	result := make(chan error, 1)
	go func() {
		_, err := b.peer.Sync(context.Background(), evil.addr, a.origin("main"), nil)
		result <- err
	}()
	<-asked
	if _, err := b.peer.Sync(t.Context(), evil.addr, a.origin("main"), nil); !errors.Is(err, ErrSyncing) {
		t.Errorf("a second sync = %v, want ErrSyncing", err)
	}
	close(goOn)
	if err := <-result; err != nil {
		t.Error(err)
	}
}

// Ctrl-C, and the same command again: what is being stored for the first one is no
// reason to refuse the second.
func TestACallThatWasCalledOffIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &Peer{held: make(map[string]*holding)}
		id := mustCorpus(t, testPeer+"/main")
		first, callOff := context.WithCancel(t.Context())
		release, err := p.hold(first, id, ErrSyncing)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.hold(t.Context(), id, ErrUnsyncing); !errors.Is(err, ErrSyncing) {
			t.Errorf("beside a sync: %v, want ErrSyncing", err)
		}
		callOff()
		again := make(chan error, 1)
		go func() {
			release, err := p.hold(t.Context(), id, ErrSyncing)
			again <- err
			if err == nil {
				release()
			}
		}()
		hasty, leave := context.WithTimeout(t.Context(), time.Second)
		defer leave()
		if _, err := p.hold(hasty, id, ErrSyncing); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("while the first one ends: %v, want that it waits", err)
		}
		if len(again) > 0 {
			t.Fatal("two calls work on one corpus")
		}
		release()
		if err := <-again; err != nil {
			t.Errorf("after the first one has ended: %v", err)
		}
		synctest.Wait()
		if len(p.held) != 0 {
			t.Errorf("%d corpora are still held", len(p.held))
		}
	})
}

func TestProofsThatArePublishedVerify(t *testing.T) {
	a := newNode(t).up(nil)
	a.publish("main", entryOf(t, "doc:/x", textOf("doc:/x", 20000)))
	server := httptest.NewServer(a.peer.Handler())
	defer server.Close()
	recs, err := a.shared.Corpora().Records(t.Context(), a.origin("main"), 0, 1)
	if err != nil {
		t.Fatal(err)
	}
	header := recs[0].Header
	if header.Chunks < 3 {
		t.Fatalf("the document has %d chunks, want several", header.Chunks)
	}
	for chunk := range header.Chunks {
		file := getBody(t, server, resource{kind: kindProof, corpus: mustCorpus(t, a.origin("main")), root: header.Root, chunk: chunk})
		verifyProof(t, file, a.signer("main").Verifier(), header.Root, chunk)
	}
}

func getBody(t *testing.T, server *httptest.Server, r resource) []byte {
	t.Helper()
	res, err := server.Client().Get(server.URL + PathPrefix + r.path())
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		t.Fatalf("GET %s: status %d", r.path(), res.StatusCode)
	}
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return body
}
