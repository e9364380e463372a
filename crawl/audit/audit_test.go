package audit

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func page(url string, depth int) Address {
	a := Address{URL: url, Depth: depth, Status: 200, Result: Page}
	if depth > 0 {
		a.FoundOn = "/"
	}
	return a
}

func doc(url, title string, words int, leaves ...string) Document {
	d := Document{URL: url, Title: title, Words: words, Leaves: leaves}
	copy(d.Root[:], strings.Join(leaves, "|"))
	return d
}

// site is a small site with one of everything.
func site() ([]Address, []Document, []string) {
	addresses := []Address{
		page("/", 0), page("/a", 1), page("/a2", 1), page("/b", 2),
		{URL: "/old", FoundOn: "/a", Depth: 2, Trail: []string{"/older"}, Status: 301, Result: Redirect},
		{URL: "/older", FoundOn: "/", Depth: 1, Status: 301, Result: Redirect},
		{URL: "/new", FoundOn: "/old", Depth: 2, Trail: []string{"/older", "/old"}, Status: 200, Result: Page},
		{URL: "/gone", FoundOn: "/b", Depth: 3, Status: 404, Result: Failed, Reason: "status 404"},
		{URL: "/secret", FoundOn: "/", Depth: 1, Result: NotFetched, Reason: "robots.txt"},
		{URL: "/later", FoundOn: "/", Depth: 1, Result: Unfetched},
		{URL: "/a.pdf", FoundOn: "/a", Depth: 2, Result: NotFetched, Reason: "pdf", Document: true},
		{URL: "/a.txt", FoundOn: "/b", Depth: 1, Status: 200, Result: Page, Document: true},
		// From a sitemap that the crawl read; no link leads to it.
		{URL: "/unlinked", Depth: 1, Status: 200, Result: Page},
	}
	documents := []Document{
		doc("/", "Home", 300, "frame", "home"), doc("/a", "A", 200, "x", "y", "z"), doc("/a2", "A", 200, "x", "y", "z"),
		doc("/b", "", 120, "x", "y", "other"), doc("/new", "New", 7, "n"), doc("/stored", "Stored", 90, "s"), doc("/unlinked", "U", 90, "u"), doc("/a.txt", "", 3, "t"),
	}
	return addresses, documents, []string{"/", "/a", "/listed"}
}

func TestEveryFaultOfASiteIsReported(t *testing.T) {
	r := New(site())
	if r.Pages != 7 {
		t.Errorf("%d pages", r.Pages)
	}
	for what, got := range map[string][2]any{
		"orphans":    {r.Orphans, []Orphan{{"/listed", "sitemap"}, {"/stored", "stored"}, {"/unlinked", "stored"}}},
		"duplicates": {len(r.Duplicates), 1},
		"overlaps":   {r.Overlaps, []Overlap{{"/a", "/b", 2, 2.0 / 3}}},
		"broken":     {r.Broken, []Broken{{"/gone", "/b", 404, "status 404"}}},
		"redirects":  {r.Redirects, []Chain{{"/older", "/new", "/", []string{"/old"}, 2}}},
		"documents":  {r.Documents, []File{{"/a.pdf", "/a", false, "pdf"}, {"/a.txt", "/b", true, ""}}},
		"depths":     {r.Depths, []Depth{{0, 1}, {1, 4}, {2, 2}}},
		"thin":       {r.Thin, []Thin{{"/new", 7, false}, {"/b", 120, true}}},
		"statuses":   {r.Statuses, []Status{{200, 7}, {301, 2}, {404, 1}}},
		"totals":     {r.Totals, Totals{3, 1, 1, 1, 1, 2, 2, 0}},
	} {
		if fmt.Sprintf("%+v", got[0]) != fmt.Sprintf("%+v", got[1]) {
			t.Errorf("%s: %+v, want %+v", what, got[0], got[1])
		}
	}
	if !slices.Equal(r.Duplicates[0].URLs, []string{"/a", "/a2"}) {
		t.Errorf("duplicates: %+v", r.Duplicates)
	}
}

