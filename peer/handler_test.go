package peer

import (
	"bufio"
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"arborist/document"
	"arborist/shard"
)

// rawGet sends one request and returns the whole reply as it stands on the
// wire.
func rawGet(t *testing.T, addr, request string) []byte {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(10 * time.Second))
	if _, err := io.WriteString(c, request); err != nil {
		t.Fatal(err)
	}
	r := bufio.NewReader(c)
	method, _, _ := strings.Cut(request, " ")
	res, err := http.ReadResponse(r, &http.Request{Method: method})
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	raw, err := httputil.DumpResponse(res, true)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func get(path string) string {
	return "GET " + PathPrefix + path + " HTTP/1.1\r\nHost: peer\r\n\r\n"
}

// serveOpen serves a handler over TCP with the server that streams have.
func serveOpen(t testing.TB, h http.Handler) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := newServer(h)
	go s.Serve(l)
	t.Cleanup(func() { s.Close() })
	return l.Addr().String()
}

func TestPrivateAndNowhereAreTheSameByteForByte(t *testing.T) {
	const secret = "the combination of the safe is nineteen eighty four"
	a := newNode(t).up(nil)
	a.publish("main", entriesOf(t, "doc:/x", 5, 300)...)
	// A private store beside it holds the secret; so do the shards, in a
	// document that no log lists, as a crash between the two would leave it.
	private, err := shard.OpenFile(filepath.Join(a.dir, "web.db"), shard.KindPrivate, "")
	if err != nil {
		t.Fatal(err)
	}
	defer private.Close()
	hidden, unlisted := entryOf(t, "https://example.org/secret", secret), entryOf(t, "doc:/unlisted", "not listed yet")
	for _, put := range []func() ([]document.Outcome, error){
		func() ([]document.Outcome, error) { return private.Put(t.Context(), []document.Entry{hidden}) },
		func() ([]document.Outcome, error) { return a.shared.Put(t.Context(), []document.Entry{unlisted}) },
	} {
		if _, err := put(); err != nil {
			t.Fatal(err)
		}
	}
	nowhere := entryOf(t, "doc:/nowhere", "nobody has this")
	addr := serveOpen(t, a.peer.Handler())
	base := a.origin("main") + "/"
	want := rawGet(t, addr, get(base+"doc/"+nowhere.Document.Root().String()))
	if !bytes.HasPrefix(want, []byte("HTTP/1.1 404")) || !bytes.Contains(want, []byte("not found\n")) {
		t.Fatalf("reply for a document that is nowhere:\n%s", want)
	}
	other := newNode(t)
	for _, path := range []string{
		base + "doc/" + hidden.Document.Root().String(),
		base + "doc/" + unlisted.Document.Root().String(),
		base + "doc/" + document.Root(hidden.Document.Header().ID()).String(),
		base + "proof/" + hidden.Document.Root().String() + "/0",
		base + "proof/" + unlisted.Document.Root().String() + "/0",
		base + "proof/" + nowhere.Document.Root().String() + "/0",
		base + "doc/" + hidden.Location.URI,
		base + "doc/x", base + "search", base + secret[:3], "status", "", "private", "crawl/web.db", "../crawl/web.db",
		base + "pack/001", base + "pack/000.p/6", base + "tile/entries/000.p/9", base + "tile/0/007", base + "tile/3/000",
		other.origin("main") + "/checkpoint", other.origin("main") + "/key", a.origin("nothing") + "/key",
		a.origin("private") + "/pack/000",
	} {
		if got := rawGet(t, addr, get(strings.ReplaceAll(path, " ", ""))); !bytes.Equal(got, want) {
			t.Errorf("%s: the reply differs from the one for nothing:\n%s", path, got)
		}
		// Once more: no state may make the second one different.
		if got := rawGet(t, addr, get(strings.ReplaceAll(path, " ", ""))); !bytes.Equal(got, want) {
			t.Errorf("%s: the second reply differs:\n%s", path, got)
		}
	}
}

