package markdown

import (
	"errors"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/net/html"
)

func render(t testing.TB, page string, o Options) (string, error) {
	t.Helper()
	doc, err := html.Parse(strings.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	out, err := Render(doc, o)
	return string(out), err
}

func TestEachKindOfElement(t *testing.T) {
	for page, want := range map[string]string{
		"<h1>a <b>b</b></h1><p>c<p>d":                                    "# a **b**\n\nc\n\nd",
		"a <b> b </b>c<i>d</i>e":                                         "a **b** c*d*e",
		"<b><p>a<p>b</b>":                                                "**a**\n\n**b**",
		"<a href='HTTP://h/a b' title='a \"t\"'>a\n[b]</a>":              `[a \[b\]](http://h/a%20b "a \"t\"")`,
		"<a href=http://h/><h2>a</h2>b</a>":                              "## [a](http://h/)\n\n[b](http://h/)",
		"<a href=/x>a</a> <a href=javascript:x>b</a>":                    "a b",
		"a<br>b<br><br>c":                                                "a  \nb\n\nc",
		"a <code> b\n c </code>d":                                        "a `b c` d",
		"<code>a</code><code>b</code>":                                   "`ab`",
		"<pre class=lang-go>a\n\n\tb\n</pre>":                            "```go\na\n\n\tb\n```",
		"<ul><li>a<li></li><li><p>b<p>c<ul><li>d</ul></ul>":              "- a\n- b\n\n  c\n\n  - d",
		"<ol start=9><li>a<li><li>b</ol>":                                "9. a\n10. b",
		"<ol><li>a<li value=7>b<li>c<li value=-2>d<li value=x>e</ol>":    "1. a\n7. b\n8. c\n9. d\n10. e",
		"<ol reversed><li>a<li>b</ol>":                                   "2. a\n1. b",
		"<ol reversed start=9><li>a<li>b</ol>":                           "9. a\n8. b",
		"<ol start=-1><li>a<li>b</ol>":                                   "1. a\n2. b",
		"<ol start=99999999999><li>a</ol>":                               "999999999. a",
		"<ul>a<li>b<b>c</b></ul>":                                        "- a\n- b**c**",
		"<ul><li>a</li>b</ul>c":                                          "- a b\n\nc",
		"<ol><li><pre>a\n\nb</pre>":                                      "1. ```\n   a\n   \n   b\n   ```",
		"<blockquote>a<p>b<ul><li>c</ul></blockquote>d":                  "> a\n>\n> b\n>\n> - c\n\nd",
		"<table><caption>t</caption><tr><th>a<th>b<tr><td>c<td></table>": "t\n\n| a | b |\n|---|---|\n| c |  |",
		"<table><tr><td>a<td>b<br>c</table>":                             "|  |  |\n|---|---|\n| a | b c |",
		"<table><tr><td rowspan=2>a<td>b<tr><td>c</table>":               "|  |  |\n|---|---|\n| a | b |\n|  | c |",
		"<table><tr><td colspan=2>a<tr><td>c<td>d</table>":               "|  |  |\n|---|---|\n| a |  |\n| c | d |",
		"<table><tr><td>a<td><ul><li>b</ul></table>":                     "a\n\n- b",
		"<table><tr><td>a<td>b<p>c<p>d</table>":                          "a b\n\nc\n\nd",
		"a<hr>b":                                                         "a\n\n* * *\n\nb",
		"<dl><dt>a<dd>b</dl>":                                            "a\n\nb",
		"int[] x = a[i] & b; R&amp;D.":                                   "int[] x = a[i] & b; R&D.",
	} {
		if got, err := render(t, page, Options{}); got != want || err != nil {
			t.Errorf("%s\n got %q, %v\nwant %q", page, got, err, want)
		}
	}
}

func TestATargetThatCarriesDataIsLeftOut(t *testing.T) {
	for length, want := range map[int]bool{maxTarget: true, maxTarget + 1: false} {
		target := "https://h/" + strings.Repeat("x", length-len("https://h/"))
		got, err := render(t, "<a href="+target+">a</a>", Options{})
		if err != nil || strings.Contains(got, "](") != want || !strings.Contains(got, "a") {
			t.Errorf("a target of %d bytes: %.40q, %v", length, got, err)
		}
	}
}

func TestOptionsAreKept(t *testing.T) {
	page := "<p>a<img alt='two words'><img alt=word></p><nav>b</nav><ul><nav>c</nav></ul><pre>d<nav>e</nav></pre><table><tr><td>f<nav>g</nav></table>"
	skip := func(n *html.Node) bool { return n.Data == "nav" }
	got, err := render(t, page, Options{Skip: skip, Describe: true})
	if want := "atwo words\n\n```\nd\n```\n\n|  |\n|---|\n| f |"; got != want || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := render(t, page, Options{Limit: 10}); !errors.Is(err, ErrLimit) {
		t.Errorf("over the limit: %v", err)
	}
	stop := errors.New("stop")
	if _, err := render(t, page, Options{Check: func() error { return stop }}); !errors.Is(err, stop) {
		t.Errorf("checked: %v", err)
	}
}

func TestTablesThatAreMostlyPaddingBecomeBlocks(t *testing.T) {
	for name, page := range map[string]string{
		"sparse":   "<table><tr>" + strings.Repeat("<td>a", 300) + strings.Repeat("<tr><td>a", 300) + "</table>",
		"colspans": "<table>" + strings.Repeat("<tr>"+strings.Repeat("<td colspan=100>a", 5), 100) + "</table>",
		"rowspans": "<table>" + strings.Repeat("<tr><td rowspan=100>a<td>b", 250) + "</table>",
		"wide":     "<table><tr>" + strings.Repeat("<td colspan=100>a", 10_000) + "</table>",
	} {
		doc, err := html.Parse(strings.NewReader(page))
		if err != nil {
			t.Fatal(err)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		got, err := Render(doc, Options{})
		if runtime.ReadMemStats(&after); err != nil || strings.Contains(string(got), "|") {
			t.Errorf("%s: still a table, %v", name, err)
		}
		if used := after.TotalAlloc - before.TotalAlloc; used > 8<<20 {
			t.Errorf("%s: took %d MB to find out that it is none", name, used>>20)
		}
	}
	got, err := render(t, "<table>"+strings.Repeat("<tr>"+strings.Repeat("<td>a", 20), 500)+"</table>", Options{})
	if err != nil || strings.Count(got, "\n") != 501 {
		t.Errorf("a large table in order is no longer one: %v", err)
	}
}

func TestNestingIsCut(t *testing.T) {
	got, err := render(t, strings.Repeat("<ul><li>a", 60)+strings.Repeat("<blockquote>", 60)+"y", Options{})
	if err != nil || !strings.HasSuffix(got, "\n"+strings.Repeat("  ", maxNest)+"y") {
		t.Errorf("%q, %v", got, err)
	}
}
