package daemon

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"arborist/internal/arbtest/realtext"
	"arborist/peer"
)

// ofPrivate holds questions about what only the private store of one of the twins has.
func ofPrivate(t testing.TB, tw twins) []string {
	origin, secret := mainOrigin(t, tw.full), rootOf(t, privateText(7)).String()
	return []string{
		origin + "/doc/" + secret, origin + "/proof/" + secret + "/0",
		"search/5/" + base64.RawURLEncoding.EncodeToString([]byte("secretword7")),
		"search/5/" + base64.RawURLEncoding.EncodeToString([]byte("granite ledger")),
	}
}

// asker returns what asks a node something as a guest that is asked for nothing
// else, so that its bucket is full.
func asker(t testing.TB, n *Node, path string, guest int) func() {
	p, err := n.network()
	if err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequest(http.MethodGet, peer.PathPrefix+path, nil)
	r.RemoteAddr = fmt.Sprintf("198.51.%d.%d:1", guest>>8, guest&0xff)
	return func() {
		w := httptest.NewRecorder()
		p.Handler().ServeHTTP(w, r)
		if w.Code == http.StatusTooManyRequests || w.Code == http.StatusServiceUnavailable {
			t.Errorf("%s: %d", path, w.Code)
		}
	}
}

// TestThePrivateStoreCostsNoReplyAnything counts the work of a reply by what it
// allocates, which no other work on the machine changes: a node with private
// documents does just as much for a question about them as one without. The times
// are those of BenchmarkPrivateAndNowhere.
func TestThePrivateStoreCostsNoReplyAnything(t *testing.T) {
	tw := newTwins(t)
	for i, path := range ofPrivate(t, tw) {
		full, empty := leastAllocs(asker(t, tw.full, path, i)), leastAllocs(asker(t, tw.empty, path, i))
		// A look into another store is far more than this.
		if most := empty/20 + 1; empty == 0 || full-empty > most || empty-full > most {
			t.Errorf("%s allocates %.0f times with private documents, %.0f times without", path, full, empty)
		}
	}
}

// leastAllocs returns how often a call allocates, at least: other goroutines of a
// node allocate meanwhile, and under the race detector pools forget at random.
func leastAllocs(ask func()) float64 {
	least := testing.AllocsPerRun(1, ask)
	for range 11 { // two calls each, fewer than the searches of a full bucket
		least = min(least, testing.AllocsPerRun(1, ask))
	}
	return least
}

// BenchmarkPrivateAndNowhere compares the processor time of a node for questions
// about what its private store has with that of a node that has it nowhere.
func BenchmarkPrivateAndNowhere(b *testing.B) {
	tw := newTwins(b)
	for i, path := range ofPrivate(b, tw) {
		b.Run([]string{"document", "proof", "word", "words"}[i], func(b *testing.B) {
			var used [2]time.Duration
			nodes := [2]*Node{tw.full, tw.empty}
			for guest := 1; b.Loop(); guest++ {
				for j := range nodes {
					k := (j + guest) % 2 // each is first as often
					ask := asker(b, nodes[k], path, guest)
					began := realtext.CPU()
					for range 25 {
						ask()
					}
					used[k] += realtext.CPU() - began
				}
			}
			b.ReportMetric(used[0].Seconds()/used[1].Seconds(), "private/nowhere")
		})
	}
}