func TestRepliesHoldNothingThatVaries(t *testing.T) {
	a := newNode(t).up(nil)
	a.publish("main", entriesOf(t, "doc:/x", 3, 300)...)
	addr := serveOpen(t, a.peer.Handler())
	recs, err := a.shared.Corpora().Records(t.Context(), a.origin("main"), 0, 1)
	if err != nil {
		t.Fatal(err)
	}
	root := recs[0].Header.Root.String()
	base := a.origin("main") + "/"
	for path, cache := range map[string]string{
		"corpora": "no-cache", base + "key": "no-cache", base + "checkpoint": "no-cache", base + "proof/" + root + "/0": "no-cache",
		base + "tile/0/000.p/3": "immutable", base + "tile/0/000.p/1": "immutable", base + "tile/entries/000.p/3": "immutable",
		base + "pack/000.p/3": "immutable", base + "pack/000.p/2": "immutable", base + "doc/" + root: "immutable",
	} {
		got := rawGet(t, addr, get(path))
		if !bytes.HasPrefix(got, []byte("HTTP/1.1 200")) || !bytes.Contains(got, []byte(cache)) {
			t.Errorf("%s: want 200 and %s:\n%.300s", path, cache, got)
		}
		for _, varying := range []string{"Date:", "Server:", "Etag:", "Set-Cookie:", "Last-Modified:"} {
			if bytes.Contains(got, []byte(varying)) {
				t.Errorf("%s: the reply has a header %s", path, varying)
			}
		}
		if again := rawGet(t, addr, get(path)); !bytes.Equal(got, again) {
			t.Errorf("%s: two replies differ", path)
		}
	}
}

func TestOnlyPlainGetsAreAnswered(t *testing.T) {
	a := newNode(t).up(nil)
	a.publish("main", entriesOf(t, "doc:/x", 3, 300)...)
	addr := serveOpen(t, a.peer.Handler())
	corpora := PathPrefix + "corpora"
	for _, c := range []struct {
		name, request string
		status        int
	}{
		{"POST", "POST " + corpora + " HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n", 405},
		{"HEAD", "HEAD " + corpora + " HTTP/1.1\r\nHost: x\r\n\r\n", 405},
		{"OPTIONS *", "OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n", 405},
		{"a query", "GET " + corpora + "?a=b HTTP/1.1\r\nHost: x\r\n\r\n", 404},
		{"an empty query", "GET " + corpora + "? HTTP/1.1\r\nHost: x\r\n\r\n", 404},
		{"an escape", "GET " + PathPrefix + "corpor%61 HTTP/1.1\r\nHost: x\r\n\r\n", 404},
		{"an escaped slash", "GET " + strings.Replace(PathPrefix, "/v1/", "/v1%2F", 1) + "corpora HTTP/1.1\r\nHost: x\r\n\r\n", 404},
		{"dots", "GET " + PathPrefix + "x/../corpora HTTP/1.1\r\nHost: x\r\n\r\n", 404},
		{"another version", "GET /arborist/v2/corpora HTTP/1.1\r\nHost: x\r\n\r\n", 404},
		{"a long path", "GET " + PathPrefix + strings.Repeat("a", 3000) + " HTTP/1.1\r\nHost: x\r\n\r\n", 404},
		{"a huge header", "GET " + corpora + " HTTP/1.1\r\nHost: x\r\nX: " + strings.Repeat("a", 20000) + "\r\n\r\n", 431},
		{"no HTTP", "hello\r\n\r\n", 400},
		{"a body that comes", "GET " + corpora + " HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nbody", 413},
		{"a body that does not come", "GET " + corpora + " HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\n", 413},
		{"a body in chunks", "GET " + corpora + " HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n", 413},
	} {
		t.Run(c.name, func(t *testing.T) {
			start := time.Now()
			got := rawGet(t, addr, c.request)
			if !bytes.HasPrefix(got, fmt.Appendf(nil, "HTTP/1.1 %d", c.status)) {
				t.Errorf("want status %d:\n%.200s", c.status, got)
			}
			if d := time.Since(start); d > 5*time.Second {
				t.Errorf("the reply took %s", d)
			}
		})
	}
}

func TestAFloodOfGuessesIsSlowedDown(t *testing.T) {
	a := newNode(t).up(nil)
	a.publish("main", entriesOf(t, "doc:/x", 3, 300)...)
	h, err := Handler(a.shared, ServeConfig{Rate: 1, Burst: 100})
	if err != nil {
		t.Fatal(err)
	}
	ask := func(from string, r resource) int {
		req := getRequest(r)
		req.RemoteAddr = from
		rec := httptest.NewRecorder()
		h.ServeHTTP(rec, req)
		return rec.Code
	}
	guess := resource{kind: kindDoc, corpus: mustCorpus(t, a.origin("main"))}
	codes := make(map[int]int)
	for i := range 50 {
		guess.root[3] = byte(i + 1)
		codes[ask("192.0.2.1:1000", guess)]++
	}
	if codes[404] != 5 || codes[429] != 45 {
		t.Errorf("50 guesses gave %v, want 5 answers and 45 refusals: 100 tokens at %d a miss", codes, missCost)
	}
	// Others do not pay for it; the same host with another port does.
	if code := ask("192.0.2.2:1000", resource{kind: kindCorpora}); code != 200 {
		t.Errorf("another guest got %d", code)
	}
	if code := ask("192.0.2.1:2000", resource{kind: kindCorpora}); code != 429 {
		t.Errorf("the guesser got %d from another port", code)
	}
}

