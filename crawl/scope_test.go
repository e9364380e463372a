package crawl

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"arborist/crawl/internal/weburl"
)

func parse(t testing.TB, raw string) weburl.URL {
	t.Helper()
	u, err := weburl.NewParser(weburl.DefaultTracking()).Parse(raw)
	if err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	return u
}

func TestScopeIsTheSeedsHostAndThoseAllowed(t *testing.T) {
	seed := parse(t, "http://h:8080/docs/")
	s, err := newScope(weburl.NewParser(nil), []weburl.URL{seed}, []string{"Other.Example", "p:81", "[::1]"})
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		url string
		in  bool
	}{
		{"http://h:8080/", true}, {"http://h:8080/docs/x", true}, {"http://h/", false}, {"https://h:8080/", false},
		{"http://sub.h:8080/", false}, {"http://other.example/x", true}, {"https://other.example/", true},
		{"http://other.example:8080/", true}, {"http://a.other.example/", false},
		{"http://p:81/", true}, {"http://p/", false}, {"http://[::1]/", true}, {"http://[::2]/", false},
	} {
		if _, ok := s.adopt(parse(t, tc.url)); ok != tc.in {
			t.Errorf("%s: %v", tc.url, ok)
		}
	}
	if ports := s.ports([]weburl.URL{seed}); !slices.Equal(ports, []uint16{8080, 81}) {
		t.Errorf("ports %v", ports)
	}
	for _, host := range []string{"", "http://h", "h/x", "h?x", "a b", "h:99999", "u@h", "h:0"} {
		if _, err := newScope(weburl.NewParser(nil), []weburl.URL{seed}, []string{host}); !errors.Is(err, ErrHost) {
			t.Errorf("host %q: %v", host, err)
		}
	}
}

func TestFeedsAndSitemapsAreKnownByName(t *testing.T) {
	n := newNotPages()
	for _, tc := range []struct{ path, want string }{
		{"/blog.atom", reasonFeed}, {"/x.RSS", reasonFeed}, {"/index.rdf", reasonFeed}, {"/feed/", reasonFeed},
		{"/a/feeds/b", reasonFeed}, {"/comments/feed/", reasonFeed}, {"/?feed=rss2", reasonFeed}, {"/?a=b&feed=atom", reasonFeed},
		{"/sitemap.xml", reasonSitemap}, {"/a/sitemap_index.xml", reasonSitemap}, {"/sitemaps/x.xml", reasonSitemap},
		{"/wp-sitemap.xml", reasonSitemap}, {"/wp-sitemap-posts-post-1.xml", reasonSitemap}, {"/post-sitemap2.xml", reasonSitemap},
		{"/sitemap1.xml.gz", reasonSitemap}, {"/Sitemap.XML", reasonSitemap},
		{"/robots.txt", reasonRobots}, {"/a/robots.txt", ""},
		{"/", ""}, {"/feed", ""}, {"/feedback/", ""}, {"/newsfeed/x", ""}, {"/?feed=me", ""}, {"/rss", ""}, {"/atom.html", ""},
		{"/sitemap", ""}, {"/sitemap.html", ""}, {"/sitemaps/", ""}, {"/mysitemap.xml", ""}, {"/data.xml", ""},
		{"/wiki/Node.js", ""}, {"/a.pdf", ""},
	} {
		if got := n.reason(parse(t, "http://h"+tc.path)); got != tc.want {
			t.Errorf("%s: %q, want %q", tc.path, got, tc.want)
		}
	}
}

func TestPatternsPutVariableAddressesTogether(t *testing.T) {
	for _, tc := range []struct {
		path, want string
		variable   bool
	}{
		{"/", "/", false}, {"/docs/intro.html", "/docs/intro.html", false},
		{"/cal/2024/05/", "/cal/#/#/", true}, {"/cal/2031/12/", "/cal/#/#/", true}, {"/a00123.html", "/a#.html", true},
		{"/cal?month=5&year=2024", "/cal?month&year", true}, {"/cal?year=1&month=2&year=3", "/cal?month&year", true},
		{"/s/0123456789abcdef/x", "/s/#/x", true}, {"/s/abcdef-ABCDEF-abcdef", "/s/#", true}, {"/s/550e8400-e29b-41d4-a716-446655440000", "/s/#", true},
		{"/x;jsessionid=ABC", "/x;", true}, {"/x?a1=2", "/x?a#", true}, {"/x?", "/x", false}, {"/added-beef", "/added-beef", false},
	} {
		u := parse(t, "http://h"+tc.path)
		if got := pattern(u); got != "http://h"+tc.want || variable(u) != tc.variable {
			t.Errorf("%s: %s, %v; want %s", tc.path, got, variable(u), tc.want)
		}
	}
}

func TestACalendarRunsOutOfBudgetAndAManualDoesNot(t *testing.T) {
	tr := newTraps(100)
	page, depth := parse(t, "http://h/cal/2024/1/"), 0
	fetched := 0
	for i := range 1000 {
		next := parse(t, fmt.Sprintf("http://h/cal/%d/%d/", 2024+i/12, i%12+1))
		depth = chain(page, depth, next)
		if tr.charge(next, depth, depth) == "" {
			fetched++
		}
		page = next
	}
	if fetched != 100+longChain {
		t.Errorf("%d pages of a calendar were fetched, want %d", fetched, 100+longChain)
	}
	index := parse(t, "http://h/manual/index.html")
	for i := range 5000 {
		link := parse(t, fmt.Sprintf("http://h/manual/a%05d.html", i))
		if reason := tr.charge(link, chain(index, 0, link), 1); reason != "" {
			t.Fatalf("page %d of a manual: %s", i, reason)
		}
	}
	if n := chain(index, 5, page); n != 0 {
		t.Errorf("a link on a page that does not vary has a chain of %d", n)
	}
	refused := 0
	for i := range 2000 {
		link := parse(t, fmt.Sprintf("http://h/shop?colour=%d&size=%d", i%7, i))
		if tr.charge(link, chain(index, 0, link), 1) != "" {
			refused++
		}
	}
	if refused != 2000-100*queryBudgets {
		t.Errorf("%d combinations were refused", refused)
	}
	notes := tr.notes()
	if len(notes) != 2 || notes[0].Pattern != "http://h/shop?colour&size" || notes[1].Pattern != "http://h/cal/#/#/" ||
		notes[1].Pages != 100+longChain || notes[1].Refused != 1000-100-longChain {
		t.Errorf("notes %+v", notes)
	}
}

func TestAPathThatGrowsByItselfEnds(t *testing.T) {
	tr := newTraps(100)
	url, grown := "http://h", 0
	for range 100 {
		url += "/en/help"
		if tr.charge(parse(t, url), 0, 0) == "" {
			grown++
		}
	}
	if grown != maxRepeats {
		t.Errorf("%d", grown)
	}
	if tr.charge(parse(t, "http://h/1/1/1/1/1/1/1/1/1"), 0, 0) != "" {
		t.Error("a path of short segments was refused")
	}
	url = "http://h"
	for i := range 40 {
		url += fmt.Sprintf("/%c%c", 'a'+i%26, 'a'+i/26)
	}
	if tr.charge(parse(t, url), 0, 0) == "" {
		t.Error("a path of 40 segments was let through")
	}
}
