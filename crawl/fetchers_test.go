package crawl

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"arborist/crawl/fetch"
	"arborist/crawl/fetch/chromium"
	"arborist/crawl/fetch/fetchtest"
	"arborist/document"
	"arborist/ingest"
)

// needChromium skips a test where there is no browser, unless the environment
// says that there must be one.
func needChromium(t *testing.T) {
	t.Helper()
	b, err := chromium.New(chromium.Config{})
	switch {
	case err == nil:
		b.Close()
	case os.Getenv("ARBORIST_NEED_CHROMIUM") != "":
		t.Fatal(err)
	default:
		t.Skipf("needs Chromium: %v", err)
	}
}

// A fixtureSite serves pages of every kind that a site without scripts has,
// and counts requests.
type fixtureSite struct {
	*httptest.Server
	pages map[string][2]string // content type and body by path

	mu    sync.Mutex
	asked map[string]int
}

func newFixtureSite(t *testing.T) *fixtureSite {
	long := strings.Repeat("The hive is weighed in autumn, and fed where it is too light. ", 20)
	s := &fixtureSite{asked: map[string]int{}, pages: map[string][2]string{
		"/robots.txt": {"text/plain", "User-agent: *\nDisallow: /private\n"},
		"/": {"text/html; charset=utf-8", `<!DOCTYPE html><html lang="en"><head><title>Bees</title></head><body><nav><a href="/table">Table</a> <a href="/latin">Latin</a> <a href="/x.xhtml">X</a>
<a href="/notes">Notes</a> <a href="/plain">Plain</a> <a href="/sloppy">Sloppy</a> <a href="/private">No</a> <a href="/gone">Gone</a> <a href="/moved">Moved</a> <a href=/wall>Wall</a></nav>
<main><h1>Bees &amp; hives</h1><p>` + long + `</p><pre><code>if (a &lt; b) {
    weigh();
}</code></pre></main></body></html>`},
		"/table": {"text/html", `<!DOCTYPE html><title>Table</title><table><tr><th>Month<th>kg<tr><td>May<td>12<tr><td>June<td>15</table><p>` + long + `<noscript><p>Works without scripts.</p></noscript>`},
		"/latin": {"text/html; charset=iso-8859-1", "<!DOCTYPE html><title>Stra\xdfe</title><meta charset=utf-8><p>Die K\xf6nigin legt Eier. " + long},
		"/x.xhtml": {"application/xhtml+xml", `<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Strict//EN" "http://www.w3.org/TR/xhtml1/DTD/xhtml1-strict.dtd">
<html xmlns="http://www.w3.org/1999/xhtml"><head><title>Strict</title></head><body><h1>Strict</h1><p>` + long + `<br/>And an <em>end</em>.</p></body></html>`},
		"/notes":   {"text/markdown", "# Notes\n\nFirst *note*.\n\n* one\n* two\n"},
		"/plain":   {"text/plain; charset=utf-8", "Plain text.\n\n  Indented, with <tags> & signs.\n"},
		"/sloppy":  {"text/html", `<title>Sloppy</title><p>One<p>Two <b>bold <i>both</b> slanted</i><ul><li>a<li>b</ul><p>` + long + `<img src=x.png alt="A hive">`},
		"/private": {"text/html", "<p>Not for crawlers."},
		"/target":  {"text/html", "<!DOCTYPE html><title>Target</title><p>Where it moved. " + long},
		"/wall":    {"text/html", `<!DOCTYPE html><title>Wall</title><p>We and our partners set cookies and process personal data with your consent.</p><button>Accept all</button>`},
	}}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

func (s *fixtureSite) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.asked[r.URL.Path]++
	s.mu.Unlock()
	if r.URL.Path == "/moved" {
		http.Redirect(w, r, "/target", http.StatusMovedPermanently)
		return
	}
	page, ok := s.pages[r.URL.Path]
	if !ok {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", page[0])
	fmt.Fprint(w, page[1])
}

// requests gives how often each path was asked for since the last call.
func (s *fixtureSite) requests() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	asked := s.asked
	s.asked = map[string]int{}
	return asked
}

