package markup

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"
)

// line writes a token so that two can be compared.
func line(kind Kind, data string, attrs []html.Attribute, selfClosing bool) string {
	return fmt.Sprintf("%d %q %q %v", kind, data, attrs, selfClosing)
}

// byTokenizer gives the tokens that the tokenizer of x/net/html sees up to the end,
// or to where the page is cut.
func byTokenizer(page []byte, xml, scripts bool) (out []string) {
	z := html.NewTokenizer(bytes.NewReader(page))
	z.AllowCDATA(xml)
	for {
		kind := z.Next()
		raw := string(z.Raw())
		token := z.Token()
		if name := token.Data; kind == html.StartTagToken || kind == html.SelfClosingTagToken {
			if !scripts && (name == "noscript" || name == "noframes") || xml && kind == html.SelfClosingTagToken {
				z.NextIsNotRawText()
			}
		}
		switch kind {
		case html.ErrorToken:
			return out
		case html.TextToken:
			if xml && strings.HasPrefix(raw, "<![CDATA[") {
				out = append(out, line(Other, "", nil, false))
				continue
			}
			out = append(out, line(Text, token.Data, nil, false))
		case html.StartTagToken, html.SelfClosingTagToken:
			out = append(out, line(StartTag, token.Data, token.Attr, kind == html.SelfClosingTagToken))
		case html.EndTagToken:
			out = append(out, line(EndTag, token.Data, nil, false))
		case html.DoctypeToken:
			out = append(out, line(Doctype, token.Data, nil, false))
		case html.CommentToken:
			if strings.HasPrefix(raw, "<!--") {
				out = append(out, line(Comment, token.Data, nil, false))
			} else {
				out = append(out, line(Other, "", nil, false))
			}
		}
	}
}

// newlines gives text with NUL and line ends as x/net/html has them.
func newlines(text []byte) string {
	s := strings.ReplaceAll(string(text), "\r\n", "\n")
	return strings.ReplaceAll(s, "\r", "\n")
}

func withoutNUL(s string) string { return strings.ReplaceAll(s, "\x00", "\ufffd") }

func lower(s []byte) string {
	out := bytes.Clone(s)
	for i, c := range out {
		if 'A' <= c && c <= 'Z' {
			out[i] = c + 'a' - 'A'
		}
	}
	return string(out)
}

// byTokens gives the tokens that ours sees, and whether the page is cut.
func byTokens(page []byte, xml, scripts bool) (out []string, cut bool) {
	z := New(page)
	z.XML, z.Scripts = xml, scripts
	content := false // of an element that holds text
	for {
		content = z.inner != ""
		kind := z.Next()
		text := newlines(z.Data)
		switch kind {
		case End, Cut:
			return out, kind == Cut
		case Text:
			if content {
				text = withoutNUL(text)
			}
			if !z.Raw {
				text = html.UnescapeString(text)
			}
			out = append(out, line(kind, text, nil, false))
		case StartTag:
			var attrs []html.Attribute
			for _, a := range z.Attributes() {
				key := withoutNUL(lower(a.Name))
				if !slices.ContainsFunc(attrs, func(b html.Attribute) bool { return b.Key == key }) {
					attrs = append(attrs, html.Attribute{Key: key, Val: string(Unescape(a.Value))})
				}
			}
			out = append(out, line(kind, withoutNUL(lower(z.Data)), attrs, z.SelfClosing))
		case EndTag:
			out = append(out, line(kind, withoutNUL(lower(z.Data)), nil, false))
		case Comment:
			out = append(out, line(kind, html.UnescapeString(withoutNUL(text)), nil, false))
		case Doctype:
			out = append(out, line(kind, html.UnescapeString(strings.TrimLeft(text, " \t\n\f")), nil, false))
		default:
			out = append(out, line(kind, "", nil, false))
		}
	}
}