func TestGuestsAreHostsAndPeers(t *testing.T) {
	for remote, want := range map[string]string{
		"192.0.2.1:80":              "192.0.2.1",
		"[::ffff:192.0.2.1]:80":     "192.0.2.1",
		"[2001:db8:1:2:3:4:5:6]:80": "2001:db8:1:2::/64",
		"[2001:db8:1:2:9::1]:81":    "2001:db8:1:2::/64",
		"[fe80::1%eth0]:80":         "fe80::/64",
		testPeer:                    testPeer,
		"@":                         "@",
	} {
		if got := guestKey(remote); got != want {
			t.Errorf("guestKey(%q) = %q, want %q", remote, got, want)
		}
	}
}

func TestTheTableOfGuestsIsBounded(t *testing.T) {
	gs := newGuests(ServeConfig{})
	for i := range maxGuests {
		if gs.enter(fmt.Sprint(i)) == nil {
			t.Fatalf("guest %d was refused", i)
		}
	}
	if gs.enter("one more") != nil || len(gs.table) != maxGuests {
		t.Errorf("%d guests, want at most %d", len(gs.table), maxGuests)
	}
	if gs.enter("0") == nil {
		t.Error("a guest that is known was refused")
	}
}

func TestMemoryForDocumentsIsShared(t *testing.T) {
	gs := newGuests(ServeConfig{PeerBytes: document.MaxBytes, TotalBytes: document.MaxBytes + 10})
	slow, other := gs.enter("slow"), gs.enter("other")
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	release, err := gs.hold(ctx, slow, document.MaxBytes)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := gs.hold(ctx, slow, 1); err == nil {
		t.Error("a guest held more than its share")
	}
	ctx = t.Context()
	small, err := gs.hold(ctx, other, 10)
	if err != nil {
		t.Errorf("another guest was kept waiting: %v", err)
	}
	small()
	release()
	if release, err := gs.hold(ctx, slow, document.MaxBytes); err != nil {
		t.Error(err)
	} else {
		release()
	}
}

func TestServeLimitsThatCannotWorkAreRefused(t *testing.T) {
	a := newNode(t)
	for _, cfg := range []ServeConfig{
		{Rate: -1}, {Burst: 3}, {PeerBytes: 1 << 20}, {TotalBytes: 1 << 20}, {PeerBytes: 512 << 20},
	} {
		if _, err := Handler(a.shared, cfg); err == nil {
			t.Errorf("%+v was accepted", cfg)
		}
	}
}

func TestDamagedDocumentsAreLeftOutOfPacks(t *testing.T) {
	a, b := newNode(t).up(nil), newNode(t).up(nil)
	entries := entriesOf(t, "doc:/x", 6, 300)
	a.publish("main", entries...)
	damage(t, a, entries[2].Document.Root())
	evil := newRelay(t, a, honestly)
	_, err := b.peer.Sync(t.Context(), evil.addr, a.origin("main"), nil)
	checkBlame(t, err, evil.host.ID().String(), "doc/"+entries[2].Document.Root().String(), []error{ErrUnavailable, ErrMissing})
	if got := b.documents(); got != 2 {
		t.Errorf("%d documents stored, want the 2 before the damaged one", got)
	}
	if b.size(a.origin("main")) != 0 {
		t.Error("the log names a document that is not here")
	}
}

// damage changes a byte of a stored document.
func damage(t *testing.T, n *node, root document.Root) {
	t.Helper()
	for _, f := range n.shared.Files() {
		db := f.Reader()
		var id int64
		if db.QueryRow("SELECT id FROM documents WHERE root = ?", root[:]).Scan(&id) != nil {
			continue
		}
		err := f.Write(t.Context(), func(tx *sql.Tx) error {
			var frame []byte
			if err := tx.QueryRow("SELECT data FROM texts WHERE id = ?", id).Scan(&frame); err != nil {
				return err
			}
			frame[len(frame)-1] ^= 1
			_, err := tx.Exec("UPDATE texts SET data = ? WHERE id = ?", frame, id)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return
	}
	t.Fatal("no such document")
}