// A keeper is a sink that keeps the roots of documents by their URI.
type keeper map[string]document.Root

func (k keeper) Store(_ context.Context, entries []document.Entry) ([]document.Outcome, error) {
	for _, e := range entries {
		k[e.Location.URI] = e.Document.Root()
	}
	return make([]document.Outcome, len(entries)), nil
}

func (k keeper) Index(context.Context) error { return nil }

// fetchedWith crawls the fixture site and gives the roots of what came.
func fetchedWith(t *testing.T, s *fixtureSite, cfg Config) (keeper, Report) {
	t.Helper()
	cfg.Seed, cfg.Depth, cfg.Fast, cfg.AllowNets = s.URL+"/", 2, true, loopback
	c, err := New(cfg, nil)
	if err != nil {
		t.Fatal(err)
	}
	kept := keeper{}
	if _, err := ingest.Run(t.Context(), c, kept, ingest.Config{}, nil); err != nil {
		t.Fatal(err)
	}
	return kept, c.Report()
}

// Every way of getting pages leads to the same documents, asks the site for
// each page once and keeps out what it must.
func TestEveryFetcherBringsTheSameDocuments(t *testing.T) {
	s := newFixtureSite(t)
	want, report := fetchedWith(t, s, Config{})
	asked := s.requests()
	if len(want) != 8 || asked["/private"] != 0 {
		t.Fatalf("plain HTTP brought %d documents %v, asked %v", len(want), slices.Sorted(maps.Keys(want)), asked)
	}
	denied := slices.ContainsFunc(report.Failed, func(f Failure) bool {
		return f.URL == s.URL+"/wall" && f.Class == fetch.Denied && f.Error == fetch.ReasonConsentWall
	})
	if !denied {
		t.Errorf("the consent wall is not denied: %+v", report.Failed)
	}
	t.Run("hosted", func(t *testing.T) {
		service := fetchtest.NewScraper(t)
		got, _ := fetchedWith(t, s, Config{Fetcher: Hosted, HostedURL: service.URL, HostedKey: service.Key})
		if !maps.Equal(got, want) {
			t.Errorf("the service brought %v, plain HTTP %v", got, want)
		}
		if slices.ContainsFunc(service.Asked(), func(a string) bool { return strings.Contains(a, "private") || strings.Contains(a, "robots.txt") }) {
			t.Error("the service was asked for what is no page, or disallowed")
		}
		if again := s.requests(); again["/private"] != 0 || again["/robots.txt"] != 1 {
			t.Errorf("asked for %v", again)
		}
	})
	t.Run("chromium", func(t *testing.T) {
		needChromium(t)
		got, _ := fetchedWith(t, s, Config{Fetcher: Chromium, RenderTimeout: 5 * time.Minute})
		if !maps.Equal(got, want) {
			t.Errorf("chromium brought %v, plain HTTP %v", got, want)
		}
		if again := s.requests(); !maps.Equal(again, asked) {
			t.Errorf("chromium asked for %v, plain HTTP for %v", again, asked)
		}
	})
}

func TestFetcherThatCannotBeIsRefusedAtOnce(t *testing.T) {
	if _, err := New(Config{Seed: "http://example.org/", Fetcher: "gopher"}, nil); !errors.Is(err, ErrFetcher) || !strings.Contains(err.Error(), "http, chromium") {
		t.Error(err)
	}
	if _, err := New(Config{Seed: "http://example.org/", Fetcher: Hosted}, nil); !errors.Is(err, fetch.ErrHostedConfig) || !strings.Contains(err.Error(), "hosted_url") {
		t.Error(err)
	}
	_, err := New(Config{Seed: "http://example.org/", Fetcher: Auto, ChromiumPath: "/nowhere/chromium"}, nil)
	if !errors.Is(err, chromium.ErrNoBrowser) || !strings.Contains(err.Error(), "/nowhere/chromium") {
		t.Error(err)
	}
}
