package crawl

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"arborist/crawl/fetch"
	"arborist/ingest"
	"arborist/internal/arbtest/site"
)

var loopback = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}

// A result is what a crawl brought.
type result struct {
	pages  []ingest.Raw
	visits []string // "depth status path"
	report Report
	err    error
}

// paths gives the emitted pages by path and query, in order.
func (r result) paths() []string {
	out := []string{}
	for _, p := range r.pages {
		_, rest, _ := strings.Cut(p.Location.URI, "://")
		out = append(out, rest[strings.IndexByte(rest, '/'):])
	}
	return out
}

// crawl runs a crawler without a store; loopback is allowed.
func crawl(t testing.TB, ctx context.Context, cfg Config, f fetch.Fetcher) result {
	t.Helper()
	var r result
	cfg.AllowNets = loopback
	cfg.Visit = func(v Visit) {
		_, rest, _ := strings.Cut(v.URL, "://")
		r.visits = append(r.visits, fmt.Sprintf("%d %d %s", v.Depth, v.Status, rest[strings.IndexByte(rest, '/'):]))
	}
	c, err := New(cfg, f)
	if err != nil {
		return result{err: err}
	}
	r.err = c.Documents(ctx, func(raw ingest.Raw) error {
		r.pages = append(r.pages, raw)
		return nil
	}, nil)
	r.report = c.Report()
	return r
}

// fast crawls a site over loopback at full speed.
func fast(t testing.TB, s *site.Site, path string, depth int, change ...func(*Config)) result {
	t.Helper()
	cfg := Config{Seed: s.Start(t) + path, Depth: depth, Fast: true}
	for _, fn := range change {
		fn(&cfg)
	}
	return crawl(t, t.Context(), cfg, nil)
}

func equal(t testing.TB, what string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s:\n got  %q\n want %q", what, got, want)
	}
}

func sorted(s []string) []string { return slices.Sorted(slices.Values(s)) }

// once checks that nothing was requested twice.
func once(t testing.TB, s *site.Site) {
	t.Helper()
	seen := map[string]bool{}
	for _, target := range s.Targets() {
		if seen[target] {
			t.Errorf("%s was requested twice", target)
		}
		seen[target] = true
	}
}

// inProcess fetches from a handler without a network, for a fake clock.
type inProcess struct{ handler http.Handler }

func (f inProcess) Fetch(ctx context.Context, req fetch.Request) (fetch.Response, error) {
	r := httptest.NewRequestWithContext(ctx, http.MethodGet, req.URL, nil)
	w := httptest.NewRecorder()
	f.handler.ServeHTTP(w, r)
	if e := fetch.StatusError(req.URL, w.Code, w.Header()); e != nil {
		return fetch.Response{}, e
	}
	resp := fetch.Response{URL: req.URL, Status: w.Code, ContentType: w.Header().Get("Content-Type"), RobotsTag: w.Header().Values("X-Robots-Tag")}
	if w.Code >= 300 && w.Code < 400 {
		to, err := r.URL.Parse(w.Header().Get("Location"))
		if err != nil {
			return fetch.Response{}, err
		}
		resp.Location = to.String()
		return resp, nil
	}
	if w.Code < 300 {
		resp.Body = w.Body.Bytes()
	}
	return resp, nil
}

// A siteOfAll has every kind of link, and pages at depths 0 to 3.
func siteOfAll() *site.Site {
	return site.New(map[string]site.Page{
		"/robots.txt": {Type: "text/plain", Body: "User-agent: *\nDisallow: /private/\n"},
		"/": {Body: `<html><head><title>Home</title><link rel=next href="/next"><link rel=stylesheet href="/style.css">
			<link rel=alternate type="application/rss+xml" href="/news.xml"></head><body><p>Home page text.</p>
			<a href="/a#top">a</a> <a href="a">a again</a> <a href="./a?utm_source=x">a tracked</a>
			<a href="/b/">b</a> <a href="/private/x">private</a> <a href="/feed/">feed</a> <a href="/manual.pdf">pdf</a>
			<a href="mailto:x@example.com">mail</a> <a href="https://example.com/">elsewhere</a> <a href="/hidden" rel=nofollow>hidden</a>
			<img src="/image.png"><a href="/image.png">image</a> <a href="/gone">gone</a> <a href="/notes">notes</a> <a href="/readme">readme</a>
			<iframe src="/frame"></iframe><a href="/old">old</a></body></html>`},
		"/a":          site.Links("a", "/", "/b/", "/a/deep"),
		"/a/deep":     site.Links("deep", "/a/deeper"),
		"/a/deeper":   site.Links("deeper"),
		"/b/":         site.Links("b", "c", "../a", "?page=2"),
		"/b/c":        site.Links("c"),
		"/b/?page=2":  site.Links("b2"),
		"/next":       site.Links("next"),
		"/frame":      site.Links("frame"),
		"/hidden":     site.Links("hidden"),
		"/private/x":  site.Links("private"),
		"/old":        {To: "/new", Status: 301},
		"/new":        site.Links("new"),
		"/image.png":  {Type: "image/png", Body: "\x89PNG\r\n\x1a\n"},
		"/notes":      {Type: "text/plain; charset=utf-8", Body: "Notes, with <a href=/no>no link</a>."},
		"/readme":     {Type: "text/markdown", Body: "# Read me\n\n[no link](/no)"},
		"/news.xml":   {Type: "application/rss+xml", Body: "<rss/>"},
		"/manual.pdf": {Type: "application/pdf", Body: "%PDF-1.4"},
		"/feed/":      {Type: "application/rss+xml", Body: "<rss/>"},
	})
}

