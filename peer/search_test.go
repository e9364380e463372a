package peer

import (
	"bytes"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"syscall"
	"testing"

	"arborist/document"
	"arborist/proof"
	"arborist/shard"
)

func answering(c *Config) { c.Serve.Search = true }

func (n *node) ask(text string, from ...string) []Answer {
	n.t.Helper()
	answers, err := n.peer.Search(n.t.Context(), from, text, 10)
	if err != nil {
		n.t.Fatal(err)
	}
	return answers
}

func uris(a Answer) (all []string) {
	for _, h := range a.Hits {
		all = append(all, h.Claim.Record.URI)
	}
	return all
}

// An answer is what the other's own search finds, each hit proven by the
// publisher's signature, also where a follower gives it.
func TestPeersAnswerWithProvenPassages(t *testing.T) {
	publisher := newNode(t).up(listenTCP, answering)
	publisher.publish("main", entryOf(t, "doc:/a", "Grey granite of the quarry."), entryOf(t, "doc:/b", "Slate."), entryOf(t, "doc:/c", "Granite, granite, granite."))
	follower := newNode(t).up(listenQUIC, answering)
	follower.sync(publisher.addr(), "main")
	asker := newNode(t).up(nil)

	for _, a := range asker.ask("granite quarry", publisher.addr(), follower.addr()) {
		if a.Err != nil {
			t.Fatal(a.Err)
		}
		if got := uris(a); !slices.Equal(got, []string{"doc:/a"}) {
			t.Errorf("%s found %q", a.Peer, got)
		}
		for _, h := range a.Hits {
			if !h.Claim.SignatureChecked || h.Claim.Publisher != publisher.id || h.Match != shard.MatchAll || h.Known {
				t.Errorf("hit %+v", h)
			}
			key := publisher.signers["main"].Verifier()
			if _, err := proof.Verify(h.Proof, proof.Expect{Key: key, Text: []byte("Grey granite of the quarry.")}); err != nil {
				t.Errorf("its proof alone: %v", err)
			}
		}
	}
	// Nothing found is an answer.
	if a := asker.ask("basalt", publisher.addr())[0]; a.Err != nil || len(a.Hits) != 0 {
		t.Errorf("nothing: %+v", a)
	}
	// What is withdrawn is found no more.
	publisher.withdraw("main", "doc:/a")
	if a := asker.ask("quarry", publisher.addr())[0]; a.Err != nil || len(a.Hits) != 0 {
		t.Errorf("withdrawn: %+v", a)
	}
	// A corpus that is followed is known.
	if a := follower.ask("granite", publisher.addr())[0]; a.Err != nil || len(a.Hits) == 0 || !a.Hits[0].Known {
		t.Errorf("known: %+v", a)
	}
}

// A peer that has not been told to answer queries answers none, and says no
// more than of any resource that is not there.
func TestNobodyIsSearchedUnasked(t *testing.T) {
	quiet := newNode(t).up(listenTCP)
	quiet.publish("main", entryOf(t, "doc:/a", "Grey granite."))
	asker := newNode(t).up(nil)
	if a := asker.ask("granite", quiet.addr())[0]; !errors.Is(a.Err, ErrNoAnswers) || len(a.Hits) != 0 {
		t.Errorf("%+v", a)
	}
	h, err := Handler(quiet.shared, ServeConfig{})
	if err != nil {
		t.Fatal(err)
	}
	get := func(path string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		return w
	}
	search, nowhere := get(PathPrefix+resource{kind: kindSearch, limit: 5, query: "granite"}.path()), get(PathPrefix+"nonsense")
	if search.Code != nowhere.Code || search.Body.String() != nowhere.Body.String() {
		t.Errorf("a search gets %d %q, nonsense %d %q", search.Code, search.Body, nowhere.Code, nowhere.Body)
	}
}

// A document that is stored and in no log cannot be found, as it cannot be
// fetched.
func TestUnlistedDocumentsAreNotFound(t *testing.T) {
	n := newNode(t).up(listenTCP, answering)
	n.publish("main", entryOf(t, "doc:/a", "Grey granite."))
	unlisted := entryOf(t, "doc:/u", "Unlisted granite.")
	unlisted.Location.Corpus = n.origin("main")
	if _, err := n.shared.Put(t.Context(), []document.Entry{unlisted}); err != nil {
		t.Fatal(err)
	}
	if a := newNode(t).up(nil).ask("granite", n.addr())[0]; a.Err != nil || !slices.Equal(uris(a), []string{"doc:/a"}) {
		t.Errorf("%q, %v", uris(a), a.Err)
	}
}

