package crawl

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"arborist/crawl/fetch"
	"arborist/ingest"
	"arborist/internal/arbtest/site"
)

// byPath answers every path with a function's page.
func byPath(page func(target string) site.Page) *site.Site {
	return site.Over(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == robotsTxt {
			http.NotFound(w, r)
			return
		}
		s := site.New(map[string]site.Page{r.URL.RequestURI(): page(r.URL.RequestURI())})
		s.ServeHTTP(w, r)
	}))
}

func TestTrapsEndAndAreReported(t *testing.T) {
	number := func(target, format string) (n int) { fmt.Sscanf(target, format, &n); return n }
	for _, tc := range []struct {
		name    string
		page    func(target string) site.Page
		at      int // requests at most
		pattern string
	}{
		{"calendar", func(target string) site.Page {
			n := number(target, "/cal?month=%d")
			return site.Links("month", fmt.Sprintf("/cal?month=%d", n+1), fmt.Sprintf("/cal?month=%d", n-1), "/about")
		}, 2 * 60, "/cal?month"},
		{"months and days", func(target string) site.Page {
			var m, d int
			fmt.Sscanf(target, "/cal/%d/%d", &m, &d)
			return site.Links("day", fmt.Sprintf("/cal/%d", m+1), fmt.Sprintf("/cal/%d/%d", m, d+1))
		}, 300, "/cal/#"},
		{"session numbers", func(target string) site.Page {
			n := number(target, "/x?sid=%d")
			var hrefs []string
			for i := range 5 {
				hrefs = append(hrefs, fmt.Sprintf("/x?sid=%d", 5*n+i+1))
			}
			return site.Links("session", hrefs...)
		}, 10*50 + 10, "/x?sid"},
		{"a relative link below itself", func(string) site.Page { return site.Links("help", "en/help/", "../x") }, 100, ""},
		{"redirects that count", func(target string) site.Page {
			if target == "/" {
				return site.Links("home", "/r/1")
			}
			return site.Page{To: fmt.Sprintf("/r/%d", number(target, "/r/%d")+1)}
		}, 10, ""},
		{"refreshes that count", func(target string) site.Page {
			return site.Page{Body: fmt.Sprintf(`<meta http-equiv=refresh content="0;url=/m/%d">`, number(target, "/m/%d")+1)}
		}, 80, "/m/#"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := byPath(tc.page)
			got := fast(t, s, "/", 1_000_000, func(c *Config) { c.PatternBudget = 50 })
			if got.err != nil || len(s.Hits()) > tc.at+3 {
				t.Errorf("%d requests, want at most %d; %v", len(s.Hits()), tc.at, got.err)
			}
			once(t, s)
			if got.report.RefusedTotal == 0 {
				t.Error("the report says nothing")
			}
			if tc.pattern == "" {
				return
			}
			if !slices.ContainsFunc(got.report.Traps, func(tr Trap) bool { return strings.HasSuffix(tr.Pattern, tc.pattern) }) {
				t.Errorf("traps %+v", got.report.Traps)
			}
		})
	}
}

// The report of a crawl that was kept says what the crawl itself said.
func TestTheReportNamesTheTraps(t *testing.T) {
	s := byPath(func(target string) site.Page {
		var n int
		fmt.Sscanf(target, "/cal/%d", &n)
		return site.Links("month", fmt.Sprintf("/cal/%d", n+1), fmt.Sprintf("/cal/%d", n+2), "/lost/"+letters(n), "/lost/x"+letters(n), fmt.Sprintf("/a?PHPSESSID=%d", n))
	})
	p := openPrivate(t, t.TempDir()+"/web.db")
	cfg := Config{Seed: s.Start(t) + "/", Depth: 200, PatternBudget: 50, Workers: 1}
	said, _, err := into(t, t.Context(), p, cfg)
	if err != nil || len(said.Traps) < 3 {
		t.Fatalf("%+v, %v", said.Traps, err)
	}
	cfg.Store, cfg.AllowNets = p, loopback
	r := audited(t, cfg)
	told := map[string]Trap{}
	for _, tr := range r.Traps {
		told[tr.Pattern] = Trap{tr.Pattern, tr.Pages, tr.Refused}
	}
	for _, tr := range said.Traps {
		if got := told[tr.Pattern]; got.Refused != tr.Refused || got.Pages == 0 {
			t.Errorf("the crawl said %+v, the report %+v", tr, got)
		}
	}
	if r.Totals.Traps != len(said.Traps) {
		t.Errorf("%d traps, the crawl said %d", r.Totals.Traps, len(said.Traps))
	}
}

