package extract

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"
)

// hostilePages are built to cost more than their size: time, memory or output.
// They are one scale-th of what the limits of the tree path let through.
func hostilePages(scale int) map[string]func() string {
	r := func(s string, times int) string {
		if times >= 1000 {
			times = max(1, times/scale)
		}
		return strings.Repeat(s, times)
	}
	number := func(n int, f string) string {
		var b strings.Builder
		for i := range max(1, n/scale) {
			fmt.Fprintf(&b, f, i)
		}
		return b.String()
	}
	filler := r("word, and more words. ", 10)
	return map[string]func() string{
		"body attributes": func() string { return number(100_000, "<body a%d=1>") },
		"html attributes": func() string { return number(100_000, "<html a%d=1>") },
		"many attributes": func() string { return "<p " + number(300_000, "a%d=1 ") + ">x" },
		"many html attributes": func() string {
			return "<html " + number(300_000, "a%d=1 ") + "><html " + number(300_000, "b%d=1 ") + ">x"
		},
		"deep":                 func() string { return r("<div>", 100_000) + "x" },
		"deep formula":         func() string { return r("<math><msup>", 200) + r("x", 1<<20) },
		"long formula":         func() string { return "<math>" + r("<mi>x</mi>", 1<<18) },
		"many formulas":        func() string { return r("<math><mi>x</mi></math>", 1<<17) },
		"deep exponents":       func() string { return r("<sup>", 300) + r("<sup>1</sup>", 1<<17) },
		"deep quotations":      func() string { return r("<q>", 300) + r("<q>1</q>", 1<<17) },
		"deep drawing":         func() string { return "<svg>" + r("<g>", 300) + r("<text>x</text>", 1<<17) },
		"depth 500":            func() string { return r(r("<div>", 500)+filler+r("</div>", 500), 45) },
		"deep text":            func() string { return r("<div>", 400) + r("<p>"+filler, 9000) },
		"deep lists":           func() string { return r("<ul><li>", 250) + r("a<br>", 40_000) },
		"deep quotes":          func() string { return r("<blockquote>", 500) + r("a<br>", 40_000) },
		"deep quote lines":     func() string { return r("<blockquote>", 500) + "<pre>" + r("a\n", 1_900_000) },
		"list in list in list": func() string { return r("<ul><li>a", 24_000) },
		"formatting": func() string {
			return number(500, "<b id=%d>") + r("<p>x", 48_000)
		},
		"formatting ends":     func() string { return number(400, "<b id=%d><i id=%[1]d>") + r("<p></b></i>x", 12_000) },
		"formatting in table": func() string { return r("<b><table><td></b></table>", 12_000) + r("<p>x", 12_000) },
		"fonts":               func() string { return number(49_000, "<font color=%d>x<p>") },
		"joined text":         func() string { return r("x", 2_000_000) + r("</x>y", 400_000) },
		"foster text":         func() string { return "<table>" + r("x", 2_000_000) + r("<tr><td></td>y", 20_000) },
		"anchors":             func() string { return r("<a href=x>", 49_000) },
		"paragraphs":          func() string { return r("<p>"+filler[:60], 49_000) },
		"divs":                func() string { return r("<div>a</div>", 49_000) },
		"spans":               func() string { return "<p>" + r("<span>a, b</span> ", 49_000) },
		"breaks":              func() string { return r("<br>", 49_000) },
		"text and breaks":     func() string { return r("a<br>", 49_000) },
		"breaks and spaces":   func() string { return "<p>" + r("a<br> ", 49_000) },
		"images":              func() string { return r("<img src=http://x/ alt='a b'>", 49_000) },
		"lazy images":         func() string { return r("<img data-src='x.jpg 1x' class=lazy alt='a b'>", 49_000) },
		"noscripts":           func() string { return r("<img src=a><noscript><img src=b></noscript>", 16_000) },
		"one class":           func() string { return "<div class='" + r("comment ", 400_000) + "'>" + filler + "</div>" },
		"style":               func() string { return "<p style='" + r("display:", 400_000) + "'>" + filler },
		"headings":            func() string { return r("<h2>a b</h2>", 49_000) },
		"title":               func() string { return "<title>" + r("a - b | c: ", 300_000) + "</title><p>" + filler },
		"metas":               func() string { return r("<meta property=og:title content='x'>", 49_000) },
		"json-ld":             func() string { return "<script type='application/ld+json'>" + r("[", 1_000_000) + "</script>" + filler },
		"json-lds":            func() string { return r("<script type='application/ld+json'>{}</script>", 49_000) },
		"tables":              func() string { return r("<table><tr><td>", 16_000) },
		"sparse table": func() string {
			return "<table><tr>" + r("<td>a", 20_000) + r("<tr><td>a", 14_000)
		},
		"spans of a cell": func() string {
			return "<table>" + r("<tr><td colspan=1000000 rowspan=1000000>a<td>b", 10_000)
		},
		"wide cells":           func() string { return "<table>" + r("<tr><td>"+filler+"<td>b", 15_000) },
		"tables of one":        func() string { return r("<table><tr><td>a</table>", 12_000) },
		"entities":             func() string { return "<p>" + r("&lt;&gt;", 500_000) },
		"underscores":          func() string { return "<p>a" + r("_", 1_000_000) + "b" },
		"backslashes":          func() string { return "<p><b>" + r("\\", 1_000_000) + ":</b>a" },
		"ampersands":           func() string { return "<p>" + r("&amp;a", 500_000) },
		"brackets":             func() string { return "<p>" + r("[", 500_000) + r("](", 500_000) },
		"marks in words":       func() string { return "<p>" + r("a<i>-</i>a<b>-:&nbsp;</b>", 20_000) },
		"codes in words":       func() string { return "<p>a" + r("<i><code>a</code></i>", 20_000) },
		"stars":                func() string { return "<p>" + r("*_`[#", 700_000) },
		"backticks":            func() string { return "<pre>" + r("`", 3_000_000) + "</pre>" + "<p>" + filler },
		"code":                 func() string { return "<p>" + r("<code>`</code>", 49_000) },
		"codes":                func() string { return r("<code><pre>", 240) + r("x", 100_000) },
		"bold":                 func() string { return "<p>" + r("<b>a</b>", 49_000) },
		"bold lines":           func() string { return r("<b>", 250) + r("a<br>", 48_000) },
		"bold and link":        func() string { return "<p>" + r("<b><a href=http://a/>x</a></b> ", 24_000) },
		"link to heading":      func() string { return r("<a href=http://a/><h2>x</h2></a>", 24_000) },
		"links":                func() string { return "<p>" + r("<a href='http://a/?"+r("b=c&", 10)+"'>x</a> ", 49_000) },
		"nested links":         func() string { return "<p>" + r("<a href=http://a/><table><tr><td>", 100) + r("x ", 1000) },
		"headings in headings": func() string { return r("<h1><div>", 240) + r("a b ", 900_000) },
		"definition list":      func() string { return "<dl>" + r("<dt>a<dd>b", 24_000) },
		"list items":           func() string { return r("<li>a", 49_000) },
		"ordered":              func() string { return "<ol start=999999999999999999>" + r("<li>a", 49_000) },
		"selects":              func() string { return r("<select><option>a", 24_000) },
		"svg":                  func() string { return r("<svg><g><text>a</text></g></svg>", 16_000) },
		"templates":            func() string { return r("<template><p>a", 250) + filler },
		"comments":             func() string { return "<p>" + r("a<!-- x -->", 300_000) },
		"forms":                func() string { return r("<form><input><p>a b c</p></form>", 16_000) },
		"bytes":                func() string { return r("\x00\xff<\x80>", 700_000) },
		"open tag":             func() string { return r("<a ", 1_000_000) },
		"open comment":         func() string { return r("<!--", 1_000_000) },
		"open script":          func() string { return r("<script><!--<script>", 200_000) },
		"big":                  func() string { return r("<p>"+filler+"\n<pre>x</pre>", 100_000) },
	}
}

