package tree

import (
	"bytes"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/net/html"
)

// differ says where two trees differ, and "" where they are one.
func differ(a, b *html.Node) string {
	for {
		switch {
		case a == nil && b == nil:
			return ""
		case a == nil || b == nil:
			return fmt.Sprintf("%s and %s", show(a), show(b))
		case show(a) != show(b), a.Type != b.Type, a.DataAtom != b.DataAtom, a.Namespace != b.Namespace:
			return fmt.Sprintf("%s and %s", show(a), show(b))
		}
		if said := differ(a.FirstChild, b.FirstChild); said != "" {
			return "in " + a.Data + ": " + said
		}
		a, b = a.NextSibling, b.NextSibling
	}
}

func show(n *html.Node) string {
	if n == nil {
		return "nothing"
	}
	return fmt.Sprintf("%v %.60q %q", n.Type, n.Data, n.Attr)
}

// check demands that the tree of a page is the parser's, and reports whether it was
// plain.
func check(t *testing.T, page []byte) (plain bool) {
	t.Helper()
	before := bytes.Clone(page)
	got, plain := Parse(page, 50_000)
	if !bytes.Equal(before, page) {
		t.Fatal("the page was changed")
	}
	if !plain {
		return false
	}
	want, err := html.Parse(bytes.NewReader(page))
	if err != nil {
		t.Fatalf("a plain page that the parser refuses: %v: %.300q", err, page)
	}
	if said := differ(got, want); said != "" {
		t.Errorf("%.300q: %s", page, said)
	}
	return true
}

func plainPages() []string {
	return []string{
		"<!DOCTYPE html><title>a&amp;b</title><p>x<p>y</p>", "<html lang=en><head><meta charset=utf-8><link rel=x></head><body class=a>x</body></html>\n",
		"<!doctype HTML>\n<!-- a --><html><!-- b --><head><!-- c --></head><!-- d --><body>x<!-- e --></body><!-- f --></html><!-- g -->\n",
		"x", "<p>x", "<b>x</b>", "<!DOCTYPE html PUBLIC \"-//W3C//DTD HTML 4.01 Transitional//EN\"><p>x<table><tr><td>y</table>",
		"<p>x<table><tr><td>y</table>", "<!DOCTYPE HTML><p>x<table><tr><td>y</table>", "<!DOCTYPE html><p>x<table><tr><td>y</table>", "<ul><li>a<li>b<ul><li>c</ul><li><div>d</div></ul>",
		"<dl><dt>a<dd>b<dt>c<dd><p>d</dl>", "<ol><li><p>a<li>b</ol></li>", "<h1>a<h2>b</h1>c", "<pre>\n\na</pre><pre>\r\nb</pre><pre>&#13;c</pre><listing>\nd</listing>",
		"<textarea>\n<a>&amp;</textarea><script>a<b && c</script><style>a&amp;b</style><iframe><p></iframe><noscript><p>&lt;</noscript>",
		"<a href='?a&amp;b&lt=1&copy;&copy=2' HREF=no class>x</a>", "<p><span>a<em>b</em></span>c</p>d", "x</p>a</b></i>b</foo>c", "<b><span>x</b>y",
		"<table><caption>a</caption><colgroup><col></colgroup><thead><tr><th>b<th>c</thead><tbody><tr><td>d</td></tr></tbody></table>",
		"<table> <tr> <td>a<table><tr><td>b</table>c<td>d </table>e", "<table><col><col><tr><td></table>", "<table><td>a<tr><td>b<tbody><tr><td>c</table>", "<table><caption>a<table><tr><td>b</table>c</caption><tr><td>d</table>",
		"<form action=x><p>a<input><button>b</button></form><form></form>", "<div><form></div>a</form>b", "<form><form>a</form>",
		"<foo-bar><baz>x</baz></foo-bar>", "<foreignObject>x</foreignObject>", "<img/><br/><div/>x", "<b b=2 a=1 B=3>x</b>", "<em><em><em><em>a</em></em></em></em>", "a<!-- &amp; --!>b<!--->c<!---->d",
		"<dialog><search>a</dialog></search>", "a\rb\r\nc", "a&#13;b&nbsp;&notit;&amp", "<p>a<hr>b", "<button><p>a</button>b", "<a><div>x</div></a>", "<table><tr><td><a>b</a></table>",
	}
}

