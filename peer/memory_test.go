package peer

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"arborist/document"
	"arborist/proof"
)

// syncerOf returns a sync of a corpus from a URL, as it is before it fetches.
func syncerOf(t *testing.T, id CorpusID, url string) *syncer {
	t.Helper()
	src, err := openURL(url, Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(src.close)
	b := newNode(t)
	s := &syncer{ctx: t.Context(), src: src, pool: &pool{members: []*member{{source: src}}}, corpus: id, shared: b.shared, store: b.shared.Corpora(), streams: 4}
	note, err := src.get(t.Context(), resource{kind: kindCheckpoint, corpus: id}, maxCheckpoint)
	if err != nil {
		t.Fatal(err)
	}
	head, err := proof.ReadCheckpoint(note)
	if err != nil {
		t.Fatal(err)
	}
	if s.tree, err = openTree(t.Context(), src, id, head.Size, head.Root); err != nil {
		t.Fatal(err)
	}
	return s
}

// A node breaks off a reply that nobody reads. So however long documents take to
// be stored, none may be on its way meanwhile.
func TestNoReplyWaitsWhileDocumentsAreStored(t *testing.T) {
	a := newNode(t).up(nil)
	var entries []document.Entry
	for i := range 12 { // 96 MiB in one bundle
		entries = append(entries, entryOf(t, fmt.Sprint("doc:/", i), textOf(fmt.Sprint(i), 8<<20)))
	}
	a.publish("main", entries...)
	var replies atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		replies.Add(1)
		defer replies.Add(-1)
		a.peer.Handler().ServeHTTP(w, r)
	}))
	defer server.Close()
	ctx, cancel := context.WithCancel(t.Context())
	f := newFetcher(ctx, syncerOf(t, mustCorpus(t, a.origin("main")), server.URL), 0)
	done := make(chan struct{})
	go func() {
		defer close(done)
		f.run()
	}()
	bundle := <-f.order
	for range 3 { // nothing is released, so the memory is full
		<-(<-bundle.items).ready
	}
	for began := time.Now(); replies.Load() > 0; time.Sleep(10 * time.Millisecond) {
		if time.Since(began) > writeTime/2 {
			t.Fatal("a reply waits")
		}
	}
	cancel()
	<-done
}

// TestASyncHoldsFewDocumentsAtATime hands large documents through the fetcher
// the way a sync does, without the cost of indexing them.
func TestASyncHoldsFewDocumentsAtATime(t *testing.T) {
	a := newNode(t)
	const n, size = 24, 8 << 20 // 192 MiB in one bundle
	texts := make(map[document.Root][]byte)
	var lines [][]byte
	base := textOf("x", size)
	one := entryOf(t, "doc:/x", base)
	for i := range n {
		e := one
		e.Location.URI = fmt.Sprint("doc:/", i)
		lines = append(lines, lineOf(t, recordOf(e, document.ID{})))
	}
	texts[one.Document.Root()] = one.Document.Text()
	files := publishFiles(t, a, lines, texts)
	s := syncerOf(t, mustCorpus(t, a.origin("main")), files.serve(t))
	// What is live once the fetcher has filled its budget and waits: in between,
	// a collection also counts what was allocated while it ran, however short.
	live := func() uint64 {
		var m runtime.MemStats
		last := uint64(0)
		for range 50 {
			runtime.GC()
			runtime.ReadMemStats(&m)
			if m.HeapAlloc < last+1<<20 && last < m.HeapAlloc+1<<20 {
				break
			}
			last = m.HeapAlloc
			time.Sleep(10 * time.Millisecond)
		}
		return m.HeapAlloc
	}
	before, peak, taken := live(), uint64(0), 0
	f := newFetcher(t.Context(), s, 0)
	done := make(chan struct{})
	go func() {
		defer close(done)
		f.run()
	}()
	st := &storer{syncer: s, ctx: t.Context(), fetcher: f}
	for bundle := range f.order {
		for it := range bundle.items {
			<-it.ready
			if it.err != nil {
				t.Fatal(it.err)
			}
			f.budget.release(bundle.index, int64(it.record.Header.Bytes))
			st.bytes = -size // never full: what is kept is seen below
			if err := st.take(it); err != nil {
				t.Fatal(err)
			}
			clear(st.entries)
			peak = max(peak, live())
			taken++
		}
		if bundle.err != nil {
			t.Fatal(bundle.err)
		}
		f.budget.advance()
	}
	<-done
	grown := int64(peak) - int64(before)
	t.Logf("%d documents of %d MiB, at most %d MiB more in memory", taken, size>>20, grown>>20)
	if limit := int64(fetchMemory + 3*size); taken != n || grown > limit {
		t.Errorf("%d documents; memory grew by %d MiB, want at most %d", taken, grown>>20, limit>>20)
	}
}
