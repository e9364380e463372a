package peer

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/libp2p/go-libp2p"
	"github.com/libp2p/go-libp2p/core/host"
)

// A relay is a hostile peer: a real libp2p host that serves a publisher's
// corpora through a function that may change what goes out.
type relay struct {
	host host.Host
	addr string
}

// newRelay starts a relay of what n serves. Change gets the path below the
// version prefix.
func newRelay(t testing.TB, n *node, change func(path string, w http.ResponseWriter, r *http.Request, honest http.Handler)) *relay {
	t.Helper()
	id, err := loadIdentity(n.keyFile())
	if err != nil {
		t.Fatal(err)
	}
	honest := newHandler(n.shared, &id, ServeConfig{}, testLog(t))
	h, err := libp2p.New(libp2p.ListenAddrStrings(listenTCP...), libp2p.DisableRelay(), libp2p.DisableMetrics(),
		libp2p.ForceReachabilityPrivate())
	if err != nil {
		t.Fatal(err)
	}
	server := serveStreams(h, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		change(strings.TrimPrefix(r.URL.Path, PathPrefix), w, r, honest)
	}), newTraffic())
	t.Cleanup(func() {
		server.close()
		h.Close()
	})
	return &relay{host: h, addr: fmt.Sprintf("%s/p2p/%s", h.Addrs()[0], h.ID())}
}

// A reply that was held back so that it can be changed.
type held struct {
	status int
	header http.Header
	body   []byte
}

// hold has the honest handler answer into memory, without compression.
func hold(r *http.Request, honest http.Handler) held {
	r = r.Clone(r.Context())
	r.Header.Del("Accept-Encoding")
	rec := httptest.NewRecorder()
	honest.ServeHTTP(rec, r)
	return held{rec.Code, rec.Header(), rec.Body.Bytes()}
}

func (h held) send(w http.ResponseWriter) {
	for k, v := range h.header {
		w.Header()[k] = v
	}
	if w.Header().Get("Content-Length") != "" {
		w.Header().Set("Content-Length", strconv.Itoa(len(h.body)))
	}
	w.WriteHeader(h.status)
	w.Write(h.body)
}

// changing returns a change function that alters the body of every resource
// whose path has a prefix or, after the corpus, that suffix.
func changing(match func(path string) bool, alter func(body []byte) []byte) (func(string, http.ResponseWriter, *http.Request, http.Handler), *atomic.Int64) {
	var hits atomic.Int64
	return func(path string, w http.ResponseWriter, r *http.Request, honest http.Handler) {
		h := hold(r, honest)
		if match(path) && h.status == http.StatusOK {
			hits.Add(1)
			h.body = alter(bytes.Clone(h.body))
		}
		h.send(w)
	}, &hits
}

// ofKind matches the paths of one kind of resource.
func ofKind(k kind) func(string) bool {
	return func(path string) bool {
		r, ok := parseResource(path)
		return ok && r.kind == k
	}
}