func oddPages() []string {
	return []string{
		"", " ", "<!-- a -->", "</p>x", "<b><p>a</b>b", "<a>b<a>c", "<p><b>a<p>b", "<table>a</table>", "<table><b></table>", "<svg><a/></svg>", "<select><option>a</select>",
		"<template>a</template>", "<b><div></b></div>", "a\x00b", "<a", "<a href=x", "<!--", "</", "<?php ?>a", "<![CDATA[a]]>", "</ a>b", "<script>", "<title>a", "<plaintext>a",
		"<frameset><frame></frameset>", "<body><body a=1>", "<html><html a=1>", "<p></body>a", "</br>", "<object>a</object>", strings.Repeat("<div>", 600), "<table><table><tr><td>",
		"<table><form><tr><td></table>", "<head></head><title>a</title>", "<ruby>a<rt>b</ruby>", "<image>", "<td>a<!DOCTYPE html>",
		"<p>" + strings.Repeat("a</x>", 5000), strings.Repeat("<p>", 50_001), "x" + strings.Repeat("</b>", 50_001),
	}
}

func TestTheTreeOfAPlainPageIsTheParsers(t *testing.T) {
	for _, page := range plainPages() {
		if !check(t, []byte(page)) {
			t.Errorf("%q is not taken for plain", page)
		}
	}
	for _, page := range oddPages() {
		if check(t, []byte(page)) {
			t.Errorf("%.100q is taken for plain", page)
		}
	}
}

// Pages of random tags, most of which are closed in order, so that many are plain.
func TestTheTreeOfRandomPagesIsTheParsers(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	tags := strings.Fields("b i a code p div p div ul li li ol dl dt dd h1 h2 pre table table tr tr td td th tbody thead tfoot caption colgroup col " +
		"span form button br hr img input section foo dialog textarea title script nobr address center font html head body option svg noscript meta")
	text := []string{"x", " ", "\n", "a&amp;b", "\r\n", "<!-- c -->", "<", "&lt", " y "}
	plain := 0
	for range 60_000 {
		var page strings.Builder
		if r.IntN(2) == 0 {
			page.WriteString("<!DOCTYPE html>")
		}
		var open []string
		for range 1 + r.IntN(30) {
			switch k := r.IntN(10); {
			case k < 4:
				tag := tags[r.IntN(len(tags))]
				open = append(open, tag)
				page.WriteString("<" + tag + ">")
			case k < 8 && len(open) > 0:
				page.WriteString("</" + open[len(open)-1] + ">")
				open = open[:len(open)-1]
			case k == 8:
				page.WriteString("</" + tags[r.IntN(len(tags))] + ">")
			default:
				page.WriteString(text[r.IntN(len(text))])
			}
		}
		if check(t, []byte(page.String())) {
			plain++
		}
		if t.Failed() {
			return
		}
	}
	if plain < 10_000 {
		t.Errorf("%d pages were plain: the test shows little", plain)
	}
}

// realPages calls fn with pages of the documentation on this machine, each so many.
func realPages(t testing.TB, each int, fn func(path string, page []byte)) {
	n := 0
	for _, folder := range []string{"/usr/share/doc/openjdk-17-doc/api", "/usr/share/doc/rust-doc/html", "/usr/share/doc/python3.11/html", "/usr/share/doc/sqlite3"} {
		filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || filepath.Ext(path) != ".html" {
				return nil
			}
			if n++; n%each == 0 {
				if page, err := os.ReadFile(path); err == nil {
					fn(path, page)
				}
			}
			return nil
		})
	}
}

func TestTheTreeOfRealPagesIsTheParsers(t *testing.T) {
	if testing.Short() {
		t.Skip("hundreds of pages")
	}
	pages, plain := 0, 0
	realPages(t, 97, func(path string, page []byte) {
		pages++
		if check(t, page) {
			plain++
		}
	})
	if pages > 0 && 10*plain < 9*pages {
		t.Errorf("%d of %d pages are plain", plain, pages)
	}
	t.Logf("%d of %d pages are plain", plain, pages)
}

func FuzzTheTreeIsTheParsers(f *testing.F) {
	for _, page := range append(plainPages(), oddPages()...) {
		f.Add([]byte(page))
	}
	golden, _ := filepath.Glob("../../testdata/golden/*.html")
	for _, path := range golden {
		if page, err := os.ReadFile(path); err == nil {
			f.Add(page)
		}
	}
	f.Fuzz(func(t *testing.T, page []byte) { check(t, page) })
}

func BenchmarkTree(b *testing.B) {
	var pages [][]byte
	size := 0
	realPages(b, 331, func(_ string, page []byte) {
		if _, plain := Parse(page, 50_000); plain {
			pages = append(pages, page)
			size += len(page)
		}
	})
	if size == 0 {
		b.Skip("no documentation is installed")
	}
	for name, parse := range map[string]func([]byte){
		"ours":  func(page []byte) { Parse(page, 50_000) },
		"x-net": func(page []byte) { html.Parse(bytes.NewReader(page)) },
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(size))
			b.ReportAllocs()
			for b.Loop() {
				for _, page := range pages {
					parse(page)
				}
			}
		})
	}
}