func TestALongManualIsNoTrap(t *testing.T) {
	// Numbered pages that are reached only through each other, as a tree.
	s := byPath(func(target string) site.Page {
		var n int
		fmt.Sscanf(target, "/page-%d.html", &n)
		if n >= 500 {
			return site.Links(fmt.Sprint(n))
		}
		return site.Links(fmt.Sprint(n), fmt.Sprintf("/page-%d.html", 2*n+1), fmt.Sprintf("/page-%d.html", 2*n+2))
	})
	got := fast(t, s, "/", 100, func(c *Config) { c.PatternBudget = 50 })
	if got.err != nil || len(got.pages) != 1001 || len(got.report.Traps) != 0 {
		t.Errorf("%d pages, traps %+v, %v", len(got.pages), got.report.Traps, got.err)
	}
}

func TestRedirectsEnd(t *testing.T) {
	pages := map[string]site.Page{
		"/":       site.Links("home", "/loop1", "/self", "/long0", "/five0", "/twin1", "/twin2", "/mail", "/none"),
		"/loop1":  {To: "/loop2", Status: 301},
		"/loop2":  {To: "/loop3", Status: 307},
		"/loop3":  {To: "/loop1", Status: 308},
		"/self":   {To: "/self#x"},
		"/twin1":  {To: "/same"},
		"/twin2":  {To: "./same?utm_source=x", Status: 303},
		"/same":   site.Links("same"),
		"/mail":   {To: "mailto:x@example.com"},
		"/none":   {Status: 302},
		"/five5":  site.Links("five"),
		"/long6":  site.Links("long"),
		"/never":  site.Links("never"),
		"/robots": site.Links("never"),
	}
	for i := range 6 {
		pages[fmt.Sprintf("/long%d", i)] = site.Page{To: fmt.Sprintf("/long%d", i+1)}
	}
	for i := range 5 {
		pages[fmt.Sprintf("/five%d", i)] = site.Page{To: fmt.Sprintf("/five%d", i+1)}
	}
	s := site.New(pages)
	got := fast(t, s, "/", 2)
	equal(t, "pages", sorted(got.paths()), []string{"/", "/five5", "/same"})
	once(t, s)
	reasons := map[string]string{}
	for _, r := range got.report.Refused {
		reasons[r.URL[strings.LastIndexByte(r.URL, '/'):]] = r.Reason
	}
	for url, want := range map[string]string{"/loop3": "circle", "/self": "circle", "/long5": "over 5 redirects", "/mail": "mailto:"} {
		if !strings.Contains(reasons[url], want) {
			t.Errorf("%s: refused for %q, want %q", url, reasons[url], want)
		}
	}
	if len(got.report.Failed) != 1 || !strings.HasSuffix(got.report.Failed[0].URL, "/none") {
		t.Errorf("failed %+v", got.report.Failed)
	}
}

func TestHostilePagesDoNotStopACrawl(t *testing.T) {
	huge := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		chunk := strings.Repeat("<p>text ", 8<<10)
		for range 400 { // 25 MB
			if _, err := io.WriteString(w, chunk); err != nil {
				return
			}
		}
	}
	cut := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		w.Header().Set("Content-Length", "1000")
		io.WriteString(w, "<p>short")
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	}
	s := site.New(map[string]site.Page{
		"/":       site.Links("home", "/huge", "/cut", "/bomb", "/binary", "/empty", "/odd/%zz", "/odd?%", "/good"),
		"/huge":   {Serve: huge},
		"/cut":    {Serve: cut},
		"/bomb":   {Body: strings.Repeat("<body a1=1>", 20_000) + "<a href=/after>after</a>"},
		"/binary": {Body: strings.Repeat("\x00\xff<", 1000)},
		"/empty":  {Body: ""},
		"/good":   site.Links("good"),
		"/after":  site.Links("after"),
	})
	start := time.Now()
	got := fast(t, s, "/", 2, func(c *Config) { c.Attempts = 2 })
	if got.err != nil {
		t.Fatal(got.err)
	}
	equal(t, "pages", sorted(got.paths()), []string{"/", "/after", "/binary", "/bomb", "/empty", "/good"})
	classes := map[string]fetch.Class{}
	for _, f := range got.report.Failed {
		classes[f.URL[strings.Index(f.URL[7:], "/")+7:]] = f.Class
	}
	for url, want := range map[string]fetch.Class{"/huge": fetch.ResourceLimit, "/cut": fetch.Transient, "/odd/%zz": fetch.Denied, "/odd?%": fetch.Denied} {
		if classes[url] != want {
			t.Errorf("%s: class %q, want %q", url, classes[url], want)
		}
	}
	if s.Count("/cut") != 2 || s.Count("/huge") != 2 {
		t.Errorf("requests: cut %d, huge %d", s.Count("/cut"), s.Count("/huge"))
	}
	if took := time.Since(start); took > time.Minute {
		t.Errorf("it took %v", took)
	}
}

