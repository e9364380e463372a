package crawl

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"arborist/crawl/internal/weburl"
	"arborist/ingest"
	"arborist/internal/arbtest/site"
)

// twinSite has one page under five addresses, another that differs from it in
// its markup alone, and one whose addresses differ in a slash but not in vain.
func twinSite() *site.Site {
	same := site.Links("one page")
	return site.New(map[string]site.Page{
		"/":           site.Links("home", "/a", "/a/", "/q?x=1&y=2", "/q?y=2&x=1", "/a?print=1", "/marked", "/b", "/b/"),
		"/a":          same,
		"/a/":         same,
		"/q?x=1&y=2":  same,
		"/q?y=2&x=1":  same,
		"/a?print=1":  same,
		"/marked":     {Body: strings.Replace(same.Body, "<p>", "<p class=other>", 1)},
		"/b":          site.Links("the letter b"),
		"/b/":         site.Links("a folder named b"),
		"/elsewhere/": same,
	})
}

func TestTwinsAreFoundByContentAndNotGuessed(t *testing.T) {
	s := twinSite()
	got := fast(t, s, "/", 1)
	if len(got.pages) != 9 || got.report.Collapsed != 4 {
		t.Errorf("%d pages, %d collapsed", len(got.pages), got.report.Collapsed)
	}
	once(t, s)
	// Ingested, what counts is the document: mark-up makes no difference.
	p := openPrivate(t, t.TempDir()+"/web.db")
	c, err := New(Config{Seed: s.Start(t) + "/", Depth: 1, Fast: true, AllowNets: loopback, Store: p}, nil)
	if err != nil {
		t.Fatal(err)
	}
	report, stored, err := c.Ingest(t.Context(), ingest.Config{}, nil)
	if err != nil || report.Pages != 9 || report.Collapsed != 5 || stored.New != 4 {
		t.Errorf("%d pages, %d collapsed, %d new, %v", report.Pages, report.Collapsed, stored.New, err)
	}
}

func TestADirectoryOfSoft404sEnds(t *testing.T) {
	for name, notFound := range map[string]func(path string) string{
		"the same page":     func(string) string { return "<p>Sorry, nothing here.</p><a href=/>home</a>" },
		"naming the page":   func(path string) string { return "<p>Sorry, there is no " + path + ".</p><a href=/>home</a>" },
		"linking to itself": func(path string) string { return "<a href='" + path + "'>again</a><a href=/>home</a>" },
	} {
		s := site.Over(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == robotsTxt {
				http.NotFound(w, r)
				return
			}
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, notFound(r.URL.Path))
		}))
		var hrefs []string
		for i := range 400 {
			hrefs = append(hrefs, "/lost/"+letters(i))
		}
		for i := range 60 {
			hrefs = append(hrefs, "/found/"+letters(i))
			s.Set(hrefs[len(hrefs)-1], site.Links("page "+letters(i), "/x"))
		}
		s.Set("/", site.Links("home", hrefs...))
		got := fast(t, s, "/", 1, func(c *Config) { c.Workers = 1 })
		lost := 0
		for _, p := range got.paths() {
			if strings.HasPrefix(p, "/lost/") {
				lost++
			}
		}
		if lost != softRow || len(got.pages) != 1+softRow+60 {
			t.Errorf("%s: %d pages, %d of them of the directory that has none", name, len(got.pages), lost)
		}
		if tr := got.report.Traps; len(tr) != 1 || !strings.HasSuffix(tr[0].Pattern, "/lost/*") || tr[0].Refused != 400-softRow || tr[0].Pages != softRow {
			t.Errorf("%s: traps %+v", name, tr)
		}
		if r := got.report.Refused; len(r) != 400-softRow || !strings.Contains(r[0].Reason, "soft 404") {
			t.Errorf("%s: %d refused: %+v", name, len(r), r[:1])
		}
	}
}

// letters spells a number without a digit, four letters long.
func letters(n int) string {
	b := []byte("qqqq")
	for i := range b {
		b[i] = byte('a' + n%26)
		n /= 26
	}
	return string(b)
}

// Pages that send on to others look alike but for what they name.
func TestADirectoryOfSignpostsIsNoSoft404(t *testing.T) {
	s := site.New(nil)
	var hrefs []string
	for i := range 120 {
		name := letters(i)
		hrefs = append(hrefs, "/old/"+name)
		s.Set("/old/"+name, site.Page{Body: `<meta http-equiv=refresh content="0;url=/new/` + name + `"><a href="/new/` + name + `">moved</a>`})
		s.Set("/new/"+name, site.Links(name))
	}
	s.Set("/", site.Links("home", hrefs...))
	if got := fast(t, s, "/", 2); len(got.pages) != 241 || len(got.report.Traps) != 0 {
		t.Errorf("%d pages, traps %+v", len(got.pages), got.report.Traps)
	}
}

func TestAPageUnderEverNewSessionsIsFetchedTwiceAtMost(t *testing.T) {
	for name, link := range map[string]string{
		"in the query": "/%s?a=b&PHPSESSID=%x", "in the path": "/%s;jsessionid=%X", "with a common name": "/%s?sid=%032x&a=b",
	} {
		n := 0
		s := byPath(func(target string) site.Page {
			var hrefs []string
			for _, page := range []string{"home", "news", "about"} {
				n++
				hrefs = append(hrefs, fmt.Sprintf(link, page, 0xabcdef012345+n))
			}
			return site.Links(target, hrefs...)
		})
		got := fast(t, s, "/", 30, func(c *Config) { c.Workers = 1 })
		if len(got.pages) != 1+3*sessionBudget || got.report.RefusedTotal == 0 || len(got.report.Traps) == 0 {
			t.Errorf("%s: %d pages, %d refused, traps %+v", name, len(got.pages), got.report.RefusedTotal, got.report.Traps)
		}
	}
}

func TestASessionIsKnownByItsName(t *testing.T) {
	parser := weburl.NewParser(nil)
	for raw, want := range map[string]string{
		"http://h/a":                             "",
		"http://h/a?b=c;d":                       "",
		"http://h/a;v=1?b":                       "",
		"http://h/a?sid=12":                      "",
		"http://h/a?s=a-sentence-to-search-for":  "",
		"http://h/a;jsessionid=1A":               "http://h/a",
		"http://h/a;JSESSIONID=1A;v=1/b;x?c=d":   "http://h/a;v=1/b;x&c=d",
		"http://h/a?PHPSESSID=1&b=c":             "http://h/a&b=c",
		"http://h/a?b=c&sid=0123456789abcdef":    "http://h/a&b=c",
		"http://h/a?ASPSESSIONIDABCD=x&cfid=1&b": "http://h/a&b",
	} {
		u, err := parser.Parse(raw)
		if err != nil {
			t.Fatal(err)
		}
		got, found := withoutSession(u)
		if found != (want != "") || found && strings.Trim(got, "&") != want {
			t.Errorf("%s: %q, %v; want %q", raw, got, found, want)
		}
	}
}