func TestPageSetIsExactAndEachIsRequestedOnce(t *testing.T) {
	depth1 := []string{"/next", "/a", "/b/", "/notes", "/readme", "/frame", "/new"}
	depth2 := []string{"/a/deep", "/b/c", "/b/?page=2"}
	for _, tc := range []struct {
		depth int
		want  []string
	}{
		{0, []string{"/"}},
		{1, append([]string{"/"}, depth1...)},
		{2, slices.Concat([]string{"/"}, depth1, depth2)},
		{9, slices.Concat([]string{"/"}, depth1, depth2, []string{"/a/deeper"})},
	} {
		s := siteOfAll()
		got := fast(t, s, "/", tc.depth)
		if got.err != nil {
			t.Fatal(got.err)
		}
		equal(t, fmt.Sprintf("pages at depth %d", tc.depth), sorted(got.paths()), sorted(tc.want))
		once(t, s)
		if got.report.Pages != len(tc.want) || got.report.Requests != len(s.Hits()) {
			t.Errorf("report: %d pages, %d requests of %d", got.report.Pages, got.report.Requests, len(s.Hits()))
		}
		for _, never := range []string{"/private/x", "/hidden", "/feed/", "/manual.pdf", "/news.xml", "/style.css", "/no"} {
			if s.Count(never) != 0 {
				t.Errorf("%s was requested", never)
			}
		}
	}
}