// A liar is a server that changes the answers of an honest handler.
func liar(t *testing.T, n *node, change func(path string, body []byte) []byte) string {
	t.Helper()
	h, err := Handler(n.shared, ServeConfig{Search: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := Certify(t.Context(), n.keyFile(), n.shared); err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rec := httptest.NewRecorder()
		h.ServeHTTP(rec, r)
		w.Header().Set("Content-Type", rec.Header().Get("Content-Type"))
		w.WriteHeader(rec.Code)
		w.Write(change(strings.TrimPrefix(r.URL.Path, PathPrefix), rec.Body.Bytes()))
	}))
	t.Cleanup(srv.Close)
	return srv.URL
}

// Whatever an answering peer changes, no hit of it is shown.
func TestNoForgedAnswerIsShown(t *testing.T) {
	n := newNode(t)
	n.publish("main", entryOf(t, "doc:/a", "Grey granite of the quarry."), entryOf(t, "doc:/b", "Granite, once more."))
	asker := newNode(t).up(nil)
	if a := asker.ask("granite", liar(t, n, func(_ string, b []byte) []byte { return b }))[0]; a.Err != nil || len(a.Hits) != 2 {
		t.Fatalf("unchanged: %+v", a)
	}
	// All of it as it has to be, but that nobody has signed it.
	name := []byte("\u2014 " + n.origin("main") + " ")
	unsigned := liar(t, n, func(path string, b []byte) []byte {
		if strings.HasPrefix(path, "search/") {
			line := b[bytes.Index(b, name)+len(name):] // its first 5 bytes name the key
			line[40] = map[bool]byte{true: 'B', false: 'A'}[line[40] == 'A']
		}
		return b
	})
	if a := asker.ask("granite", unsigned)[0]; !errors.Is(a.Err, ErrTampered) || len(a.Hits) > 0 {
		t.Errorf("a note that nobody signed: %d hits, %v", len(a.Hits), a.Err)
	}
	for _, alteration := range common() {
		if alteration.name == "empty" {
			continue // an answer without hits
		}
		for _, which := range []string{"search/", n.origin("main") + "/key"} {
			url := liar(t, n, func(path string, b []byte) []byte {
				if strings.HasPrefix(path, which) {
					return alteration.alter(b)
				}
				return b
			})
			a := asker.ask("granite", url)[0]
			if a.Err == nil || len(a.Hits) > 0 {
				t.Errorf("%s of %s: %d hits, %v", alteration.name, which, len(a.Hits), a.Err)
			}
		}
	}
}

// A phantom hit is a genuine passage that lacks what was asked for.
func TestPhantomHitsOfPeersAreRefused(t *testing.T) {
	n := newNode(t)
	n.publish("main", entryOf(t, "doc:/a", "Grey granite."), entryOf(t, "doc:/b", "Slate alone."))
	h, err := Handler(n.shared, ServeConfig{Search: true})
	if err != nil {
		t.Fatal(err)
	}
	url := liar(t, n, func(path string, b []byte) []byte {
		if !strings.HasPrefix(path, "search/") {
			return b
		}
		// The answer to another question, every part of it genuine.
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, PathPrefix+resource{kind: kindSearch, limit: 10, query: "slate"}.path(), nil))
		return w.Body.Bytes()
	})
	if a := newNode(t).up(nil).ask("granite", url)[0]; a.Err != nil || len(a.Hits) != 0 || a.Refused != 1 {
		t.Errorf("%+v", a)
	}
}

// A peer gives no more than it was asked for, and nothing that no corpus lists,
// however genuine.
func TestAnswersBeyondTheQuestionAreRefused(t *testing.T) {
	n := newNode(t)
	a, b := entryOf(t, "doc:/a", "Grey granite."), entryOf(t, "doc:/b", "Granite, once more.")
	n.publish("main", a, b)
	short, err := proof.NewBundle([]*proof.Proof{{Header: a.Document.Header(), Text: []byte("Grey granite.")}})
	if err != nil {
		t.Fatal(err)
	}
	unlisted, err := short.MarshalText()
	if err != nil {
		t.Fatal(err)
	}
	asker := newNode(t).up(nil)
	for name, change := range map[string]func(ten []byte) []byte{
		"two hits, asked for one":     func(ten []byte) []byte { return ten },
		"a document of no corpus":     func([]byte) []byte { return unlisted },
		"more bytes than a reply has": func([]byte) []byte { return bytes.Repeat([]byte("x"), maxAnswer+1) },
	} {
		h, err := Handler(n.shared, ServeConfig{Search: true})
		if err != nil {
			t.Fatal(err)
		}
		url := liar(t, n, func(path string, body []byte) []byte {
			if !strings.HasPrefix(path, "search/") {
				return body
			}
			w := httptest.NewRecorder()
			h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, PathPrefix+resource{kind: kindSearch, limit: 10, query: "granite"}.path(), nil))
			return change(w.Body.Bytes())
		})
		answers, err := asker.peer.Search(t.Context(), []string{url}, "granite", 1)
		if err != nil {
			t.Fatal(err)
		}
		if answers[0].Err == nil || len(answers[0].Hits) > 0 {
			t.Errorf("%s: %d hits, %v", name, len(answers[0].Hits), answers[0].Err)
		}
	}
}

