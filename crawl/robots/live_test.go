package robots

import (
	"bytes"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"arborist/crawl/egress"
	"arborist/crawl/fetch"
	"arborist/crawl/fetch/fetchtest"
)

// live serves mux on loopback and gives a cache over the real fetcher.
func live(t *testing.T, h http.Handler, cfg CacheConfig) (*Reader, string) {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	port := srv.Listener.Addr().(*net.TCPAddr).Port
	f := fetch.NewHTTP(fetch.HTTPConfig{Guard: &egress.Guard{
		Nets:  []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")},
		Ports: []uint16{uint16(port)},
	}})
	t.Cleanup(func() { f.Close() })
	return NewCache(cfg).Through(f), srv.URL
}

func TestFiveRedirectsAreFollowedAndNoMore(t *testing.T) {
	for hops, allowed := range map[int]bool{0: false, 1: false, 5: false, 6: true} {
		var asked atomic.Int64
		cache, base := live(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			asked.Add(1)
			n, _ := strconv.Atoi(strings.TrimPrefix(r.URL.Path, "/hop"))
			if n < hops {
				http.Redirect(w, r, fmt.Sprintf("/hop%d", n+1), []int{301, http.StatusFound, 303, 307, 308}[n%5])
				return
			}
			fmt.Fprint(w, "User-agent: *\nDisallow: /")
		}), CacheConfig{})
		if d := mustCheck(t, cache, base+"/x"); d.Allowed != allowed {
			t.Errorf("%d redirects: %+v", hops, d)
		}
		if want := int64(min(hops, maxRedirects) + 1); asked.Load() != want {
			t.Errorf("%d redirects: %d requests, want %d", hops, asked.Load(), want)
		}
	}
}

func TestRedirectIntoThePrivateNetworkIsRefusedAndCloses(t *testing.T) {
	canary := fetchtest.NewCanary(t, "127.0.0.3:0")
	cache, base := live(t, http.RedirectHandler("http://"+canary.Addr.String()+"/robots.txt", http.StatusFound), CacheConfig{})
	d := mustCheck(t, cache, base+"/x")
	if d.Allowed || !strings.Contains(d.Reason, "127.0.0.3") || canary.Hits() != 0 {
		t.Errorf("%+v, canary hits %d", d, canary.Hits())
	}
}

// Threat 25: a robots.txt of 600 MB.
func TestEndlessFileIsReadNoFurtherThanItCounts(t *testing.T) {
	line := bytes.Repeat([]byte("Disallow: /x\n"), 1000)
	var sent atomic.Int64
	cache, base := live(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", strconv.Itoa(600_000_000))
		fmt.Fprint(w, "User-agent: *\nDisallow: /early\n")
		for sent.Load() < 600_000_000 {
			n, err := w.Write(line)
			sent.Add(int64(n))
			if err != nil {
				return
			}
		}
	}), CacheConfig{})
	if d := mustCheck(t, cache, base+"/early"); d.Allowed {
		t.Errorf("%+v", d)
	}
	if d := mustCheck(t, cache, base+"/other"); !d.Allowed {
		t.Errorf("%+v", d)
	}
	// What is under way in socket buffers counts as sent.
	if n := sent.Load(); n > 20<<20 {
		t.Errorf("%d bytes were sent", n)
	}
}

func TestSlowFileIsGivenUp(t *testing.T) {
	stop := make(chan struct{})
	defer close(stop)
	cache, base := live(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, "User-agent: *\n")
		w.(http.Flusher).Flush()
		<-stop
	}), CacheConfig{Timeout: 500 * time.Millisecond})
	start := time.Now()
	if d := mustCheck(t, cache, base+"/x"); d.Allowed || !d.Temporary || !strings.Contains(d.Reason, "timeout") {
		t.Errorf("%+v", d)
	}
	if took := time.Since(start); took > time.Minute {
		t.Errorf("took %v", took)
	}
}

func TestDeadHostIsClosed(t *testing.T) {
	dead := fetchtest.NewDeaf(t)
	f := fetch.NewHTTP(fetch.HTTPConfig{Guard: &egress.Guard{Nets: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, Ports: []uint16{dead.Port()}}})
	defer f.Close()
	d := mustCheck(t, NewCache(CacheConfig{}).Through(f), "http://"+dead.String()+"/")
	if d.Allowed || !d.Temporary || !strings.Contains(d.Reason, "connection refused") {
		t.Errorf("%+v", d)
	}
}

func TestContentTypeAndCodingDoNotMatter(t *testing.T) {
	cache, base := live(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "image/png")
		w.Header().Set("Content-Encoding", "gzip")
		w.Write(fetchtest.Gzip([]byte("User-agent: *\nDisallow: /")))
	}), CacheConfig{})
	if d := mustCheck(t, cache, base+"/x"); d.Allowed {
		t.Errorf("%+v", d)
	}
}
