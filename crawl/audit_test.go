package crawl

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"path/filepath"
	"strings"
	"testing"

	"arborist/crawl/audit"
	"arborist/ingest"
	"arborist/internal/arbtest/site"
)

// faultySite has one of every fault that an audit knows.
func faultySite(t *testing.T) *httptest.Server {
	t.Helper()
	long := func(seed string) string {
		var b strings.Builder
		for i := range 60 {
			fmt.Fprintf(&b, "<p>Sentence %d of the page about %s says that granite number %d is grey and heavy.</p>", i, seed, i*7)
		}
		return b.String()
	}
	pages := map[string]string{
		"/":       `<title>Home</title><p>` + long("home") + `<a href=/a>a</a> <a href=/copy>copy</a> <a href=/moved>moved</a> <a href=/gone>gone</a> <a href=/secret>s</a>`,
		"/a":      `<title>A</title>` + long("a"),
		"/copy":   `<title>A</title>` + long("a"),
		"/landed": `<p>Short.</p><a href=/missing>missing</a>`,
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/robots.txt", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "User-agent: *\nDisallow: /secret\n") })
	mux.HandleFunc("/moved", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/further", http.StatusMovedPermanently)
	})
	mux.HandleFunc("/further", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/landed", http.StatusMovedPermanently)
	})
	srv := httptest.NewUnstartedServer(mux)
	mux.HandleFunc("/sitemap.xml", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/xml")
		fmt.Fprintf(w, "<urlset><url><loc>%[1]s/a</loc></url><url><loc>%[1]s/orphan</loc></url><url><loc>https://elsewhere.example/</loc></url></urlset>", "http://"+r.Host)
	})
	mux.HandleFunc("/secret.xml", func(http.ResponseWriter, *http.Request) { t.Error("a sitemap was fetched that robots.txt forbids") })
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		p, ok := pages[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprint(w, p)
	})
	srv.Start()
	t.Cleanup(srv.Close)
	return srv
}