// slow is a fetcher that takes the page timeout for some addresses.
type slow struct{ inProcess }

func (f slow) Fetch(ctx context.Context, req fetch.Request) (fetch.Response, error) {
	if !strings.HasSuffix(req.URL, "/slow") {
		return f.inProcess.Fetch(ctx, req)
	}
	if err := sleepUntil(ctx, time.Now().Add(15*time.Second)); err != nil {
		return fetch.Response{}, err
	}
	return fetch.Response{}, &fetch.Error{URL: req.URL, Class: fetch.Transient, Reason: "timeout"}
}

func TestASlowPageIsTriedAgainAndGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := site.New(map[string]site.Page{"/": site.Links("home", "/slow", "/a", "/b"), "/a": site.Links("a"), "/b": site.Links("b")})
		start := time.Now()
		got := crawl(t, t.Context(), Config{Seed: "http://127.0.0.1/", Depth: 1}, slow{inProcess{s}})
		equal(t, "pages", got.paths(), []string{"/", "/a", "/b"})
		if f := got.report.Failed; len(f) != 1 || f[0].Class != fetch.Transient || f[0].Error != "timeout" {
			t.Errorf("failed %+v", f)
		}
		if took := time.Since(start); took > 70*time.Second {
			t.Errorf("it took %v", took)
		}
	})
}

func TestCancellationKeepsWhatWasEmittedAndLeavesNothingRunning(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	s := byPath(func(target string) site.Page {
		p := site.Links(target, target+"a", target+"b", target+"c")
		p.Wait = 2 * time.Millisecond
		return p
	})
	server := httptest.NewServer(s)
	defer server.Close()
	for _, cfg := range []Config{{Fast: true}, {Delay: time.Millisecond}, {}} {
		ctx, cancel := context.WithCancel(t.Context())
		cfg.Seed, cfg.Depth, cfg.AllowNets = server.URL+"/", 100, loopback
		c, err := New(cfg, nil)
		if err != nil {
			t.Fatal(err)
		}
		emitted := 0
		go func() {
			time.Sleep(50 * time.Millisecond)
			cancel()
		}()
		start := time.Now()
		err = c.Documents(ctx, func(ingest.Raw) error { emitted++; return nil }, nil)
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
		if took := time.Since(start); took > time.Minute {
			t.Errorf("it ended %v after its start", took)
		}
		if c.Report().Pages != emitted {
			t.Errorf("%d pages reported, %d emitted", c.Report().Pages, emitted)
		}
	}
}

func TestACrawlEndsWhereItsPagesAreNotWanted(t *testing.T) {
	s := siteOfAll()
	c, err := New(Config{Seed: s.Start(t) + "/", Depth: 5, Fast: true, AllowNets: loopback}, nil)
	if err != nil {
		t.Fatal(err)
	}
	full := errors.New("disk full")
	n := 0
	err = c.Documents(t.Context(), func(ingest.Raw) error {
		if n++; n > 3 {
			return full
		}
		return nil
	}, nil)
	if !errors.Is(err, full) || n != 4 {
		t.Errorf("%v after %d", err, n)
	}
}

func TestListsInTheReportAreBounded(t *testing.T) {
	var hrefs []string
	for i := range 300 {
		hrefs = append(hrefs, fmt.Sprintf("/gone%d", i), fmt.Sprintf("/x%d.pdf", i))
	}
	s := site.New(map[string]site.Page{"/": site.Links("home", hrefs...)})
	got := fast(t, s, "/", 1, func(c *Config) { c.MaxListed = 10 })
	r := got.report
	if len(r.Refused) != 10 || r.RefusedTotal != 300 || len(r.Failed) != 10 || r.FailedTotal != 300 {
		t.Errorf("%d of %d refused, %d of %d failed", len(r.Refused), r.RefusedTotal, len(r.Failed), r.FailedTotal)
	}
}

// panics is a fetcher that panics for some addresses.
type panics struct{ inProcess }

func (f panics) Fetch(ctx context.Context, req fetch.Request) (fetch.Response, error) {
	if strings.HasSuffix(req.URL, "/panic") {
		panic("index out of range")
	}
	return f.inProcess.Fetch(ctx, req)
}

func TestAPanicIsOnePagesFailure(t *testing.T) {
	s := site.New(map[string]site.Page{"/": site.Links("home", "/panic", "/a"), "/a": site.Links("a")})
	got := crawl(t, t.Context(), Config{Seed: "http://127.0.0.1/", Depth: 1, Fast: true}, panics{inProcess{s}})
	equal(t, "pages", sorted(got.paths()), []string{"/", "/a"})
	if f := got.report.Failed; len(f) != 1 || f[0].Class != fetch.ResourceLimit || !strings.Contains(f[0].Error, "index out of range") {
		t.Errorf("failed %+v", f)
	}
}