// One that cannot be reached, one that is none: each failure is said beside the
// answers of the others.
func TestEveryAskedPeerIsAccountedFor(t *testing.T) {
	good := newNode(t).up(listenTCP, answering)
	good.publish("main", entryOf(t, "doc:/a", "Grey granite."))
	asker := newNode(t).up(nil)
	cuts := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
	defer cuts.Close()
	answers := asker.ask("granite", "/ip4/127.0.0.1/tcp/1/p2p/"+newNode(t).id, good.addr(), "nonsense", "http://127.0.0.1:1", cuts.URL)
	for i, want := range []struct {
		err    error
		unsent bool
	}{{ErrUnavailable, true}, {nil, false}, {ErrAddress, true}, {ErrUnavailable, true}, {ErrUnavailable, false}} {
		a := answers[i]
		if !errors.Is(a.Err, want.err) || want.err == nil && a.Err != nil || a.Unsent != want.unsent {
			t.Errorf("%s: %v, unsent %t, want %+v", a.Peer, a.Err, a.Unsent, want)
		}
	}
	if len(answers[1].Hits) != 1 {
		t.Errorf("%+v", answers[1])
	}
}

// One that goes away after it was asked has got the text, whatever fails then.
func TestAPeerThatWasAskedOnceCountsAsSentTo(t *testing.T) {
	var srv *httptest.Server
	srv = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		srv.Listener.Close()
		w.Header().Set("Connection", "close")
		w.Header().Set("Retry-After", "1")
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	defer srv.Close()
	a := newNode(t).up(nil).ask("granite", srv.URL)[0]
	if !errors.Is(a.Err, syscall.ECONNREFUSED) || a.Unsent {
		t.Errorf("%v, unsent %t", a.Err, a.Unsent)
	}
}

// A peer that hangs ends with the time that all have together.
func TestAPeerThatHangsIsGivenUp(t *testing.T) {
	slow := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	defer slow.Close()
	if a := newNode(t).up(nil).ask("granite", slow.URL)[0]; !errors.Is(a.Err, ErrTooSlow) {
		t.Errorf("%+v", a)
	}
}

func TestWhatIsNoQueryIsNotSent(t *testing.T) {
	asked := false
	srv := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked = true }))
	defer srv.Close()
	asker := newNode(t).up(nil)
	var refused *shard.QueryError
	for text, want := range map[string]func(error) bool{
		"":                          func(err error) bool { return errors.Is(err, shard.ErrNoWords) },
		"?!":                        func(err error) bool { return errors.Is(err, shard.ErrNoWords) },
		"-only":                     func(err error) bool { return errors.As(err, &refused) },
		strings.Repeat("word ", 80): func(err error) bool { return errors.As(err, &refused) },
		"a\x00b":                    func(err error) bool { return errors.As(err, &refused) },
	} {
		if _, err := asker.peer.Search(t.Context(), []string{srv.URL}, text, 10); !want(err) {
			t.Errorf("%q: %v", text, err)
		}
	}
	if asked {
		t.Error("a peer was asked")
	}
}

// Searching costs a guest many requests, so a flood of queries is refused while
// everything else goes on for others.
func TestAFloodOfQueriesIsRefused(t *testing.T) {
	n := newNode(t)
	n.publish("main", entryOf(t, "doc:/a", "Grey granite."))
	h, err := Handler(n.shared, ServeConfig{Search: true, Rate: 1, Burst: 1000})
	if err != nil {
		t.Fatal(err)
	}
	codes := map[int]int{}
	for range 20 {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, PathPrefix+resource{kind: kindSearch, limit: 5, query: "granite"}.path(), nil))
		codes[w.Code]++
	}
	if codes[http.StatusOK] < 5 || codes[http.StatusOK] > 6 || codes[http.StatusTooManyRequests] != 20-codes[http.StatusOK] {
		t.Errorf("answers by status: %v", codes)
	}
}
