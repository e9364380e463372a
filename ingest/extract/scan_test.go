package extract

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"golang.org/x/net/html"
)

// soup makes a page of random tags, unbalanced as they come.
func soup(r *rand.Rand, n int) string {
	tags := []string{"b", "i", "a", "font", "code", "nobr", "p", "div", "table", "tr", "td", "th", "caption", "tbody",
		"ul", "li", "h1", "pre", "button", "select", "option", "object", "template", "form", "svg", "math", "span", "br",
		"b", "i", "font", "p", "td", "table"}
	var b strings.Builder
	for range n {
		tag := tags[r.IntN(len(tags))]
		switch r.IntN(8) {
		case 0, 1, 2, 3:
			b.WriteString("<" + tag + " id=" + string(rune('a'+r.IntN(26))) + ">")
		case 4, 5, 6:
			b.WriteString("</" + tag + ">")
		default:
			b.WriteString("x")
		}
	}
	return b.String()
}

func TestScanBoundsWhatTheParserBuilds(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	grew := 0
	for range 3000 {
		page := soup(r, 1+r.IntN(300))
		s := newScanner()
		if err := s.scan([]byte(page)); err != nil {
			t.Fatal(err)
		}
		doc, err := html.Parse(strings.NewReader(page))
		if err != nil {
			continue // too deep
		}
		built := 0
		for n := range doc.Descendants() {
			if n.Type == html.ElementNode {
				built++
			}
		}
		// html, head, body, and a tbody, tr or colgroup that a table part
		// implies, are the parser's own.
		if limit := 3 + 3*s.elements + s.grown; built > limit {
			t.Fatalf("%d elements, the scan allows for %d: %q", built, limit, page)
		}
		if built > 3+3*s.elements {
			grew++
		}
	}
	if grew == 0 {
		t.Error("no page grew: the test shows nothing")
	}
}

func TestScanStopsWhatGrows(t *testing.T) {
	for name, build := range map[string]func(n int) string{
		"elements":            func(n int) string { return strings.Repeat("<p>", n) },
		"formatting":          func(n int) string { return strings.Repeat("<b>", n/100) + strings.Repeat("<p>x", n/4) },
		"behind a barrier":    func(n int) string { return strings.Repeat("<b><table><td></b></table>", n/8) },
		"attributes of body":  func(n int) string { return strings.Repeat("<body a=1>", n/40) },
		"attributes of html":  func(n int) string { return "<html>" + strings.Repeat("<html a=1>", n/40) },
		"text joined":         func(n int) string { return strings.Repeat("x", 40*n) + strings.Repeat("</x>y", n) },
		"text out of a table": func(n int) string { return "<table>" + strings.Repeat("<tr><td></td>"+strings.Repeat("y", 64), n/4) },
	} {
		t.Run(name, func(t *testing.T) {
			if err := scan([]byte(build(60_000))); !errors.Is(err, errLimit) {
				t.Errorf("large: %v, want errLimit", err)
			}
			if err := scan([]byte(build(300))); err != nil {
				t.Errorf("small: %v", err)
			}
		})
	}
}

func TestScanPassesRealPages(t *testing.T) {
	for _, p := range readNews(t) {
		if err := scan(p.body); err != nil {
			t.Errorf("%s (%d bytes): %v", p.URL, len(p.body), err)
		}
	}
}