// Bodies are read into memory that is used again where nobody wants the pages.
func TestACrawlForAddressesAloneFindsTheSame(t *testing.T) {
	pages := map[string]site.Page{"/": site.Links("home")}
	for i := range 300 {
		at := fmt.Sprintf("/p%d", i)
		pages[at] = site.Links(strings.Repeat(at+" ", 1+i%7*300), fmt.Sprintf("/p%d", (i*7+3)%300), fmt.Sprintf("/p%d", (i*11+5)%300))
	}
	pages["/"] = site.Links("home", "/p1", "/p2", "/p3")
	s := site.New(pages)
	var visits [2][]string
	var reports [2]Report
	for i, emit := range []func(ingest.Raw) error{nil, func(ingest.Raw) error { return nil }} {
		c, err := New(Config{Seed: s.Start(t) + "/", Depth: 99, Fast: true, AllowNets: loopback, Visit: func(v Visit) {
			visits[i] = append(visits[i], fmt.Sprint(v.Status, v.URL[strings.LastIndexByte(v.URL, '/'):]))
		}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Documents(t.Context(), emit, nil); err != nil {
			t.Fatal(err)
		}
		reports[i] = c.Report()
	}
	equal(t, "pages", sorted(visits[0]), sorted(visits[1]))
	if a, b := reports[0], reports[1]; a.Pages != b.Pages || a.Pages < 50 || a.Collapsed != 0 || b.Collapsed != 0 {
		t.Errorf("%d pages and %d, %d and %d collapsed", a.Pages, b.Pages, a.Collapsed, b.Collapsed)
	}
}

func TestReportNamesWhatWasLeftOut(t *testing.T) {
	got := fast(t, siteOfAll(), "/", 1)
	refused := map[string]string{}
	for _, r := range got.report.Refused {
		refused[r.URL[strings.LastIndexByte(r.URL[:len(r.URL)-1], '/'):]] = r.Reason
	}
	for name, want := range map[string]string{
		"/x": "robots.txt: Disallow: /private/", "/feed/": reasonFeed, "/manual.pdf": reasonDocument, "/image.png": "content type image/png is not wanted",
	} {
		if refused[name] != want {
			t.Errorf("%s: refused for %q, want %q", name, refused[name], want)
		}
	}
	r := got.report
	if r.RefusedTotal != 4 || r.FailedTotal != 1 || r.Failed[0].Class != fetch.Denied || r.Failed[0].Error != "status 404 not found" {
		t.Errorf("%+v", r)
	}
	if r.Redirects != 1 || r.OffSite != 1 || r.Foreign != 1 || r.Nofollow != 1 {
		t.Errorf("%+v", r)
	}
	if !slices.Contains(got.visits, "1 404 /gone") || !slices.Contains(got.visits, "0 200 /") || slices.ContainsFunc(got.visits, func(v string) bool { return strings.HasSuffix(v, "/old") }) {
		t.Errorf("visits %q", got.visits)
	}
}

func TestPagesAreEmittedAsTheyCame(t *testing.T) {
	s := site.New(map[string]site.Page{
		"/":  site.Links("home", "/x"),
		"/x": {Type: "text/html; charset=koi8-r", Body: "<p>\xf0\xf2\xe9", Headers: []string{"ETag", `"v1"`, "Last-Modified", "Mon, 02 Jan 2006 15:04:05 GMT"}},
	})
	before := time.Now().Add(-time.Second)
	got := fast(t, s, "/", 1)
	if len(got.pages) != 2 {
		t.Fatal(got.paths(), got.err)
	}
	l := got.pages[1].Location
	if string(got.pages[1].Body) != "<p>\xf0\xf2\xe9" || l.Source != "crawl" || l.Status != 200 || l.ETag != `"v1"` ||
		l.Modified != "Mon, 02 Jan 2006 15:04:05 GMT" || l.ContentType != "text/html; charset=koi8-r" || !strings.HasSuffix(l.URI, "/x") ||
		l.FetchedAt.Before(before) || l.FetchedAt.Location() != time.UTC || l.FetchedAt.Nanosecond() != 0 {
		t.Errorf("%+v", l)
	}
}

func TestRobotsDirectivesOnPagesAreHonoured(t *testing.T) {
	s := site.New(map[string]site.Page{
		"/":             site.Links("home", "/noindex", "/nofollow", "/header", "/text"),
		"/noindex":      {Body: `<meta name=robots content=noindex><p>text<a href=/from-noindex>x</a>`},
		"/nofollow":     {Body: `<meta name=robots content=nofollow><p>text<a href=/from-nofollow>x</a>`},
		"/header":       {Body: `<p>text<a href=/from-header>x</a>`, Headers: []string{"X-Robots-Tag", "otherbot: none", "X-Robots-Tag", "noindex, nofollow"}},
		"/text":         {Type: "text/plain", Body: "text", Headers: []string{"X-Robots-Tag", "noindex"}},
		"/from-noindex": site.Links("from noindex"),
	})
	got := fast(t, s, "/", 5)
	equal(t, "pages", sorted(got.paths()), []string{"/", "/from-noindex", "/nofollow"})
	if got.report.NoIndex != 3 || got.report.Pages != 6 {
		t.Errorf("%+v", got.report)
	}
	if s.Count("/from-nofollow")+s.Count("/from-header") != 0 {
		t.Error("a nofollow link was followed")
	}
}

func TestDepthIsTheShortestWay(t *testing.T) {
	s := site.New(map[string]site.Page{
		"/":  site.Links("home", "/a", "/r"),
		"/a": site.Links("a", "/b"),
		"/b": site.Links("b", "/c"),
		"/r": {To: "/b"},
		"/c": site.Links("c", "/d"),
		"/d": site.Links("d"),
	})
	// /b is found by /a at depth 2, and by the redirect at depth 1.
	got := fast(t, s, "/", 2)
	equal(t, "visits", sorted(got.visits), []string{"0 200 /", "1 200 /a", "1 200 /b", "2 200 /c"})
	once(t, s)
}

func TestAPageThatARedirectRaisesLateIsNotForgotten(t *testing.T) {
	// /b is found at depth 2 by /a, before /t is known; then /t, which a
	// redirect added to depth 1, leads to /b and so raises it to depth 1.
	s := site.New(map[string]site.Page{
		"/": site.Links("home", "/a", "/r"), "/a": site.Links("a", "/b"), "/r": {To: "/t"}, "/t": {To: "/b"}, "/b": site.Links("b"),
	})
	got := crawl(t, t.Context(), Config{Seed: s.Start(t) + "/", Depth: 1, Delay: time.Nanosecond}, nil)
	equal(t, "visits at depth 1", got.visits, []string{"0 200 /", "1 200 /a", "1 200 /b"})
	s = site.New(map[string]site.Page{
		"/": site.Links("home", "/a", "/r"), "/a": site.Links("a", "/b"), "/r": {To: "/t"}, "/t": {To: "/b"}, "/b": site.Links("b"),
	})
	got = crawl(t, t.Context(), Config{Seed: s.Start(t) + "/", Depth: 2, Delay: time.Nanosecond}, nil)
	equal(t, "visits at depth 2", got.visits, []string{"0 200 /", "1 200 /a", "1 200 /b"})
}

func TestPoliteCrawlsHaveOneOrder(t *testing.T) {
	var first result
	for i := range 3 {
		s := siteOfAll()
		got := crawl(t, t.Context(), Config{Seed: s.Start(t) + "/", Depth: 3, Delay: time.Nanosecond}, nil)
		if got.err != nil {
			t.Fatal(got.err)
		}
		if i == 0 {
			first = got
			equal(t, "order", got.paths(), []string{"/", "/next", "/a", "/b/", "/notes", "/readme", "/frame", "/new", "/a/deep", "/b/c", "/b/?page=2", "/a/deeper"})
		}
		equal(t, "visits", got.visits, first.visits)
	}
}

func TestMaxPagesIsExactInEveryMode(t *testing.T) {
	for _, mode := range []func(*Config){func(c *Config) { c.Fast = true }, func(c *Config) { c.Fast, c.Delay = false, time.Nanosecond }} {
		for n := 1; n <= 13; n++ {
			s := siteOfAll()
			cfg := Config{Seed: s.Start(t) + "/", Depth: 9, MaxPages: n}
			mode(&cfg)
			got := crawl(t, t.Context(), cfg, nil)
			want := min(n, 12)
			if got.err != nil || len(got.pages) != want || got.report.Pages != want || got.report.Capped != (n < 12) {
				t.Errorf("cap %d: %d pages, capped %v, %v", n, len(got.pages), got.report.Capped, got.err)
			}
			once(t, s)
		}
	}
}

func TestASiteThatMovedToHTTPSIsCrawledThereAlone(t *testing.T) {
	s := site.New(map[string]site.Page{
		"/": {Serve: func(w http.ResponseWriter, r *http.Request) {
			if r.TLS == nil {
				http.Redirect(w, r, "https://site.example/", http.StatusMovedPermanently)
				return
			}
			fmt.Fprint(w, site.Links("home", "http://site.example/a", "https://site.example/a", "/b", "https://site.example:443/b").Body)
		}},
		"/a": site.Links("a"), "/b": site.Links("b"),
	})
	got := crawl(t, t.Context(), Config{Seed: "http://site.example/", Depth: 2, Fast: true}, inProcess{s})
	var uris []string
	for _, p := range got.pages {
		uris = append(uris, p.Location.URI)
	}
	equal(t, "pages", sorted(uris), []string{"https://site.example/", "https://site.example/a", "https://site.example/b"})
}

func TestOnlyTheSeedsHostAndThoseAllowedAreAsked(t *testing.T) {
	other := site.New(map[string]site.Page{
		"/":           site.Links("other", "/x"),
		"/x":          site.Links("x"),
		"/private":    site.Links("p"),
		"/robots.txt": {Type: "text/plain", Body: "User-agent: *\nDisallow: /private"},
	})
	otherURL := other.Start(t)
	s := site.New(map[string]site.Page{"/": site.Links("home", otherURL+"/", otherURL+"/private", "/to"), "/to": {To: otherURL + "/x"}})
	got := fast(t, s, "/", 2)
	equal(t, "pages", got.paths(), []string{"/"})
	if len(other.Hits()) != 0 {
		t.Errorf("another host was asked for %q", other.Targets())
	}
	if len(got.report.Refused) != 1 || !strings.Contains(got.report.Refused[0].Reason, "redirects to another host: "+otherURL) {
		t.Errorf("%+v", got.report.Refused)
	}
	got = fast(t, s, "/", 2, func(c *Config) { c.AllowHosts = []string{strings.TrimPrefix(otherURL, "http://")} })
	equal(t, "pages with a host allowed", sorted(got.paths()), []string{"/", "/", "/x"})
	if other.Count("/private") != 0 || other.Count("/robots.txt") != 1 {
		t.Errorf("the other host was asked for %q", other.Targets())
	}
}