func check(t *testing.T, page []byte, xml, scripts bool) {
	t.Helper()
	got, cut := byTokens(page, xml, scripts)
	want := byTokenizer(page, xml, scripts)
	if cut && len(want) > len(got) { // it makes something of what is cut off
		want = want[:len(got)]
	}
	if !slices.Equal(got, want) {
		t.Errorf("%.300q (xml %v, scripts %v):\n got  %.2000q\n want %.2000q", page, xml, scripts, got, want)
	}
}

// oddPages are pieces of pages that are easy to get wrong.
func oddPages() []string {
	return []string{
		`<a href=x>`, `<A HREF='x'>`, `<a href="x" href="y">`, `<a href=x/>`, `<a href="x"/>`, `<a/href=x>`, `<a =x href=y>`, `<a ==x>`, `<a href = x>`, `<a href= >`,
		`<a href>`, `<a b=">" href=x>`, `<a b='>' href=x>`, `<a b=>href=x>`, `<a "b>c" href=x>`, `<a href=x`, `<a href="x`, `<a`, `<`, `</a href="<a>">`, `</>`, `</ a><a>`,
		`<!-- <a> --><a>`, `<!--><a>`, `<!---><a>`, `<!----><a>`, `<!----->a`, `<!--a--!><a>`, `<!--a--!-><a>`, `<!--a->b--><a>`, `<!-a><a>`, `<!doctype html><a>`, `<?a?><a>`, `<!--a`,
		`<![CDATA[<a>]]><a>`, `<![CDATA[<a>`, `<![cdata[<a>]]><a>`, `<!>a<a>`, `<!-`, `<!`, `<!DOCTYPE`, `<!DocType  x y>z`, `<!doctyp>`, "a<b", "a< b <3 c</d", "a<", "a</", "a<!", "a<?",
		`<script><a></script><a>`, `<script><!--<script></script><a>--></script><a>`, `<script><!--<script></script></script><a>`, `<script><!--></script><a>`,
		`<script><!--<script>--></script><a>`, `<script/><a></script><a>`, `<script></scripty><a></script ><a>`, `<script><!--<script></script>`, `<SCRIPT></ScRiPt/><a>`,
		`<script><!--<scripty></script><a>--></script>`, `<script><!---</script><a>`, `<script><!--<script>-></script>--></script><a>`, `<script>`, `<script><!--<script`,
		`<style><a></style><a>`, `<title>a&amp;</titl></title ><a>`, `<textarea></textarea`, `<xmp><a></xmp><a>`, `<plaintext><a></plaintext><a>`, `<noembed><a></noembed><a>`,
		`<noscript><a></noscript>`, `<noframes><a></noframes>`, `<iframe src=x><a></iframe><a>`, `<iframe/><a></iframe><a>`, `<iframe src=/><a>`,
		`<a href="?a&amp;b&lt=1&ampc&copy;&copy=2&#65;&#x41">`, `<a href=a&quot;'">`, "<a href='a\rb\r\nc\x00'>", "<a hr\x00ef=x>", `<a href=a"'&amp;b>`,
		"<a\fhref\n=\t\r'x' >", `<a href=x / rel=y>`, "<A \x81 \xc3>", "a\rb\r\nc\x00&amp;<b\x00>", "<style>a\r\n\x00</style>",
	}
}

func TestTokensAreTheTokenizers(t *testing.T) {
	pages := oddPages()
	// Real pages, where this machine has some.
	files, _ := filepath.Glob("/usr/share/doc/*/html/*.html")
	for _, path := range files[:min(len(files), 40)] {
		if text, err := os.ReadFile(path); err == nil {
			pages = append(pages, string(text))
		}
	}
	for _, page := range pages {
		for _, xml := range []bool{false, true} {
			check(t, []byte(page), xml, false)
			check(t, []byte(page), xml, true)
		}
	}
}

func FuzzTokensAreTheTokenizers(f *testing.F) {
	for _, page := range oddPages() {
		f.Add([]byte(page), false, true)
		f.Add([]byte(page), true, false)
	}
	f.Fuzz(check)
}
