package peer

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"arborist/document"
	"arborist/merkle"
	"arborist/shard"
)

// edited returns a text with a line more in every so manieth paragraph.
func edited(text string, every int) string {
	paragraphs := strings.Split(text, "\n\n")
	for i := every / 2; i < len(paragraphs); i += every {
		paragraphs[i] += fmt.Sprintf("\nand a line that was not there, number %d.", i)
	}
	return strings.Join(paragraphs, "\n\n")
}

// An editedCorpus is a publisher of a document, a follower of its first version,
// and the second version that the follower lacks.
type editedCorpus struct {
	a, b     *node
	old, new *document.Document
}

const editedURI = "doc:/long"

func newEditedCorpus(t *testing.T, size, every int) editedCorpus {
	t.Helper()
	c := editedCorpus{a: newNode(t).up(listenTCP), b: newNode(t).up(nil)}
	text := textOf("long", size)
	first, second := entryOf(t, editedURI, text), entryOf(t, editedURI, edited(text, every))
	c.old, c.new = first.Document, second.Document
	c.a.publish("main", append(entriesOf(t, "doc:/x", 3, 300), first)...)
	c.b.sync(c.a.addr(), c.a.origin("main"))
	c.a.publish("main", append(entriesOf(t, "doc:/y", 3, 300), second)...)
	return c
}

// delta names the delta that the follower will ask for.
func (c editedCorpus) delta(t testing.TB) resource {
	return resource{kind: kindDelta, corpus: mustCorpus(t, c.a.origin("main")), root: c.new.Root(), old: c.old.Root()}
}

// counted serves the publisher's resources and counts requests by kind and bytes.
type counted struct {
	relay  *relay
	deltas atomic.Int64
	bytes  atomic.Int64
}

func newCounted(t *testing.T, n *node) *counted {
	c := new(counted)
	c.relay = newRelay(t, n, func(path string, w http.ResponseWriter, r *http.Request, honest http.Handler) {
		if ofKind(kindDelta)(path) {
			c.deltas.Add(1)
		}
		h := hold(r, honest)
		c.bytes.Add(int64(len(h.body)))
		h.send(w)
	})
	return c
}