// What a crawl stored before it was stopped is not indexed, and what is not
// indexed has no words.
// audited reports on the latest crawl of a configuration.
func audited(t *testing.T, cfg Config) audit.Report {
	t.Helper()
	c, err := New(cfg, nil)
	if err != nil {
		t.Fatal(err)
	}
	r, err := c.Audit(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestAStoppedCrawlHasNoThinPagesThatAreNone(t *testing.T) {
	srv := faultySite(t)
	p := openPrivate(t, filepath.Join(t.TempDir(), "web.db"))
	ctx, stop := context.WithCancel(t.Context())
	cfg := Config{Seed: srv.URL + "/", Depth: 5, Fast: true, Store: p, AllowNets: loopback}
	c, err := New(cfg, nil)
	if err != nil {
		t.Fatal(err)
	}
	_, stored, err := c.Ingest(ctx, ingest.Config{}, func(ingest.Progress) { stop() })
	pending, counted := p.File().Pending(t.Context())
	if !errors.Is(err, context.Canceled) || counted != nil || pending == 0 || pending != stored.New {
		t.Fatalf("%d of %d documents wait, %v, %v", pending, stored.New, err, counted)
	}
	if c, err = New(cfg, nil); err != nil {
		t.Fatal(err)
	}
	r, err := c.Audit(t.Context(), "")
	if err != nil || r.Pages != stored.Documents {
		t.Fatalf("%d pages of %d, %v", r.Pages, stored.Documents, err)
	}
	for _, thin := range r.Thin {
		if thin.URL != srv.URL+"/landed" {
			t.Errorf("%s has %d words", thin.URL, thin.Words)
		}
	}
}

func TestACrawlTellsWhatIsWrongWithTheSite(t *testing.T) {
	srv := faultySite(t)
	p, err := OpenPrivate(filepath.Join(t.TempDir(), "crawl", "web.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	cfg := Config{Seed: srv.URL + "/", Depth: 5, Fast: true, Store: p, AllowNets: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}
	fresh := func() *Crawler {
		c, err := New(cfg, nil)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	if _, err := fresh().Audit(t.Context(), ""); !errors.Is(err, ErrNothingToResume) {
		t.Fatalf("before any crawl: %v", err)
	}
	if _, _, err := fresh().Ingest(t.Context(), ingest.Config{}, nil); err != nil {
		t.Fatal(err)
	}
	r, err := fresh().Audit(t.Context(), srv.URL+"/sitemap.xml")
	if err != nil {
		t.Fatal(err)
	}
	at := func(path string) string { return srv.URL + path }
	if r.Pages != 4 {
		t.Errorf("%d pages", r.Pages)
	}
	broken := map[string]string{}
	for _, b := range r.Broken {
		broken[b.URL] = fmt.Sprint(b.Status, " ", b.FoundOn)
	}
	if want := map[string]string{at("/gone"): "404 " + at("/"), at("/missing"): "404 " + at("/landed")}; fmt.Sprint(broken) != fmt.Sprint(want) {
		t.Errorf("broken: %v, want %v", broken, want)
	}
	if len(r.Redirects) != 1 || r.Redirects[0].From != at("/moved") || r.Redirects[0].To != at("/landed") || r.Redirects[0].Hops != 2 || r.Redirects[0].FoundOn != at("/") {
		t.Errorf("redirects: %+v", r.Redirects)
	}
	if len(r.Duplicates) != 1 || strings.Join(r.Duplicates[0].URLs, " ") != at("/a")+" "+at("/copy") {
		t.Errorf("duplicates: %+v", r.Duplicates)
	}
	if len(r.Orphans) != 1 || r.Orphans[0].URL != at("/orphan") || r.Orphans[0].Why != "sitemap" {
		t.Errorf("orphans: %+v", r.Orphans)
	}
	if len(r.Thin) != 1 || r.Thin[0].URL != at("/landed") || !r.Thin[0].Untitled {
		t.Errorf("thin: %+v", r.Thin)
	}
	// A second crawl starts over and knows the same.
	if _, _, err := fresh().Ingest(t.Context(), ingest.Config{}, nil); err != nil {
		t.Fatal(err)
	}
	again, err := fresh().Audit(t.Context(), "")
	if err != nil || fmt.Sprint(again.Broken) != fmt.Sprint(r.Broken) {
		t.Errorf("after a second crawl: %+v, %v", again.Broken, err)
	}
	for bad, want := range map[string]error{
		srv.URL + "/secret.xml": ErrSitemap, srv.URL + "/gone": ErrSitemap, srv.URL + "/a": ErrSitemap,
		"https://elsewhere.example/sitemap.xml": ErrSitemapAddress, "nonsense": ErrSitemapAddress,
	} {
		if _, err := fresh().Audit(t.Context(), bad); !errors.Is(err, want) {
			t.Errorf("sitemap %s: %v, want %v", bad, err, want)
		}
	}
}

// TestTheReportKnowsWhereEachRedirectLed: to a page that the crawl knew, to
// another host, or nowhere, of which the last are links that lead to no page.
func TestTheReportKnowsWhereEachRedirectLed(t *testing.T) {
	s := site.New(map[string]site.Page{
		"/":       site.Links("home", "/page", "/old", "/long", "/away", "/circle", "/nowhere"),
		"/page":   site.Links("page", "/", "/late"),
		"/old":    {To: "/page", Status: 301},
		"/long":   {To: "/old", Status: 302},
		"/late":   {To: "/", Status: 301},
		"/away":   {To: "http://elsewhere.example/x", Status: 301},
		"/circle": {To: "/circle2", Status: 302}, "/circle2": {To: "/circle", Status: 302},
		"/nowhere": {To: "mailto:a@b.example", Status: 302},
	})
	base, p := s.Start(t), openPrivate(t, filepath.Join(t.TempDir(), "web.db"))
	cfg := Config{Seed: base + "/", Depth: 2, Fast: true, AllowNets: loopback}
	if _, _, err := into(t, t.Context(), p, cfg); err != nil {
		t.Fatal(err)
	}
	cfg.Store = p
	r := audited(t, cfg)
	got := map[string]string{}
	for _, c := range r.Redirects {
		got[strings.TrimPrefix(c.From, base)] = fmt.Sprint(strings.TrimPrefix(c.To, base), " ", c.Hops)
	}
	want := map[string]string{"/old": "/page 1", "/long": "/page 2", "/late": "/ 1", "/away": "http://elsewhere.example/x 1", "/circle": "/circle2 1"}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("redirects: %v, want %v", got, want)
	}
	var broken []string
	for _, b := range r.Broken {
		broken = append(broken, fmt.Sprint(strings.TrimPrefix(b.URL, base), " ", b.Status, " ", strings.TrimPrefix(b.FoundOn, base)))
	}
	if want := "[/circle2 302 / /nowhere 302 /]"; fmt.Sprint(broken) != want {
		t.Errorf("broken: %v, want %v", broken, want)
	}
}
