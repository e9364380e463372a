package peer

import (
	"bytes"
	"errors"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"arborist/document"
	"arborist/document/filter"
	"arborist/proof"
)

// makeFilter signs the filter of a corpus of the node.
func (n *node) makeFilter(name string) {
	n.t.Helper()
	if err := n.shared.Corpora().MakeFilter(n.t.Context(), n.origin(name), n.signer(name)); err != nil {
		n.t.Fatal(err)
	}
}

// A watched is what peers asked a node for, by kind of resource.
type watched struct {
	mu    sync.Mutex
	asked []kind // guarded by mu
}

func (w *watched) count(of kind) (n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, k := range w.asked {
		if k == of {
			n++
		}
	}
	return n
}

// watch serves what peers ask for through alter, which may be nil, and notes it.
func (n *node) watch(alter func(kind, []byte) []byte) *watched {
	n.t.Helper()
	w := new(watched)
	if err := n.peer.server.close(); err != nil {
		n.t.Fatal(err)
	}
	next := n.peer.handler
	n.peer.server = serveStreams(n.peer.host, http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		res, _ := parseRequest(r)
		w.mu.Lock()
		w.asked = append(w.asked, res.kind)
		w.mu.Unlock()
		if alter == nil {
			next.ServeHTTP(out, r)
			return
		}
		whole := httptest.NewRecorder()
		next.ServeHTTP(whole, r)
		maps.Copy(out.Header(), whole.Header())
		out.Header().Del("Content-Length")
		out.WriteHeader(whole.Code)
		out.Write(alter(res.kind, whole.Body.Bytes()))
	}), n.peer.traffic)
	return w
}

func TestOnlyThoseAreAskedWhoseFilterDoesNotDeny(t *testing.T) {
	a, b, c := newNode(t).up(listenTCP), newNode(t).up(listenTCP), newNode(t).up(listenTCP)
	seen := make(map[*node]*watched)
	for _, n := range []*node{a, b, c} {
		n.publish("main", entriesOf(t, "doc:/"+n.id, 5, 300)...)
		seen[n] = n.watch(nil)
	}
	wanted, later := entryOf(t, "doc:/wanted", "What is looked for."), entryOf(t, "doc:/later", "What came later.")
	b.publish("main", wanted)
	b.withdraw("main", "doc:/wanted")
	a.makeFilter("main")
	b.makeFilter("main") // c has none
	asker := joined(t, a.addr(), b.addr(), c.addr())
	get := func(root document.Root, from *node, why string) {
		t.Helper()
		doc, origin, err := asker.peer.Get(t.Context(), "", "", root)
		if err != nil || doc.Root() != root || origin != from.origin("main") {
			t.Fatalf("%s: %q, %v", why, origin, err)
		}
	}
	get(wanted.Document.Root(), b, "a document that was withdrawn")
	if p, err := asker.peer.Prove(t.Context(), "", "", wanted.Document.Root(), 0); err != nil || p.Claim.Origin != b.origin("main") {
		t.Errorf("prove: %v", err)
	}
	for n, docs := range map[*node]int{a: 0, b: 1, c: 0} {
		if got := seen[n].count(kindDoc); got != docs {
			t.Errorf("a node that can have it: %v; it was asked %d times, want %d", n == b, got, docs)
		}
		if fuses := seen[n].count(kindFuse); n != c && fuses != 1 {
			t.Errorf("a filter was fetched %d times for two look-ups", fuses)
		}
	}
	_, _, err := asker.peer.Get(t.Context(), "", "", document.Root{1})
	if !errors.Is(err, ErrMissing) || seen[a].count(kindDoc)+seen[b].count(kindDoc) != 1 || seen[c].count(kindDoc) != 1 {
		t.Errorf("a root that is nowhere: %v; want that the one without a filter is asked, and no other", err)
	}
	b.publish("main", later)
	get(later.Document.Root(), b, "a document that is newer than the filter")
	if n := seen[a].count(kindDoc); n != 0 {
		t.Errorf("the one whose filter is up to date and denies it was asked %d times", n)
	}
}

func TestAFilterThatWasTamperedWithCountsForNothing(t *testing.T) {
	for what, change := range map[kind]func([]byte) []byte{
		kindFilter: func(b []byte) []byte { return bytes.Replace(b, []byte("size "), []byte("size 1"), 1) },
		kindFuse:   func(b []byte) []byte { clear(b[len(b)/2:]); return b },
	} {
		a := newNode(t).up(listenTCP)
		e := entryOf(t, "doc:/x", "It is here.")
		a.publish("main", e)
		a.makeFilter("main")
		a.watch(func(of kind, b []byte) []byte {
			if of == what {
				return change(b)
			}
			return b
		})
		asker := joined(t, a.addr())
		if _, _, err := asker.peer.Get(t.Context(), "", "", e.Document.Root()); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		if known := asker.peer.Known(); len(known) != 1 || known[0].Score > -faultBytes/2 {
			t.Errorf("%s: it costs the peer nothing: %+v", what, known)
		}
	}
}

func TestWithoutConnectedPeersNobodyIsAsked(t *testing.T) {
	if _, _, err := newNode(t).up(nil).peer.Get(t.Context(), "", "", document.Root{1}); !errors.Is(err, ErrNoProvider) {
		t.Errorf("get = %v", err)
	}
}

func TestAFollowerHandsOnTheFilterOfThePublisher(t *testing.T) {
	a, b := newNode(t).up(listenTCP), newNode(t).up(listenTCP)
	origin := a.origin("main")
	get := func(n *node, path string) []byte { return fetchAs(t, n.peer.Handler(), origin+"/"+path, "") }
	a.publish("main", entriesOf(t, "doc:/", 40, 300)...)
	b.sync(a.addr(), origin) // without a filter
	for _, records := range []uint64{41, 42} {
		e := entryOf(t, "doc:/one-more", strings.Repeat("One more. ", int(records)))
		a.publish("main", e)
		a.makeFilter("main")
		b.sync(a.addr(), origin)
		note := get(b, "filter")
		head, err := proof.OpenFilter(note, a.signer("main").Verifier())
		if err != nil || head.Head.Size != records || !bytes.Equal(note, get(a, "filter")) {
			t.Fatalf("filter of %d records, %v; want the publisher's of %d", head.Head.Size, err, records)
		}
		path := resource{kind: kindFuse, corpus: mustCorpus(t, origin), sum: head.Sum}.path()
		raw := fetchAs(t, b.peer.Handler(), path, "")
		f, err := filter.Parse(raw)
		if err != nil || !bytes.Equal(raw, fetchAs(t, a.peer.Handler(), path, "")) || !f.MayHold(e.Document.Root()) {
			t.Fatalf("its bytes are others, %v", err)
		}
	}
	w := a.watch(nil)
	c := newNode(t).up(nil)
	for range 2 {
		c.sync(a.addr(), origin)
	}
	if notes, fuses := w.count(kindFilter), w.count(kindFuse); notes != 1 || fuses != 1 {
		t.Errorf("two syncs of one head asked for %d notes and %d filters", notes, fuses)
	}
}
