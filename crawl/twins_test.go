package crawl

import (
	"crypto/sha256"
	"encoding/base64"
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
		testSoft404(t, name, 0, softRow, "/lost/*", notFound)
	}
	for name, notFound := range map[string]func(path string) string{
		"naming its last word": func(path string) string {
			return "<title>" + path[strings.LastIndexByte(path, '/')+1:] + "</title><p>Sorry, there is no " + path[strings.LastIndexByte(path, '/')+1:] + " here.</p>"
		},
		"with a token of its own": func(path string) string {
			return fmt.Sprintf("<meta name=csrf content=%x><input value='%s='><p>Sorry, nothing here.</p>", sha256.Sum256([]byte(path)), base64.URLEncoding.EncodeToString([]byte("0123456789abc"+path)))
		},
		"making up links": func(path string) string {
			return "<p>Sorry, nothing is here.</p>Perhaps <a href=" + path + "/" + path[len(path)-2:] + ">this</a> or <a href='/lost/x" + path[len(path)-2:] + "'>that " + path[len(path)-2:] + "</a>"
		},
	} {
		testSoft404(t, name, softRow-1, looseRow, "/lost/**", notFound)
	}
}

// testSoft404 crawls a site with a directory in which there is nothing and
// notFound answers, of which row pages are to be fetched, and so many before them.
func testSoft404(t *testing.T, name string, before, row int, pattern string, notFound func(path string) string) {
	t.Helper()
	all := before + row + 350
	s := site.Over(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == robotsTxt {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, notFound(r.URL.Path))
	}))
	var hrefs []string
	for i := range all {
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
	if lost != before+row || len(got.pages) != 1+before+row+60 {
		t.Errorf("%s: %d pages, %d of them of the directory that has none", name, len(got.pages), lost)
	}
	if tr := got.report.Traps; len(tr) != 1 || !strings.HasSuffix(tr[0].Pattern, pattern) || tr[0].Refused != all-before-row || tr[0].Pages != row {
		t.Errorf("%s: traps %+v", name, tr)
	}
	if r := got.report.Refused; len(r) != all-before-row || !strings.Contains(r[0].Reason, "soft 404") {
		t.Errorf("%s: %d refused: %+v", name, len(r), r[:1])
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

// A site that makes up words has an end as well, be its pages ever so different.
func TestMadeUpWordsRunOut(t *testing.T) {
	tr := newTraps(10)
	fetched := 0
	for i := range 3000 {
		if tr.charge(parse(t, "http://h/w/"+letters(i)), 0, i) == "" {
			fetched++
		}
	}
	if want := 1 + longChain + 10*wordBudgets; fetched != want {
		t.Errorf("%d were fetched, want %d", fetched, want)
	}
	if reason := tr.charge(parse(t, "http://h/other/word"), 0, 100); reason != "" {
		t.Errorf("another folder: %s", reason)
	}
	if n := tr.notes(); len(n) != 1 || n[0].Pattern != "http://h/w/*" {
		t.Errorf("notes %+v", n)
	}
	for i := range 2000 {
		if reason := tr.charge(parse(t, "http://h/near/"+letters(i)), 0, longChain); reason != "" {
			t.Fatalf("page %d near the seed: %s", i, reason)
		}
	}
}

func TestPatternsAreForgottenBeforeThereAreTooMany(t *testing.T) {
	tr := newTraps(1)
	for i := range 2 {
		tr.charge(parse(t, fmt.Sprintf("http://h/cal/%d", i)), longChain+1, 1)
	}
	for i := range 2 * maxPatterns {
		tr.charge(parse(t, fmt.Sprintf("http://h/1%s%s", letters(i%9999), letters(i/9999))), 0, 1)
	}
	if len(tr.patterns) > maxPatterns {
		t.Errorf("%d patterns", len(tr.patterns))
	}
	if tr.charge(parse(t, "http://h/cal/77"), longChain+1, 1) == "" {
		t.Error("a pattern that ran out was forgotten")
	}
}

// What differs in a way that a reader sees is no soft 404.
func TestPagesThatLookNearlyAlikeAreNoSoft404(t *testing.T) {
	for name, body := range map[string]func(i int) string{
		"one word":    func(i int) string { return "<p>This is the entry of the list for " + letters(i) + "x.</p>" },
		"one picture": func(i int) string { return fmt.Sprintf("<p>A picture of the quarry.</p><img src=/pictures/%d.jpg>", i) },
		"a number":    func(i int) string { return fmt.Sprintf("<p>The house has %d windows in all.</p>", i) },
		"lists alone": func(i int) string { return "<h1>Index</h1><a href=/item/" + letters(i+1) + ">" + letters(i+1) + "</a>" },
		"links outside": func(i int) string {
			return "<p>This page has been moved to</p><a href=/new/" + letters(i) + ">this one</a>"
		},
	} {
		s := site.New(nil)
		var hrefs []string
		for i := range looseRow + softRow + 50 {
			hrefs = append(hrefs, "/item/"+letters(i))
			s.Set(hrefs[i], site.Page{Body: body(i)})
		}
		s.Set("/", site.Links("home", hrefs...))
		if got := fast(t, s, "/", 1); len(got.pages) != 1+looseRow+softRow+50 || len(got.report.Traps) != 0 {
			t.Errorf("%s: %d pages, traps %+v", name, len(got.pages), got.report.Traps)
		}
	}
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

// A site that answers everything with one page shows each its own path, however
// often; what else is different makes another page.
func TestAPageIsKnownByAllOfItButItsOwnPath(t *testing.T) {
	tw := newTwins()
	look := func(path, page string) uint64 {
		return tw.looks(parse(t, "http://example.org"+path), []byte(strings.ReplaceAll(page, "PATH", path)), nil).page
	}
	const page = "<p>PATH was not found</p><p>Is PATH right?</p><p>Tell us.</p>"
	if look("/one", page) != look("/other", page) {
		t.Error("a page that repeats its path is another one at another path")
	}
	for _, other := range []string{
		strings.Replace(page, "<p>PATH", "<p>The PATH", 1), strings.Replace(page, "Is", "Was", 1), strings.Replace(page, "us", "them", 1), strings.Replace(page, "PATH", "", 1) + "PATH ",
	} {
		if look("/one", page) == look("/one", other) {
			t.Errorf("%q is taken for the same page", other)
		}
	}
}

func TestABodyIsCutAtItsPathsFirstPlace(t *testing.T) {
	bodies := []string{"", "/a", "/ab", "x/abx", "/abc/abc", "//ab", "/aB/aB.html tail /aB/aB.html", "/aB/aB.htm", strings.Repeat("/a", 50) + "/ab", "B/aB", "/x1/x1/x12"}
	for _, path := range []string{"/", "/a", "/ab", "/abc", "/aB", "/aB/aB.html", "/x1/x12", "/-.-"} {
		for _, body := range bodies {
			before, after, found := cutPath([]byte(body), path)
			wantBefore, wantAfter, want := strings.Cut(body, path)
			if len(path) < 3 {
				wantBefore, wantAfter, want = body, "", false
			}
			if string(before) != wantBefore || string(after) != wantAfter || found != want {
				t.Errorf("%q at %q: %q, %q, %v", body, path, before, after, found)
			}
		}
	}
}
