package peer

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/ipfs/go-cid"
	"github.com/multiformats/go-multibase"
	mh "github.com/multiformats/go-multihash"

	"arborist/document"
	"arborist/merkle"
	"arborist/shard/corpus"
)

// ask asks a gateway; headers are names and values in turn.
func (g *gateway) ask(method, target string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, target, nil)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	g.ServeHTTP(w, r)
	return w
}

func TestEveryLeafAndNodeOfAListedDocumentIsABlock(t *testing.T) {
	a, private := newNode(t).up(nil), entryOf(t, "doc:/p", "A text that no corpus lists.")
	one, many, gone := entryOf(t, "doc:/one", "One chunk."), entryOf(t, "doc:/many", textOf("many", 30000)), entryOf(t, "doc:/gone", "It was withdrawn.")
	if _, err := a.shared.Put(t.Context(), []document.Entry{private}); err != nil {
		t.Fatal(err)
	}
	a.publish("main", one, many, gone)
	a.withdraw("main", "doc:/gone")
	g := newGateway(a.peer.handler)
	walked := 0
	var walk func(root merkle.Hash) (text []byte)
	walk = func(root merkle.Hash) []byte {
		walked++
		w := g.ask(http.MethodGet, "/ipfs/"+document.Root(root).String()+"?format=raw")
		block := w.Body.Bytes()
		if w.Code != http.StatusOK || sha256.Sum256(block) != root {
			t.Fatalf("block %s: status %d, %d bytes", document.Root(root), w.Code, len(block))
		}
		if block[0] == 0 {
			return block[1:]
		}
		return append(walk(merkle.Hash(block[1:33])), walk(merkle.Hash(block[33:]))...)
	}
	for _, e := range []document.Entry{one, many, gone} {
		if text := walk(merkle.Hash(e.Document.Root())); string(text) != string(e.Document.Text()) {
			t.Errorf("%s: walked to %d bytes, want %d", e.Location.URI, len(text), len(e.Document.Text()))
		}
	}
	if want := 2*many.Document.Chunks() - 1 + 2; walked != want || many.Document.Chunks() < 5 {
		t.Errorf("%d blocks, want %d", walked, want)
	}
	for what, root := range map[string]document.Root{"unlisted": private.Document.Root(), "nowhere": {1}} {
		if w := g.ask(http.MethodGet, "/ipfs/"+root.String()+"?format=raw"); w.Code != http.StatusNotFound || w.Body.String() != errNothing.body {
			t.Errorf("%s: %d %q", what, w.Code, w.Body)
		}
	}
}

func TestTheGatewaySaysWhatItServes(t *testing.T) {
	a := newNode(t).up(nil)
	e := entryOf(t, "doc:/x", "A block.")
	a.publish("main", e)
	g := newGateway(a.peer.handler)
	root := e.Document.Root()
	text := root.String()
	at, etag := "/ipfs/"+text, `"`+text+`.raw"`
	hash, err := mh.Encode(root[:], mh.SHA2_256)
	if err != nil {
		t.Fatal(err)
	}
	in36, err := cid.NewCidV1(cid.Raw, hash).StringOfBase(multibase.Base36)
	if err != nil {
		t.Fatal(err)
	}
	dagPB := cid.NewCidV1(cid.DagProtobuf, hash).String()
	for _, c := range []struct {
		method, target string
		headers        []string
		want           int
	}{
		{"GET", at + "?format=raw", nil, 200},
		{"HEAD", at + "?format=raw", nil, 200},
		{"GET", at, []string{"Accept", "application/vnd.ipld.raw"}, 200},
		{"GET", at, []string{"Accept", "text/html, Application/VND.ipld.raw;q=0.5"}, 200},
		{"GET", at, []string{"Accept", "text/html", "Accept", "application/vnd.ipld.raw"}, 200},
		{"GET", at + "?format=raw", []string{"Accept", "text/html"}, 200}, // the parameter goes first
		{"GET", at + "?format=car", []string{"Accept", "application/vnd.ipld.raw"}, 406},
		{"GET", at + "?format=raw&format=car", nil, 406},
		{"GET", at, []string{"Accept", "text/html,*/*"}, 406},
		{"GET", at, []string{"Accept", "application/vnd.ipld.car"}, 406},
		{"GET", at, []string{"Accept", "application/vnd.ipld.raw;q=0"}, 406},
		{"GET", at, []string{"Accept", "*/*"}, 400},
		{"GET", at, nil, 400},
		{"GET", at + "/x?format=raw", nil, 400},
		{"GET", "/ipfs/?format=raw", nil, 400},
		{"GET", "/ipfs/nonsense?format=raw", nil, 400},
		{"GET", "/ipfs/" + in36 + "?format=raw", nil, 200},
		{"GET", "/ipfs/" + dagPB + "?format=raw", nil, 404},
		{"GET", "/ipfs/" + cid.NewCidV0(hash).String() + "?format=raw", nil, 404},
		{"GET", "/ipfs/bafkqaaa?format=raw", nil, 200}, // the empty block, which names itself
		{"GET", "/ipfs/" + identityCID(t, maxInline) + "?format=raw", nil, 200},
		{"GET", "/ipfs/" + identityCID(t, maxInline+1) + "?format=raw", nil, 404},
		{"POST", at + "?format=raw", nil, 405},
		{"GET", at + "?format=raw", []string{"If-None-Match", `"x", W/` + etag}, 304},
		{"GET", at + "?format=raw", []string{"If-None-Match", `"x"`}, 200},
		{"GET", "/arborist/v1/corpora", nil, 200},
		{"GET", "/ipns/" + text, nil, 404},
	} {
		w := g.ask(c.method, c.target, c.headers...)
		if w.Code != c.want {
			t.Errorf("%s %s %q: status %d, want %d", c.method, c.target, c.headers, w.Code, c.want)
		}
		if c.want == 405 && w.Header().Get("Allow") != "GET, HEAD" {
			t.Errorf("Allow: %q", w.Header().Get("Allow"))
		}
	}
	for _, method := range []string{http.MethodGet, http.MethodHead} {
		w := g.ask(method, at+"?format=raw")
		for name, want := range map[string]string{
			"Content-Type": "application/vnd.ipld.raw", "Content-Length": "9", "Etag": etag, "X-Content-Type-Options": "nosniff",
			"Content-Disposition": `attachment; filename="` + text + `.bin"`, "Cache-Control": "public, max-age=31536000, immutable",
			"X-Ipfs-Path": at, "X-Ipfs-Roots": text, "Vary": "Accept", "Access-Control-Allow-Origin": "",
		} {
			if got := w.Header().Get(name); got != want {
				t.Errorf("%s: %s is %q, want %q", method, name, got, want)
			}
		}
		if body := w.Body.String(); body != map[string]string{"GET": "\x00A block.", "HEAD": ""}[method] {
			t.Errorf("%s: body %q", method, body)
		}
	}
}

