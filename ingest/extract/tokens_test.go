package extract

import (
	"strings"
	"testing"
)

func TestTokensGiveReadableText(t *testing.T) {
	for page, want := range map[string]string{
		"<h1>A</h1><p>b  c\n d<p>e":                         "# A\n\nb c d\n\ne",
		"<h2>A<h3> B ":                                      "## A\n\n### B",
		"<ul><li>a<li>b</ul>c":                              "- a\n- b\n\nc",
		"a<br>b<i>c</i>d":                                   "a\nbcd",
		"<table><tr><td>a<td>b<tr><td>c<th>d</table>":       "a b\nc d",
		"<dl><dt>a<dd>b</dl>":                               "a\nb",
		"a&lt;b&amp;c&eacute;":                              "a<b&cé",
		"a<script>x</script>b<style>y</style><!-- z -->c":   "abc",
		"<pre>\n a\n  <b>b</b>\n</pre>c":                    "```\n a\n  b\n```\n\nc",
		"<pre>a<br>b</pre>":                                 "```\na\nb\n```",
		"<pre>a```b````c</pre>":                             "`````\na```b````c\n`````",
		"<pre> </pre>a":                                     "a",
		"<pre>never closed":                                 "```\nnever closed\n```",
		"<title>t</title>a":                                 "a",
		"<noscript>no</noscript><textarea>no</textarea>yes": "yes",
		"<div><div><div>a</div></div></div><div>b</div>":    "a\n\nb",
		"</p></li></pre></h1>a":                             "a",
	} {
		got, err := fromTokens(t.Context(), "", []byte(page))
		if err != nil || string(got.Markdown) != want {
			t.Errorf("%s\n got %q, %v\nwant %q", page, got.Markdown, err, want)
		}
	}
}

func TestEmptyElementsOfXMLEndAtOnce(t *testing.T) {
	for page, want := range map[string]string{
		`<script src="a"/><title/><p>x<br/><a id="b"/>y</p>`: `<script src="a"></script><title></title><p>x<br/><a id="b"></a>y</p>`,
		`<textarea/><style />z<iframe/>`:                     `<textarea></textarea><style ></style>z<iframe></iframe>`,
		`<p>as it was</p> &lt;`:                              `<p>as it was</p> &lt;`,
		`cut off <a`:                                         `cut off <a`,
	} {
		if got := string(expandEmpty([]byte(page))); got != want {
			t.Errorf("%s\n got %s\nwant %s", page, got, want)
		}
	}
}

// A page whose containers would be weighed over and over is not given to the
// article extractor, by count and not by time.
func TestTooMuchWorkForAnArticleTakesTheBody(t *testing.T) {
	page := strings.Repeat("<div>", 450) + strings.Repeat("<p>words, and more of them.", 25_000)
	got, err := Extract(t.Context(), "text/html", "", []byte(page))
	if err != nil || got.Extractor != bodyExtractor {
		t.Errorf("%s, %v", got.Extractor, err)
	}
}
