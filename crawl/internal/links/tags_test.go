package links

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"golang.org/x/net/html"
)

// byTokenizer gives the tags that matter, with their attributes, as the
// tokenizer of x/net/html sees them.
func byTokenizer(text []byte, xhtml bool) (out []string) {
	z := html.NewTokenizer(bytes.NewReader(text))
	z.AllowCDATA(xhtml)
	for {
		kind := z.Next()
		if kind == html.ErrorToken {
			return out
		}
		if kind != html.StartTagToken && kind != html.SelfClosingTagToken {
			continue
		}
		name, more := z.TagName()
		tag, _ := names(name)
		if s := string(name); s == "noscript" || s == "noframes" {
			z.NextIsNotRawText()
		}
		if xhtml && kind == html.SelfClosingTagToken {
			z.NextIsNotRawText()
		}
		if tag == otherTag {
			continue
		}
		line := fmt.Sprint(tag)
		for more {
			var key, val []byte
			key, val, more = z.TagAttr()
			line += fmt.Sprintf(" %q=%q", key, val)
		}
		out = append(out, line)
	}
}

func byTags(text []byte, xhtml bool) (out []string) {
	t := tags{text: text, cdata: xhtml}
	for {
		tag, attrs, ok := t.next()
		if !ok {
			return out
		}
		line := fmt.Sprint(tag)
		var seen []string
		for r := (attributeReader{text: attrs}); r.next(); {
			key := bytes.ReplaceAll(r.key, []byte{0}, []byte("\ufffd"))
			for i, c := range key {
				if 'A' <= c && c <= 'Z' {
					key[i] += 'a' - 'A'
				}
			}
			if len(key) == 0 || slices.Contains(seen, string(key)) {
				continue
			}
			seen = append(seen, string(key))
			line += fmt.Sprintf(" %q=%q", key, value(r.value))
		}
		out = append(out, line)
	}
}

// pieces of pages that are easy to get wrong.
func oddPages() []string {
	return []string{
		`<a href=x>`, `<A HREF='x'>`, `<a href="x" href="y">`, `<a href=x/>`, `<a href="x"/>`, `<a/href=x>`, `<a =x href=y>`, `<a ==x>`, `<a href = x>`, `<a href= >`,
		`<a href>`, `<a b=">" href=x>`, `<a b='>' href=x>`, `<a b=>href=x>`, `<a "b>c" href=x>`, `<a href=x`, `<a href="x`, `<a`, `<`, `</a href="<a>">`, `</>`, `</ a><a>`,
		`<!-- <a> --><a>`, `<!--><a>`, `<!---><a>`, `<!----><a>`, `<!--a--!><a>`, `<!--a--!-><a>`, `<!--a->b--><a>`, `<!-a><a>`, `<!doctype html><a>`, `<?a?><a>`, `<!--a`,
		`<![CDATA[<a>]]><a>`, `<![CDATA[<a>`, `<![cdata[<a>]]><a>`, `<!>a<a>`, `<!-`, `<!`,
		`<script><a></script><a>`, `<script><!--<script></script><a>--></script><a>`, `<script><!--<script></script></script><a>`, `<script><!--></script><a>`,
		`<script><!--<script>--></script><a>`, `<script/><a></script><a>`, `<script></scripty><a></script ><a>`, `<script><!--<script></script>`, `<SCRIPT></ScRiPt/><a>`,
		`<script><!--<scripty></script><a>--></script>`, `<script><!---</script><a>`, `<script><!--<script>-></script>--></script><a>`, `<script>`, `<script><!--<script`,
		`<style><a></style><a>`, `<title>a</titl></title ><a>`, `<textarea></textarea`, `<xmp><a></xmp><a>`, `<plaintext><a></plaintext><a>`, `<noembed><a></noembed><a>`,
		`<noscript><a></noscript>`, `<noframes><a></noframes>`, `<iframe src=x><a></iframe><a>`, `<iframe/><a></iframe><a>`, `<iframe src=/><a>`,
		`<a href="?a&amp;b&lt=1&ampc&copy;&copy=2&#65;&#x41">`, `<a href=a&quot;'">`, "<a href='a\rb\r\nc\x00'>", "<a hr\x00ef=x>", `<a href=a"'&amp;b>`,
		`<ax href=y><a href=z>`, `<area href=x><link rel=a href=b><base href=c><meta name=d content=e><frame src=f>`, "<a\fhref\n=\t\r'x' >", `<a href=x / rel=y>`,
	}
}

func TestTagsAgreeWithTheTokenizer(t *testing.T) {
	for _, page := range oddPages() {
		for _, xhtml := range []bool{false, true} {
			if got, want := byTags([]byte(page), xhtml), byTokenizer([]byte(page), xhtml); !slices.Equal(got, want) {
				t.Errorf("%s (xhtml %v):\n got  %q\n want %q", page, xhtml, got, want)
			}
		}
	}
	// Real pages, where this machine has some.
	pages, _ := filepath.Glob("/usr/share/doc/*/html/*.html")
	for _, path := range pages[:min(len(pages), 200)] {
		text, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		if got, want := byTags(text, false), byTokenizer(text, false); !slices.Equal(got, want) {
			t.Errorf("%s: %d tags, want %d", path, len(got), len(want))
		}
	}
}

func FuzzTagsAgreeWithTheTokenizer(f *testing.F) {
	for _, page := range oddPages() {
		f.Add([]byte(page), false)
		f.Add([]byte(page), true)
	}
	f.Fuzz(func(t *testing.T, page []byte, xhtml bool) {
		if got, want := byTags(page, xhtml), byTokenizer(page, xhtml); !slices.Equal(got, want) {
			t.Errorf("%q:\n got  %q\n want %q", page, got, want)
		}
	})
}