// identityCID returns a CID that names itself a block of so many bytes.
func identityCID(t *testing.T, size int) string {
	t.Helper()
	hash, err := mh.Sum(make([]byte, size), mh.IDENTITY, -1)
	if err != nil {
		t.Fatal(err)
	}
	return cid.NewCidV1(cid.Raw, hash).String()
}

func TestBlocksGrowAndGoWithTheirCorpora(t *testing.T) {
	a, b := newNode(t).up(listenTCP), newNode(t).up(nil)
	first, later := entryOf(t, "doc:/1", "First."), entryOf(t, "doc:/2", "Later.")
	a.publish("main", first)
	b.sync(a.addr(), "main")
	index := &blocks{shared: b.shared}
	has := func(e document.Entry, want bool) {
		t.Helper()
		index.looked = time.Time{} // as if the pause were over
		_, err := index.block(t.Context(), merkle.Hash(e.Document.Root()), freely)
		if (err == nil) != want || err != nil && !errors.Is(err, corpus.ErrNotFound) {
			t.Errorf("%s: %v, want it there: %v", e.Location.URI, err, want)
		}
	}
	has(first, true)
	has(later, false)
	a.publish("main", later)
	b.sync(a.addr(), "main")
	has(later, true)
	has(first, true)
	if _, _, err := b.peer.Unsync(t.Context(), a.origin("main")); err != nil {
		t.Fatal(err)
	}
	has(first, false)
	index.looked = time.Now() // the log is asked, whatever is remembered
	b.sync(a.addr(), "main")
	has(first, true)
	if _, _, err := b.peer.Unsync(t.Context(), a.origin("main")); err != nil {
		t.Fatal(err)
	}
	index.looked = time.Now()
	if _, err := index.block(t.Context(), merkle.Hash(first.Document.Root()), freely); !errors.Is(err, corpus.ErrNotFound) {
		t.Errorf("a corpus that is not followed any more: %v", err)
	}
}

func TestTheGatewayIsThereWhereItIsWanted(t *testing.T) {
	for _, on := range []bool{false, true} {
		a := newNode(t).up(nil, func(c *Config) { c.Gateway = on })
		e := entryOf(t, "doc:/x", "A block.")
		a.publish("main", e)
		web, err := a.peer.ListenHTTP("127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer web.Close()
		path := "/ipfs/" + e.Document.Root().String() + "?format=raw"
		for host, want := range map[string]bool{"localhost": on, "example.org": false} {
			reply := string(rawGet(t, web.addr.String(), fmt.Sprintf("GET %s HTTP/1.1\r\nHost: %s\r\n\r\n", path, host)))
			if got := strings.HasPrefix(reply, "HTTP/1.1 200"); got != want {
				t.Errorf("wanted %v, as %s: %.40q", on, host, reply)
			}
		}
		w := httptest.NewRecorder()
		a.peer.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		if w.Code != http.StatusNotFound {
			t.Errorf("over a stream it is there: %d", w.Code)
		}
	}
}

// freely looks for blocks where nobody else wants anything.
var freely = blockWork{
	turn:   func(context.Context) (func(), error) { return func() {}, nil },
	hashed: func(int) {},
}

// Whoever asks for blocks takes its turn like all others, for the index and for each block.
func TestBlocksAreLookedForInTurns(t *testing.T) {
	a := newNode(t).up(nil)
	e := entryOf(t, "doc:/x", "A block.")
	a.publish("main", e)
	g := newGateway(a.peer.handler)
	g.turns = &turns{free: 1}
	for _, what := range []string{"the index", "a block of it"} {
		other := new(guest)
		end, err := g.turns.take(t.Context(), other)
		if err != nil {
			t.Fatal(err)
		}
		answer := make(chan int, 1)
		go func() { answer <- g.ask(http.MethodGet, "/ipfs/"+e.Document.Root().String()+"?format=raw").Code }()
		for waits := false; !waits; runtime.Gosched() {
			select {
			case status := <-answer:
				t.Fatalf("%s: status %d, while another guest had the only turn", what, status)
			default:
			}
			g.turns.mu.Lock()
			waits = len(g.turns.waiting) == 1
			g.turns.mu.Unlock()
		}
		end()
		if status := <-answer; status != http.StatusOK {
			t.Errorf("%s: status %d after the turn was given back", what, status)
		}
	}
	if g.turns.free != 1 {
		t.Error("a turn was not given back")
	}
}