func TestTheOrderOfWhatIsKeptDoesNotMatter(t *testing.T) {
	addresses, documents, sitemap := site()
	want := fmt.Sprintf("%+v", New(addresses, documents, sitemap))
	slices.Reverse(addresses)
	slices.Reverse(documents)
	slices.Reverse(sitemap)
	if got := fmt.Sprintf("%+v", New(addresses, documents, sitemap)); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

// A frame that stands on every page makes no pairs, however many pages there
// are: the work must not grow with their square.
func TestTheFrameOfASiteIsNoOverlap(t *testing.T) {
	var documents []Document
	for i := range 5_000 {
		documents = append(documents, doc(fmt.Sprintf("/%d", i), "T", 100, "frame", fmt.Sprint(i)))
	}
	if r := New(nil, documents, nil); r.Totals.Overlaps != 0 {
		t.Errorf("%d overlaps", r.Totals.Overlaps)
	}
}

func TestLongListsAreCutAndCounted(t *testing.T) {
	var addresses []Address
	for i := range MaxListed + 5 {
		addresses = append(addresses, Address{URL: fmt.Sprintf("/%d", i), Result: Failed, Status: 404})
	}
	r := New(addresses, nil, nil)
	if len(r.Broken) != MaxListed || r.Totals.Broken != MaxListed+5 {
		t.Errorf("%d listed of %d", len(r.Broken), r.Totals.Broken)
	}
}

// Redirects that lead in a circle have no page; looking for one must end.
func TestACircleOfRedirectsEnds(t *testing.T) {
	r := New([]Address{
		{URL: "/x", FoundOn: "/", Result: Redirect, Status: 301, Target: "/y"},
		{URL: "/y", FoundOn: "/", Result: Redirect, Status: 301, Target: "/x"},
	}, nil, nil)
	if len(r.Redirects) != 2 || r.Redirects[0].Hops != 2 {
		t.Errorf("%+v", r.Redirects)
	}
}

// Most redirects of a site lead to pages that are linked to as well, so that the
// crawl knows them already; a trail is kept of those alone that bring something new.
func TestARedirectToAKnownAddressIsReportedToItsEnd(t *testing.T) {
	r := New([]Address{
		page("/", 0), page("/a", 1),
		{URL: "/r1", FoundOn: "/", Depth: 1, Status: 301, Result: Redirect, Target: "/r2"},
		{URL: "/r2", FoundOn: "/r1", Depth: 1, Status: 302, Result: Redirect, Trail: []string{"/r1"}, Target: "/a"},
		{URL: "/home", FoundOn: "/a", Depth: 2, Status: 301, Result: Redirect, Target: "/"},
		{URL: "/away", FoundOn: "/a", Depth: 2, Status: 301, Result: Redirect, Target: "http://elsewhere.example/"},
	}, nil, nil)
	want := []Chain{{"/r1", "/a", "/", []string{"/r2"}, 2}, {"/away", "http://elsewhere.example/", "/a", nil, 1}, {"/home", "/", "/a", nil, 1}}
	if fmt.Sprint(r.Redirects) != fmt.Sprint(want) || r.Totals.Redirects != 3 {
		t.Errorf("%+v, want %+v", r.Redirects, want)
	}
}

func TestNothingIsAReport(t *testing.T) {
	if r := New(nil, nil, nil); r.Pages != 0 || r.Totals != (Totals{}) {
		t.Errorf("%+v", r)
	}
}

// TestThePageShowsTextAsText: whatever a site calls its pages, its report runs
// no script and loads nothing.
func TestThePageShowsTextAsText(t *testing.T) {
	const evil = `https://example.org/"><script>alert(1)</script>`
	r := New([]Address{page(evil, 0), {URL: evil + "2", FoundOn: evil, Result: Failed, Status: 500, Reason: "<b>bad</b>"}},
		[]Document{doc(evil, "", 3, "l"), doc(evil+"3", "", 3, "l")}, nil)
	var b strings.Builder
	if err := r.WriteHTML(&b, evil); err != nil {
		t.Fatal(err)
	}
	out := b.String()
	for _, bad := range []string{"<script", "<b>bad", "src=", "@import", "url(", "<link"} {
		if strings.Contains(out, bad) {
			t.Errorf("the page has %q", bad)
		}
	}
	for _, want := range []string{"<svg", "&lt;script&gt;", "Broken links", "default-src 'none'"} {
		if !strings.Contains(out, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}