func TestAnEditedDocumentCostsWhatChanged(t *testing.T) {
	c := newEditedCorpus(t, 1<<20, 100)
	runs, fresh := planDelta(leavesIn(t, c.new), leavesIn(t, c.old))
	var changed int64
	for _, i := range fresh {
		changed += int64(len(c.new.Chunk(i)))
	}
	source := newCounted(t, c.a)
	var last Progress
	res, err := c.b.peer.Sync(t.Context(), source.relay.addr, c.a.origin("main"), func(p Progress) {
		if p.Stage == "fetch" {
			last = p
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	var small int64
	for _, e := range entriesOf(t, "doc:/y", 3, 300) {
		small += int64(len(e.Document.Text()))
	}
	if source.deltas.Load() != 1 || res.Documents != 4 || res.Verified != 4 {
		t.Errorf("%d deltas were asked for, result %+v", source.deltas.Load(), res)
	}
	if want := changed + small; res.Bytes != want || last.Bytes != want || res.Sources[0].Bytes != want {
		t.Errorf("%d bytes are said to have come (progress %d, source %d), want %d", res.Bytes, last.Bytes, res.Sources[0].Bytes, want)
	}
	t.Logf("%d runs, %d of %d chunks are new, %d bytes; %d bytes were sent", len(runs), len(fresh), c.new.Chunks(), changed, source.bytes.Load())
	if sent := source.bytes.Load(); sent > changed*3/2 {
		t.Errorf("%d bytes were sent for %d that changed", sent, changed)
	}
	sameCorpus(t, c.a, c.b, "main")
}

// leavesIn returns the leaf hashes of a document.
func leavesIn(t testing.TB, d *document.Document) []merkle.Hash {
	t.Helper()
	leaves := make([]merkle.Hash, d.Chunks())
	for i := range leaves {
		leaves[i] = merkle.LeafHash(d.Chunk(i))
	}
	return leaves
}

func TestADeltaIsTheSameOverStreamsAndHTTP(t *testing.T) {
	c := newEditedCorpus(t, 256<<10, 50)
	server := httptest.NewServer(c.a.peer.Handler())
	defer server.Close()
	want := getBody(t, server, c.delta(t))
	src, err := c.b.peer.connected(c.a.id)
	if err != nil {
		t.Fatal(err)
	}
	defer src.close()
	got, err := src.get(t.Context(), c.delta(t), 1<<20)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("a delta of %d bytes over a stream, %d over HTTP, %v", len(got), len(want), err)
	}
	if res := c.b.sync(server.URL, c.a.origin("main")); res.Bytes > int64(len(want))+2000 {
		t.Errorf("sync over HTTP: %+v, the delta has %d bytes", res, len(want))
	}
	sameCorpus(t, c.a, c.b, "main")
}

func TestWithoutADeltaTheDocumentComesWhole(t *testing.T) {
	for name, refuse := range map[string]func(w http.ResponseWriter){
		"a server of before": func(w http.ResponseWriter) { http.NotFound(w, nil) },
		"a bucket":           func(w http.ResponseWriter) { w.WriteHeader(http.StatusForbidden) },
		"it fails":           func(w http.ResponseWriter) { w.WriteHeader(http.StatusInternalServerError) },
		"it breaks off":      func(w http.ResponseWriter) { panic(http.ErrAbortHandler) },
	} {
		t.Run(name, func(t *testing.T) {
			c := newEditedCorpus(t, 256<<10, 50)
			var asked atomic.Int64
			old := newRelay(t, c.a, func(path string, w http.ResponseWriter, r *http.Request, honest http.Handler) {
				if ofKind(kindDelta)(path) {
					asked.Add(1)
					refuse(w)
					return
				}
				honest.ServeHTTP(w, r)
			})
			res := c.b.sync(old.addr, c.a.origin("main"))
			if asked.Load() == 0 || res.Documents != 4 || res.Bytes < int64(len(c.new.Text())) || res.Sources[0].Err != nil {
				t.Errorf("%d deltas were asked for, result %+v", asked.Load(), res)
			}
			sameCorpus(t, c.a, c.b, "main")
		})
	}
}

func TestASourceWithoutDeltasIsNotAskedForEver(t *testing.T) {
	a, b := newNode(t).up(nil), newNode(t).up(nil)
	const n = 8
	text := func(i int) string { return textOf(fmt.Sprint("long", i), minDelta) }
	var first, second []document.Entry
	for i := range n {
		uri := fmt.Sprint(editedURI, i)
		first, second = append(first, entryOf(t, uri, text(i))), append(second, entryOf(t, uri, edited(text(i), 20)))
	}
	a.publish("main", first...)
	var deltas, packs atomic.Int64
	old := newRelay(t, a, func(path string, w http.ResponseWriter, r *http.Request, honest http.Handler) {
		switch {
		case ofKind(kindDelta)(path):
			deltas.Add(1)
			http.NotFound(w, r)
			return
		case ofKind(kindPack)(path):
			packs.Add(1)
		}
		honest.ServeHTTP(w, r)
	})
	b.sync(old.addr, a.origin("main"))
	a.publish("main", second...)
	if res := b.sync(old.addr, a.origin("main")); res.Documents != n || deltas.Load() != maxFailures {
		t.Errorf("%d deltas were asked for, want %d; result %+v", deltas.Load(), maxFailures, res)
	}
	sameCorpus(t, a, b, "main")
}

func TestWhatIsSmallOrNewIsNotAskedForAsADelta(t *testing.T) {
	a, b := newNode(t).up(nil), newNode(t).up(nil)
	small, large := textOf("small", minDelta/2), textOf("large", minDelta+2000)
	a.publish("main", entryOf(t, "doc:/small", small), entryOf(t, "doc:/other", large))
	source := newCounted(t, a)
	b.sync(source.relay.addr, a.origin("main"))
	a.publish("main",
		entryOf(t, "doc:/small", edited(small, 10)),
		entryOf(t, "doc:/new", textOf("new", minDelta+2000)),
		entryOf(t, "doc:/other", large+textOf("much more", 3*minDelta))) // more than half is new
	b.sync(source.relay.addr, a.origin("main"))
	if n := source.deltas.Load(); n != 0 {
		t.Errorf("%d deltas were asked for", n)
	}
	sameCorpus(t, a, b, "main")
}

// A rewritten document shares nothing with what was there, which the follower
// cannot know.
func TestARewrittenDocumentComesWhole(t *testing.T) {
	a, b := newNode(t).up(nil), newNode(t).up(nil)
	a.publish("main", entryOf(t, editedURI, textOf("one", 150<<10)))
	source := newCounted(t, a)
	b.sync(source.relay.addr, a.origin("main"))
	second := entryOf(t, editedURI, textOf("two", 150<<10))
	a.publish("main", second)
	if res := b.sync(source.relay.addr, a.origin("main")); source.deltas.Load() != 1 || res.Bytes != int64(len(second.Document.Text())) {
		t.Errorf("%d deltas were asked for, result %+v", source.deltas.Load(), res)
	}
	sameCorpus(t, a, b, "main")
}

func TestAFollowerOfManyVersionsTakesEachAsADelta(t *testing.T) {
	a, b := newNode(t).up(nil), newNode(t).up(nil)
	text := textOf("long", 200<<10)
	a.publish("main", entryOf(t, editedURI, text))
	source := newCounted(t, a)
	b.sync(source.relay.addr, a.origin("main"))
	for i := range 3 {
		text = edited(text, 500+i)
		a.publish("main", entryOf(t, editedURI, text))
	}
	if res := b.sync(source.relay.addr, a.origin("main")); source.deltas.Load() != 3 || res.Bytes > int64(len(text))/3 {
		t.Errorf("%d deltas were asked for, result %+v", source.deltas.Load(), res)
	}
	sameCorpus(t, a, b, "main")
}

// A repair has taken the old version out of the shards, and the log lists it still.
func TestAVersionThatIsLostIsNoSourceOfADelta(t *testing.T) {
	c := newEditedCorpus(t, 256<<10, 50)
	damage(t, c.b, c.old.Root())
	repair := shard.Repair{Keep: func(shard.Lost) error { return nil }, Did: func(string) {}}
	if _, err := c.b.shared.CheckWith(t.Context(), shard.CheckOptions{Repair: &repair}, func(string) {}); err != nil {
		t.Fatal(err)
	}
	source := newCounted(t, c.a)
	res := c.b.sync(source.relay.addr, c.a.origin("main"))
	if source.deltas.Load() != 0 || res.Bytes < int64(len(c.new.Text())) || res.Sources[0].Err != nil {
		t.Errorf("%d deltas were asked for, sync = %+v, want the document whole and nobody blamed", source.deltas.Load(), res)
	}
	got, err := c.b.shared.Document(t.Context(), c.new.Root())
	if err != nil || !bytes.Equal(got.Text(), c.new.Text()) {
		t.Errorf("the new version: %v", err)
	}
}

// Documents that do not fit together into the memory of a sync, with the versions that
// they are made of, come one after the other.
func TestLargeEditedDocumentsTakeTurnsInMemory(t *testing.T) {
	const n, size = 3, fetchMemory * 3 / 8 // one with its old version fits, and nothing beside
	a, b := newNode(t).up(nil), newNode(t).up(nil)
	text := textOf("long", size)
	var first, second []document.Entry
	for i := range n {
		uri, text := fmt.Sprint(editedURI, i), text+fmt.Sprint("The end of number ", i, ".")
		first, second = append(first, entryOf(t, uri, text)), append(second, entryOf(t, uri, "It begins otherwise.\n\n"+text))
	}
	a.publish("main", first...)
	source := newCounted(t, a)
	b.sync(source.relay.addr, a.origin("main"))
	a.publish("main", second...)
	if res := b.sync(source.relay.addr, a.origin("main")); source.deltas.Load() != n || res.Documents != n || res.Bytes > 64<<10 {
		t.Errorf("%d deltas were asked for, result %+v", source.deltas.Load(), res)
	}
	for _, e := range second {
		if has, err := b.shared.Has(t.Context(), []document.Root{e.Document.Root()}); err != nil || !has[0] {
			t.Errorf("%s is not here: %v", e.Location.URI, err)
		}
	}
}

// Deltas that lie. Each costs the source, leaves nothing, and the document comes from
// another one.
func TestNoLyingDeltaIsStored(t *testing.T) {
	text := textOf("long", 256<<10)
	c := editedCorpus{old: entryOf(t, editedURI, text).Document, new: entryOf(t, editedURI, edited(text, 50)).Document}
	other := entryOf(t, "doc:/other", textOf("other", 256<<10)).Document
	runs, fresh := planDelta(leavesIn(t, c.new), leavesIn(t, c.old))
	list := len(appendRuns(nil, runs))
	firstChunk := list + 2
	put := func(b []byte, at int, v uint32) []byte {
		binary.BigEndian.PutUint32(b[at:], v)
		return b
	}
	if runs[0].fresh != nil || runs[1].fresh == nil {
		t.Fatal("the text does not begin with a run of old chunks and then a new one")
	}
	n := uint32(c.new.Chunks())
	for _, k := range []struct {
		name  string
		alter func([]byte) []byte
		want  error
	}{
		{"a wrong leaf hash", func(b []byte) []byte { b[4+8+8] ^= 1; return b }, ErrTampered},
		{"another place in the old document", func(b []byte) []byte { return put(b, 4, uint32(runs[0].first)+1) }, ErrTampered},
		{"a place outside the old document", func(b []byte) []byte { return put(b, 4, n) }, ErrMalformed},
		{"a place that overflows", func(b []byte) []byte { return put(b, 4, 1<<32-2) }, ErrMalformed},
		{"a run without chunks", func(b []byte) []byte { return put(b, 8, 0) }, ErrMalformed},
		{"a list longer than the document", func(b []byte) []byte { return put(b, 8, n+1) }, ErrTooLarge},
		{"more runs than chunks", func(b []byte) []byte { return put(b, 0, n+1) }, ErrTooLarge},
		{"too few runs", func(b []byte) []byte { return put(b, 0, 1) }, ErrTruncated},
		{"more new chunks than half", func(b []byte) []byte { return put(b, 4+8+4, n/2+1) }, ErrTooLarge},
		{"all of it, said to be new", func([]byte) []byte {
			b := appendRuns(nil, []deltaRun{{count: int(n), fresh: leavesIn(t, c.new)}})
			for i := range c.new.Chunks() {
				b = appendChunk(b, c.new.Chunk(i))
			}
			return b
		}, ErrTooLarge},
		{"a list that ends early", func(b []byte) []byte { return b[:list-1] }, ErrTruncated},
		{"a right list with a wrong chunk", func(b []byte) []byte { b[firstChunk+7] ^= 1; return b }, ErrTampered},
		{"a chunk of another document", func(b []byte) []byte {
			was := len(c.new.Chunk(fresh[0]))
			return append(appendChunk(bytes.Clone(b[:list]), other.Chunk(4)), b[firstChunk+was:]...)
		}, ErrTampered},
		{"a chunk of the old version", func(b []byte) []byte {
			was := len(c.new.Chunk(fresh[0]))
			return append(appendChunk(bytes.Clone(b[:list]), c.old.Chunk(fresh[0])), b[firstChunk+was:]...)
		}, ErrTampered},
		{"a chunk longer than what is left", func(b []byte) []byte {
			b[len(b)-2-len(c.new.Chunk(fresh[len(fresh)-1]))] = 0xff
			return b
		}, ErrTooLarge},
		{"half of it", func(b []byte) []byte { return b[:len(b)/2] }, ErrTruncated},
		{"the last byte cut off", func(b []byte) []byte { return b[:len(b)-1] }, ErrTruncated},
		{"one byte more", func(b []byte) []byte { return append(b, 'x') }, ErrMalformed},
		{"endless", nil, ErrMalformed},
		{"the delta of another document", func([]byte) []byte {
			return appendRuns(nil, []deltaRun{{first: 0, count: int(n)}})
		}, ErrMalformed},
	} {
		t.Run(k.name, func(t *testing.T) {
			alter, hits := changing(ofKind(kindDelta), k.alter)
			if k.alter == nil {
				alter = func(path string, w http.ResponseWriter, r *http.Request, honest http.Handler) {
					h := hold(r, honest)
					w.Write(h.body)
					for ofKind(kindDelta)(path) {
						hits.Add(1)
						if _, err := w.Write(make([]byte, 64<<10)); err != nil {
							return
						}
					}
				}
			}
			c := newEditedCorpus(t, 256<<10, 50) // the same texts, another publisher
			evil, b := newRelay(t, c.a, alter), c.b
			documents := b.documents()
			_, err := b.peer.Sync(t.Context(), evil.addr, c.a.origin("main"), nil)
			checkBlame(t, err, evil.host.ID().String(), "delta/", []error{k.want})
			if hits.Load() == 0 {
				t.Fatal("no delta was asked for")
			}
			if has, err := b.shared.Has(t.Context(), []document.Root{c.new.Root()}); err != nil || has[0] || b.documents() > documents+3 || b.size(c.a.origin("main")) != 4 {
				t.Errorf("after the lie: %d documents, %v", b.documents(), err)
			}
			// With somebody else to ask the same lie costs its source alone.
			res, err := b.peer.SyncFrom(t.Context(), SyncRequest{From: []string{evil.addr, c.a.addr()}, Corpus: c.a.origin("main")})
			if err != nil {
				t.Fatal(err)
			}
			if use := res.Sources[0]; use.Err != nil && !errors.Is(use.Err, k.want) {
				t.Errorf("the liar was left with %v, want %v", use.Err, k.want)
			}
			sameCorpus(t, c.a, b, "main")
		})
	}
}
