package chromium_test

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"arborist/crawl/fetch"
	"arborist/crawl/fetch/chromium"
	"arborist/crawl/fetch/fetchtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// newBrowser gives a browser that is closed with the test. Where there is no
// Chromium the test is skipped, unless the environment says that it must not.
func newBrowser(t testing.TB, cfg chromium.Config) *chromium.Browser {
	t.Helper()
	if cfg.Timeout == 0 {
		cfg.Timeout = 2 * time.Minute // the machine may be busy
	}
	b, err := chromium.New(cfg)
	if err != nil {
		if os.Getenv("ARBORIST_NEED_CHROMIUM") != "" {
			t.Fatal(err)
		}
		t.Skipf("needs Chromium: %v", err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

func TestChromiumKeepsTheFetcherContract(t *testing.T) {
	fetchtest.Run(t, func(t testing.TB, cfg fetchtest.Config) fetch.Fetcher {
		plain := fetch.NewHTTP(fetch.HTTPConfig{Guard: cfg.Guard, MaxBody: cfg.MaxBody, Timeout: cfg.Timeout})
		t.Cleanup(func() { plain.Close() })
		return fetch.NewRendered(plain, newBrowser(t, chromium.Config{Guard: cfg.Guard, MaxBody: cfg.MaxBody}), true, nil)
	})
}

// A site serves pages from a map and counts what was asked for.
type site struct {
	*httptest.Server
	asked chan string
}

func newSite(t testing.TB, pages map[string]string) *site {
	s := &site{asked: make(chan string, 1000)}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.asked <- r.Method + " " + r.URL.Path
		body, ok := pages[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		kind := "text/html; charset=utf-8"
		switch {
		case strings.HasSuffix(r.URL.Path, ".js"):
			kind = "text/javascript"
		case strings.HasSuffix(r.URL.Path, ".json"):
			kind = "application/json"
		case strings.HasSuffix(r.URL.Path, ".xhtml"):
			kind = "application/xhtml+xml"
		}
		w.Header().Set("Content-Type", kind)
		fmt.Fprint(w, body)
	}))
	t.Cleanup(s.Close)
	return s
}

// requests gives what was asked for so far.
func (s *site) requests() (all []string) {
	for {
		select {
		case a := <-s.asked:
			all = append(all, a)
		default:
			return all
		}
	}
}

func (s *site) fetcher(t testing.TB, cfg chromium.Config, always bool) *fetch.Rendered {
	cfg.Guard = fetchtest.Allow(s.Listener.Addr().(*net.TCPAddr).AddrPort())
	plain := fetch.NewHTTP(fetch.HTTPConfig{Guard: cfg.Guard, Timeout: time.Minute})
	t.Cleanup(func() { plain.Close() })
	return fetch.NewRendered(plain, newBrowser(t, cfg), always, nil)
}