// atFullSize are those that reach a limit, or come near to one.
func atFullSize(name string) bool {
	switch name {
	case "body attributes", "many html attributes", "stars", "comments", "deep lists", "formatting", "joined text", "headings in headings", "big":
		return true
	}
	return os.Getenv("ARBORIST_TEST_FULL") != ""
}

func TestHostilePagesCostLittle(t *testing.T) {
	small, full := hostilePages(10), hostilePages(1)
	for name, build := range small {
		t.Run(name, func(t *testing.T) {
			if atFullSize(name) {
				build = full[name]
			}
			page := []byte(build())
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			c := startClock(t.Context(), time.Hour)
			got, err := Extract(t.Context(), "text/html", "http://x.test/", page)
			spent := threadTime() - c.spent
			c.stop()
			runtime.ReadMemStats(&after)
			t.Logf("%d bytes in %v, allocated %d MiB: %d bytes, %v", len(page), spent.Round(time.Millisecond),
				(after.TotalAlloc-before.TotalAlloc)>>20, len(got.Markdown), got.Extractor)
			if spent > slowdown*3*time.Second {
				t.Errorf("took %v, want at most 3 s (race detector: %d times)", spent, slowdown)
			}
			if len(got.Markdown) > 8*len(page)+64<<10 {
				t.Errorf("%d bytes became %d", len(page), len(got.Markdown))
			}
			if err != nil && !errors.Is(err, ErrEmpty) && !errors.Is(err, ErrUnsupported) {
				t.Error(err)
			}
		})
	}
}
