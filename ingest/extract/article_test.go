package extract

import (
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html/atom"
)

func TestArticlesAreBelievedByWhatTheyKeep(t *testing.T) {
	page := mass{all: 12_000, link: 2000} // 10,000 bytes of prose
	main := page
	main.main = true
	code := page
	code.pre = 1000
	for _, c := range []struct {
		name          string
		article, page mass
		want          bool
	}{
		{"nothing", mass{}, page, false},
		{"a news page is mostly noise", mass{all: 2000}, page, true},
		{"next to nothing", mass{all: 1400}, page, false},
		{"links are no prose", mass{all: 6000, link: 5000}, page, false},
		{"half of the main element", mass{all: 5100}, main, true},
		{"less than half of it", mass{all: 4900}, main, false},
		{"a short note that is all there is", mass{all: 200}, mass{all: 220}, true},
		{"a footer", mass{all: 200}, mass{all: 600}, false},
		{"code is kept", mass{all: 2000, pre: 950}, code, true},
		{"code is lost", mass{all: 9000, pre: 800}, code, false},
	} {
		if got := believable(c.article, c.page); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

func extractPage(t *testing.T, page string) Text {
	t.Helper()
	got, err := Extract(t.Context(), "text/html", "", []byte(page))
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestPagesOfListsAndCodeKeepTheirBody(t *testing.T) {
	items := strings.Repeat("<li>Fixed a fault in the parser that showed on long lines.", 20)
	for name, page := range map[string]string{
		"release notes": "<h1>Release 3</h1><ol>" + items + "</ol><hr><p>This page was last changed in May, and is maintained by its readers.</p>",
		"reference": "<h1>call</h1><p>Calls something, and returns.</p><div class='comment'><pre>" +
			strings.Repeat("int call(int a, int b);\n", 30) + "</pre></div><p>" + strings.Repeat("It is what it is, and does it well. ", 20) + "</p>",
	} {
		got := extractPage(t, "<html><body>"+page+"</body></html>")
		for _, want := range []string{"Fixed a fault", "int call("} {
			if strings.Count(page, want) > strings.Count(string(got.Markdown), want) {
				t.Errorf("%s by %s lost %q: %q", name, got.Extractor, want, got.Markdown)
			}
		}
	}
}

func TestMainElementIsTheContent(t *testing.T) {
	prose := strings.Repeat("<p>What the page is about, in a sentence of some length, with commas.</p>", 8)
	around := strings.Repeat("<p>Something else of great length, which stands beside it, and is not of it.</p>", 12)
	got := extractPage(t, "<div class=x>"+around+"</div><div role=main><h1>T</h1>"+prose+strings.Repeat("<ul><li>detail</ul>", 40)+"</div><div>"+around+"</div>")
	if text := string(got.Markdown); !strings.Contains(text, "What the page is about") || strings.Contains(text, "Something else") {
		t.Errorf("%s: %q", got.Extractor, text)
	}
	// A page that marks nothing but its search box as main is not taken at its word.
	got = extractPage(t, "<main><p>Search here</main><div>"+around+"</div>")
	if !strings.Contains(string(got.Markdown), "Something else") {
		t.Errorf("%s: %q", got.Extractor, got.Markdown)
	}
}

// An article of the first page would be its prose, without what calls is for.
func TestMainElementWithCodeIsTakenWhole(t *testing.T) {
	prose := strings.Repeat("<p>What the page is about, in a sentence of some length, with commas.</p>", 8)
	calls := "<div class='comment'><dl><dt><code>push(w)</code></dt><dd>Adds a widget.</dd></dl></div>"
	head := "<title>Operations on lists of widgets — Widget 2.1 documentation</title>"
	for name, c := range map[string]struct {
		page  string
		whole bool
	}{
		"a manual":            {"<main>" + prose + calls + "</main>", true},
		"prose":               {"<main>" + prose + strings.ReplaceAll(calls, "code>", "i>") + "</main>", false},
		"code without a main": {"<div>" + prose + calls + "</div>", false},
	} {
		got := extractPage(t, head+c.page)
		if kept := strings.Contains(string(got.Markdown), "Adds a widget."); kept != c.whole || (got.Extractor == bodyExtractor) != c.whole {
			t.Errorf("%s: %s, %q", name, got.Extractor, got.Markdown)
		}
		if got.Title != "Operations on lists of widgets" {
			t.Errorf("%s has the title %q", name, got.Title)
		}
	}
}

// A sign that leads to its own heading is left out; a link that begins with white
// space is none.
func TestOnlySignsBehindHeadingsAreLeftOut(t *testing.T) {
	page := "<main><h1>Widgets<a href='#w'>\n                    <b>¶</b></a></h1><pre>code</pre><p>See <a href='#list'>\n                    <b>the list</b>\n</a> first.</main>"
	if got := extractPage(t, page); string(got.Markdown) != "# Widgets\n\n```\ncode\n```\n\nSee **the list** first." {
		t.Errorf("%q", got.Markdown)
	}
}

func TestMenusBeforeTheHeadingAreDropped(t *testing.T) {
	menu := "<div><ul><li><a href=/a>Home</a><li><a href=/b>Products</a></ul></div>"
	list := "<ul><li><a href=c>acos</a><li><a href=d>asin</a></ul>"
	for page, want := range map[string]string{
		menu + "<p>Small. Fast.</p><h1>Functions</h1>" + list + menu: "Small. Fast.\n\n# Functions\n\n- acos\n- asin\n\n- Home\n- Products",
		menu + "<h2>Functions</h2>" + list:                           "## Functions\n\n- acos\n- asin",
		"<div>" + menu + "<h1>Functions</h1></div>" + list:           "# Functions\n\n- acos\n- asin",
		list: "- acos\n- asin", // no heading: nothing is before it
	} {
		doc := parsed(t, page)
		body := first(doc, atom.Body)
		dropMenus(body)
		c := startClock(t.Context(), time.Minute)
		got, err := toMarkdown(c, body, true, 1<<20)
		c.stop()
		if err != nil || string(got) != want {
			t.Errorf("%s\n got %q, %v\nwant %q", page, got, err, want)
		}
	}
}

func TestHeadingOfTheTitleIsRestoredOnce(t *testing.T) {
	prose := strings.Repeat("<p>A paragraph of the article, long enough to be taken for one, with commas, and more.</p>", 12)
	for page, want := range map[string]string{
		"<title>The title | Site</title><div class=masthead><h1>Site</h1></div><h1>The title</h1>" + prose: "# The title\n\nA paragraph",
		"<title>The title</title><div class=masthead><h1>Site</h1></div>" + prose:                          "## Site\n\nA paragraph",
	} {
		got := extractPage(t, page)
		if !strings.HasPrefix(string(got.Markdown), want) || strings.Count(string(got.Markdown), "The title") > 1 {
			t.Errorf("%q: %.80q", page[:60], got.Markdown)
		}
	}
}
