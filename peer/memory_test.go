package peer

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"arborist/document"
	"arborist/proof"
)

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
	url := files.serve(t)

	src, err := openURL(url, Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer src.close()
	b := newNode(t)
	s := &syncer{ctx: t.Context(), src: src, pool: &pool{members: []*member{{source: src}}}, corpus: mustCorpus(t, a.origin("main")), shared: b.shared, store: b.shared.Corpora(), streams: 4}
	head, err := proof.ReadCheckpoint(files[resource{kind: kindCheckpoint, corpus: s.corpus}.path()])
	if err != nil {
		t.Fatal(err)
	}
	if s.tree, err = openTree(t.Context(), src, s.corpus, head.Size, head.Root); err != nil {
		t.Fatal(err)
	}
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
