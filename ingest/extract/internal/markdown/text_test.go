package markdown

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"unicode"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
	"golang.org/x/net/html"
	"pgregory.net/rapid"
)

// textOf is the text of a tree without white space.
func textOf(doc *html.Node) string {
	var b strings.Builder
	for n := range doc.Descendants() {
		if n.Type == html.TextNode {
			b.WriteString(n.Data)
		}
	}
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return -1
		}
		return r
	}, b.String())
}

// compare gives the text of a page, and what a reader of Markdown shows of what
// is made of it. It is false where the page has no tree.
func compare(page string) (want, got string, markdown []byte, ok bool) {
	doc, err := html.Parse(strings.NewReader(page))
	if err != nil {
		return "", "", nil, false // too deep
	}
	var shown bytes.Buffer
	if markdown, err = Render(doc, Options{}); err == nil {
		err = goldmark.New(goldmark.WithExtensions(extension.Table)).Convert(markdown, &shown)
	}
	back, err2 := html.Parse(&shown)
	if err != nil || err2 != nil {
		return textOf(doc), fmt.Sprint(err, err2), markdown, true
	}
	return textOf(doc), textOf(back), markdown, true
}

var (
	inlineTags = []string{"b", "em", "code", "span", "i", "strong", "a href=http://h/(x title='\"t'", "a href=x", "tt"}
	blockTags  = []string{"p", "div", "h1", "h3", "ul", "ol", "ol start=9", "li", "blockquote", "pre", "table", "tr", "td", "th colspan=2 rowspan=2", "caption", "dl", "dd", "thead"}
	pieces     = []string{" ", " ", "\n", "a", "b c", "*", "**", "_", "__", "a_b", "`", "``", "[", "]", "(", ")", "](", "!", "![", "&lt;", "&gt;", "&amp;",
		"&amp;amp;", "&amp;lt;", "lt;", "#", "##", "# ", "-", "- ", "---", "+", "=", "===", "1.", "1", ".", "12) ", "~", "~~~", "|", "\\", "\\\\", "\"", ":",
		"é", "日本", "&nbsp;", "“", "http://x/y", "[a]: b", "<br>", "<hr>", "<!-- c -->", "a|b", "-|-", "&lt;b>", "&lt;!-- "}
)

// drawPage makes a page of all that Markdown is sensitive to.
func drawPage(t *rapid.T) string {
	var b strings.Builder
	var draw func(depth int)
	draw = func(depth int) {
		for range rapid.IntRange(1, 4).Draw(t, "children") {
			tags := inlineTags
			switch kind := rapid.IntRange(0, 9).Draw(t, "kind"); {
			case depth == 0 || kind < 5:
				b.WriteString(rapid.SampledFrom(pieces).Draw(t, "piece"))
				continue
			case kind < 8:
				tags = blockTags
			}
			tag := rapid.SampledFrom(tags).Draw(t, "tag")
			name, _, _ := strings.Cut(tag, " ")
			fmt.Fprintf(&b, "<%s>", tag)
			draw(depth - 1)
			fmt.Fprintf(&b, "</%s>", name)
		}
	}
	draw(5)
	return b.String()
}

func TestMarkdownShowsTheTextOfItsTree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		page := drawPage(t)
		if want, got, markdown, ok := compare(page); ok && got != want {
			t.Fatalf("%s\n got %q\nwant %q\n\n%s", page, got, want, markdown)
		}
	})
}

// Each of these was once shown as something else.
func TestTextThatMarkdownWouldRead(t *testing.T) {
	for _, page := range []string{
		"<b>*</b><em>a</em>", "<b>&lt;!-- * </b>", "<b><em>a</em>*<em>*</em></b>",
		"a<b><a href=http://h/x>a a</a></b>", "<a href=http://h/x><b>a<a href=http://h/x>a</a></b></a>",
		"<b>a<em><code>a<!-- c -->a</code></em></b>", "<b>#<br>*</b>a", "<i>-</i>a", "<b>Note:</b>text", "<b>Note :</b>text", "<b>no&nbsp;</b>break",
		"<i>1. <code>x</code></i>a", "List&lt;<a>String</a>&gt;", "AT&amp;<b>amp;</b>", "&amp;lt;", "[a](b)", "<i>[a]</i>(b)", "![a](b)", "!<a href=http://h/>a</a>",
		"[x]: http://h/", "1. x", "<span>1</span>. x", "- x", "a<br>---", "a | b<br>--|--", "===", "# x", "<h2># x #</h2>", "``x", "~~~", "+ x",
		"<code>`a</code><code>b``</code>", "<table><tr><td>a|b<td><code>c|d</code></table>", "<pre>```\n\n\na</pre>", "<ul><li><pre>a\n\n b</pre></ul>",
		"<pre>class __a__: *b* \\_</pre>", "<ol><li><blockquote><pre>/* a */</pre></blockquote></ol>", "<b><pre>int (*f)(void*);</pre></b>", "&gt;&gt; a",
	} {
		if want, got, markdown, _ := compare("<p>x</p>" + page); got != want {
			t.Errorf("%s\n got %q\nwant %q\n\n%s", page, got, want, markdown)
		}
	}
}

func FuzzMarkdownShowsTheTextOfItsTree(f *testing.F) {
	f.Add("<p>a *b* <b>c</b>d <a href=http://h/>e</a><ul><li>f<pre>g\n</pre></ul><table><tr><th>h<td>i|j</table>")
	f.Fuzz(func(t *testing.T, page string) {
		if strings.ContainsAny(page, "\x00\r\v\x1c\x1d\x1e\x1f\ufffd") {
			return // not of the canonical text either
		}
		if want, got, markdown, ok := compare(page); ok && got != want {
			t.Fatalf("%q\n got %q\nwant %q\n\n%s", page, got, want, markdown)
		}
	})
}
