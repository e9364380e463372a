package peer

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"

	"arborist/document"
	"arborist/shard"
)

// TestADeltaOfWhatIsNotListedIsNothing: neither document of a delta may be one that
// the corpus does not list, whatever else the node holds, and the refusals are those
// for nothing at all.
func TestADeltaOfWhatIsNotListedIsNothing(t *testing.T) {
	a := newNode(t).up(nil)
	text := textOf("long", 20<<10)
	entry := func(uri string, every int) document.Entry { return entryOf(t, uri, edited(text, every)) }
	one, two := entry("doc:/x", 90), entry("doc:/x", 91)
	hidden, unlisted, other, nowhere := entry("https://example.org/secret", 92), entry("doc:/u", 93), entry("doc:/o", 94), entry("doc:/n", 95)
	a.publish("main", one)
	a.publish("main", two)
	a.publish("other", other)
	if _, err := a.shared.Put(t.Context(), []document.Entry{unlisted}); err != nil {
		t.Fatal(err)
	}
	private, err := shard.OpenFile(filepath.Join(a.dir, "web.db"), shard.KindPrivate, "")
	if err != nil {
		t.Fatal(err)
	}
	defer private.Close()
	if _, err := private.Put(t.Context(), []document.Entry{hidden}); err != nil {
		t.Fatal(err)
	}
	addr := serveOpen(t, a.peer.Handler())
	path := func(d, old document.Entry) string {
		return get(resource{kind: kindDelta, corpus: mustCorpus(t, a.origin("main")), root: d.Document.Root(), old: old.Document.Root()}.path())
	}
	for _, order := range [][2]document.Entry{{one, two}, {two, one}} {
		if got := rawGet(t, addr, path(order[0], order[1])); !bytes.HasPrefix(got, []byte("HTTP/1.1 200")) || !bytes.Contains(got, []byte("immutable")) {
			t.Fatalf("the delta of two listed documents:\n%.300s", got)
		}
	}
	want := rawGet(t, addr, get(a.origin("main")+"/doc/"+nowhere.Document.Root().String()))
	for name, e := range map[string]document.Entry{"private": hidden, "unlisted": unlisted, "of another corpus": other, "nowhere": nowhere} {
		for _, p := range []string{path(one, e), path(e, one), path(e, e)} {
			if got := rawGet(t, addr, p); !bytes.Equal(got, want) {
				t.Errorf("%s: the reply to %.300q differs from the one for nothing:\n%.300s", name, p, got)
			}
		}
	}
}

func TestTooMuchThatIsNewIsNoDelta(t *testing.T) {
	a := newNode(t).up(nil)
	text, more := textOf("long", 40<<10), textOf("more", 36<<10)
	small, half, rest := entryOf(t, "doc:/small", text[:8<<10]), entryOf(t, "doc:/half", text+more), entryOf(t, "doc:/rest", text+more+textOf("rest", 12<<10))
	whole, rewritten := entryOf(t, "doc:/whole", text), entryOf(t, "doc:/rewritten", text[:8<<10]+more)
	a.publish("main", small, whole, half, rest, rewritten)
	server := httptest.NewServer(a.peer.Handler())
	defer server.Close()
	for _, c := range []struct {
		name   string
		d, old document.Entry
		want   int
	}{
		{"a little under half", half, whole, 200},
		{"over half", rest, whole, 404},
		{"over half, of one as long", rewritten, whole, 404},
		{"of a far smaller one", whole, small, 404},
		{"of a larger one", whole, rest, 200},
	} {
		res := resource{kind: kindDelta, corpus: mustCorpus(t, a.origin("main")), root: c.d.Document.Root(), old: c.old.Document.Root()}
		got, err := server.Client().Get(server.URL + PathPrefix + res.path())
		if err != nil {
			t.Fatal(err)
		}
		got.Body.Close()
		if got.StatusCode != c.want {
			t.Errorf("%s: status %d, want %d", c.name, got.StatusCode, c.want)
		}
	}
}

func TestADeltaComesInParts(t *testing.T) {
	c := newEditedCorpus(t, 64<<10, 50)
	want := hold(getRequest(c.delta(t)), c.a.peer.Handler()).body
	for _, r := range [][2]int{{0, 10}, {11, len(want) - 1}, {len(want) - 1, len(want) - 1}} {
		req := getRequest(c.delta(t))
		req.Header.Set("Range", fmt.Sprintf("bytes=%d-%d", r[0], r[1]))
		rec := httptest.NewRecorder()
		c.a.peer.Handler().ServeHTTP(rec, req)
		if rec.Code != http.StatusPartialContent || !bytes.Equal(rec.Body.Bytes(), want[r[0]:r[1]+1]) {
			t.Errorf("bytes %d to %d: status %d, %d bytes", r[0], r[1], rec.Code, rec.Body.Len())
		}
	}
}

// What a server's disk has damaged is said to be an error of the server, not sent.
func TestADamagedDocumentHasNoDelta(t *testing.T) {
	c := newEditedCorpus(t, 64<<10, 150) // the first frame has something new
	before := hold(getRequest(c.delta(t)), c.a.peer.Handler())
	damage(t, c.a, c.new.Root())
	after := hold(getRequest(c.delta(t)), c.a.peer.Handler())
	if before.status != 200 || after.status != 500 {
		t.Errorf("status %d before the damage, want 200, and %d after, want 500", before.status, after.status)
	}
}

// TestADeltaOfLargeDocumentsIsMuchWork: it is charged by the leaves that it takes,
// however little it sends.
func TestADeltaOfLargeDocumentsIsMuchWork(t *testing.T) {
	c := newEditedCorpus(t, 4<<20, 1<<20)
	h, err := Handler(c.a.shared, ServeConfig{Rate: 0.001, Burst: 20})
	if err != nil {
		t.Fatal(err)
	}
	cost := 1 + 2*c.new.Chunks()/workLeaves
	if cost < 8 {
		t.Fatalf("a delta costs %d", cost)
	}
	for i := range 20/cost + 2 {
		want := http.StatusOK
		if i*cost >= 20 {
			want = http.StatusTooManyRequests
		}
		req := getRequest(c.delta(t))
		rec := httptest.NewRecorder()
		h.ServeHTTP(rec, req)
		if rec.Code != want {
			t.Errorf("delta %d: status %d, want %d", i, rec.Code, want)
		}
	}
}
