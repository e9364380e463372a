package links

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"arborist/crawl/internal/weburl"
)

// finder gives a finder with other limits than the default, or with a time
// limit that no loaded machine runs into.
func finder(limits Limits) *Finder {
	if limits.Time == 0 {
		limits.Time = 2 * time.Minute
	}
	return NewFinder(weburl.NewParser(weburl.DefaultTracking()), "Arborist", limits)
}

func find(t testing.TB, page, contentType, body string, tags ...string) Found {
	t.Helper()
	u, err := weburl.NewParser(nil).Parse(page)
	if err != nil {
		t.Fatal(err)
	}
	return finder(Limits{}).Find(Page{URL: u, ContentType: contentType, Body: []byte(body), RobotsTag: tags})
}

func texts(urls []weburl.URL) []string {
	out := make([]string, len(urls))
	for i, u := range urls {
		out[i] = u.String()
	}
	return out
}

func TestLinksOfEachKindAreFound(t *testing.T) {
	for _, tc := range []struct {
		name, body string
		want       string // below http://h/d/, in order
	}{
		{"a", `<a href=x>x</a><A HREF='y'>y</A>`, "x y"},
		{"unclosed a", `<a href="x">one<a href="y"`, "x"},
		{"a without href", `<a name=x>`, ""},
		{"empty href is the page", `<a href="">`, "p"},
		{"area", `<map><area href=x></map>`, "x"},
		{"iframe", `<iframe src=x><a href=no></iframe><a href=y>`, "x y"},
		{"frame", `<frameset><frame src=x><noframes><a href=y></noframes></frameset>`, "x y"},
		{"noscript", `<noscript><a href=x></noscript>`, "x"},
		{"link relations", `<link rel=next href=a><link rel=prev href=b><link rel="alternate" hreflang=de href=c><link rel=canonical href=d>
			<link rel=stylesheet href=no><link rel="alternate stylesheet" href=no><link rel=icon href=no><link rel=preload href=no>
			<link rel="nofollow next" href=no><link href=no>`, "a b c d"},
		{"link types", `<link rel=alternate type=application/rss+xml href=no><link rel=alternate type="application/json+oembed" href=no>
			<link rel=alternate type="text/html; charset=utf-8" href=a><link rel="Alternate" type="TEXT/MARKDOWN" href=b>`, "a b"},
		{"meta refresh", `<meta http-equiv=Refresh content="0; url=x">`, "x"},
		{"order, each once", `<a href=y><a href=x><a href=y#a><a href=" y "><a href=./y>`, "y x"},
		{"tracking", `<a href="x?utm_source=a"><a href="x?fbclid=b"><a href=x>`, "x"},
		{"entities", `<a href="x?a=1&amp;b=2&copy=3">`, "x?a=1&b=2&copy=3"},
		{"line break in href", "<a href='x\n y'>", "x%20y"},
		{"not net/url's", `<a href="/d/a%zz"><a href="\d\b">`, "a%zz b"},
		{"comment, script, style, title, textarea", `<!--<a href=no>--><script>"<a href=no>"</script><style><a href=no></style>
			<title><a href=no></title><textarea><a href=no></textarea><a href=x>`, "x"},
		{"template", `<a href=a><template><a href=no><template shadowrootmode=open><a href=no></template><a href=no></TEMPLATE><a href=b></template><a href=c>
			<template><a href=no>`, "a b c"},
		{"shadow root", `<div><TEMPLATE ShadowRootMode=Open><a href=a><template><a href=no></template><a href=b></template></div><a href=c>
			<template shadowrootmode=closed><a href=d></template><template shadowrootmode=x><a href=no></template>`, "a b c d"},
		{"unclosed comment", `<a href=x><!-- <a href=no>`, "x"},
		{"repeated attribute: the first", `<a href=x href=no>`, "x"},
		{"after an end tag's attributes", `</a href=no><a href=x>`, "x"},
		{"self-closing script is open", `<script src=no /><a href=no></script><a href=x>`, "x"},
		{"NUL", "<a href=x\x00>", "x%EF%BF%BD"},
	} {
		got := find(t, "http://h/d/p", "text/html", tc.body)
		var want []string
		for w := range strings.FieldsSeq(tc.want) {
			want = append(want, "http://h/d/"+w)
		}
		if !slices.Equal(texts(got.Links), want) || got.Cut != "" {
			t.Errorf("%s: %q (cut %q), want %q", tc.name, texts(got.Links), got.Cut, want)
		}
	}
}

func TestBaseHoldsForTheWholePage(t *testing.T) {
	for _, tc := range []struct{ body, want string }{
		{`<a href=x><base href=/b/><a href=y>`, "http://h/b/x http://h/b/y"},
		{`<base href=/b/><base href=/c/><a href=x>`, "http://h/b/x"},
		{`<base target=_top><base href=/b/><a href=x>`, "http://h/b/x"},
		{`<base href="https://o:8443/z/f"><a href=x><a href=//p/>`, "https://o:8443/z/x http://p/"},
		{`<base href="javascript:x"><a href=x>`, "http://h/d/x"},
		{`<base href="http://"><a href=x>`, "http://h/d/x"},
		{`<base href="../e/"><a href="">`, "http://h/e/"},
	} {
		got := strings.Join(texts(find(t, "http://h/d/p", "text/html", tc.body).Links), " ")
		want := strings.ReplaceAll(tc.want, "http://p/", "https://p/")
		if got != want {
			t.Errorf("%s: %s, want %s", tc.body, got, want)
		}
	}
}

func TestXHTMLClosesItsTagsAtOnce(t *testing.T) {
	const body = `<?xml version="1.0"?><html><head><title/><script src="s"/></head><body><![CDATA[<a href="no">]]><template/><a href="x"/></body></html>`
	if got := texts(find(t, "http://h/", "application/xhtml+xml; charset=utf-8", body).Links); !slices.Equal(got, []string{"http://h/x"}) {
		t.Errorf("as XHTML: %q", got)
	}
	if got := texts(find(t, "http://h/", "text/html", body).Links); len(got) != 0 {
		t.Errorf("as HTML the title never ends, got %q", got)
	}
}

func TestNofollowIsHonoured(t *testing.T) {
	for _, tc := range []struct {
		body     string
		tags     []string
		links    int
		nofollow int
		noIndex  bool
		noFollow bool
	}{
		{body: `<a href=x rel=nofollow><a href=y rel="noopener NOFOLLOW"><a href=z rel=nofollowed>`, links: 1, nofollow: 2},
		{body: `<a href=x rel=nofollow><a href=x>`, links: 1},
		{body: `<a href=x><a href=x rel=nofollow>`, links: 1},
		{body: `<area href=x rel=nofollow>`, nofollow: 1},
		{body: `<meta name=robots content=nofollow><a href=x>`, noFollow: true},
		{body: `<a href=x><meta name=ROBOTS content="NoIndex, follow">`, links: 1, noIndex: true},
		{body: `<meta name=robots content="none"><a href=x>`, noIndex: true, noFollow: true},
		{body: `<meta name=robots content="noindex nofollow"><a href=x>`, noIndex: true, noFollow: true},
		{body: `<meta name=robots content="index,follow"><meta name=arborist content=noindex><a href=x>`, links: 1, noIndex: true},
		{body: `<meta name=googlebot content=none><a href=x>`, links: 1},
		{body: `<meta name=robots content="max-snippet:-1, noarchive"><a href=x>`, links: 1},
		{body: `<a href=x>`, tags: []string{"noindex"}, links: 1, noIndex: true},
		{body: `<a href=x>`, tags: []string{"noarchive", "NONE"}, noIndex: true, noFollow: true},
		{body: `<a href=x>`, tags: []string{"googlebot: noindex, nofollow"}, links: 1},
		{body: `<a href=x>`, tags: []string{"googlebot: noindex, arborist: nofollow"}, noFollow: true},
		{body: `<a href=x>`, tags: []string{"Arborist: noindex"}, links: 1, noIndex: true},
		{body: `<a href=x>`, tags: []string{"unavailable_after: 25 Jun 2030 15:00:00 PST, noindex"}, links: 1, noIndex: true},
		{body: `<a href=x>`, tags: []string{"unavailable_after: Friday, 25-Jun-30 15:00:00 UTC, nofollow"}, noFollow: true},
		{body: `<a href=x>`, tags: []string{"unavailable_after: 25 Jun 2010 15:00:00 PST"}, links: 1, noIndex: true},
		{body: `<a href=x>`, tags: []string{"noarchive, Unavailable_After : Friday, 25-Jun-10 15:00:00 UTC, nofollow"}, noIndex: true, noFollow: true},
		{body: `<a href=x>`, tags: []string{"googlebot: unavailable_after: 2010-06-25"}, links: 1},
		{body: `<a href=x>`, tags: []string{"arborist: unavailable_after: 2010-06-25, googlebot: nofollow"}, links: 1, noIndex: true},
		{body: `<a href=x>`, tags: []string{"unavailable_after: 2010-13-45"}, links: 1},
		{body: `<a href=x>`, tags: []string{"unavailable_after"}, links: 1},
		{body: `<a href=x>`, tags: []string{"unavailable_after:"}, links: 1},
		{body: `<a href=x>`, tags: []string{"unavailable_after: Wed, 01 Jan 2110 00:00:00 GMT"}, links: 1},
		{body: `<a href=x>`, tags: []string{"unavailable_after: 2010-06-25T15:00:00+02:00"}, links: 1, noIndex: true},
		{body: `<meta name=robots content="nofollow, unavailable_after: 25 Jun 2010 15:00:00 PST"><a href=x>`, noIndex: true, noFollow: true},
		{body: `<meta name=robots content="unavailable_after: Fri, 25 Jun 2010 15:00:00 +0000"><a href=x>`, links: 1, noIndex: true},
		{body: `<meta name=googlebot content="unavailable_after: 2010-06-25"><a href=x>`, links: 1},
		{body: `<a href=x>`, tags: []string{"max-snippet:50, noindex"}, links: 1, noIndex: true},
	} {
		got := find(t, "http://h/", "text/html", tc.body, tc.tags...)
		if len(got.Links) != tc.links || got.Nofollow != tc.nofollow || got.NoIndex != tc.noIndex || got.NoFollow != tc.noFollow {
			t.Errorf("%s %q: %+v", tc.body, tc.tags, got)
		}
		if noIndex, noFollow := finder(Limits{}).Robots(tc.tags); len(tc.tags) > 0 && (noIndex != tc.noIndex || noFollow != tc.noFollow) {
			t.Errorf("headers %q alone: noindex %v, nofollow %v", tc.tags, noIndex, noFollow)
		}
	}
}

func TestReferencesThatAreNoPagesAreCounted(t *testing.T) {
	got := find(t, "http://h/", "text/html", `<a href="mailto:a@b"><a href="javascript:void(0)"><a href="http://"><a href="http://h:99999/"><a href="data:text/html,x">
		<a href="/`+strings.Repeat("a", weburl.MaxLength)+`"><a href=x>`)
	if got.Foreign != 3 || got.Broken != 3 || len(got.Links) != 1 {
		t.Errorf("%+v", got)
	}
}

func TestMetaRefreshIsReadAsBrowsersDo(t *testing.T) {
	for _, tc := range []struct{ content, want string }{
		{"0;url=x", "x"}, {"5; URL = 'x y' z", "x y"}, {"0, \"x\"", "x"}, {"0 x", "x"}, {".5;url=x", "x"}, {"1.5;url=x", "x"},
		{"0;url", "url"}, {"0;uri=x", "uri=x"}, {"0; url=\"x", "x"}, {" 0 ; x", "x"},
		{"0", ""}, {"", ""}, {"x", ""}, {";url=x", ""}, {"0;", ""}, {"0;url=", ""}, {"0x;url=x", ""}, {"-1;url=x", ""},
	} {
		got, ok := refreshTarget(tc.content)
		if got != tc.want || ok != (tc.want != "") {
			t.Errorf("%q: %q, %v; want %q", tc.content, got, ok, tc.want)
		}
	}
}

func TestHostilePagesEndInTime(t *testing.T) {
	if testing.Short() {
		t.Skip("megabytes of input")
	}
	const size = 4 << 20
	parser := weburl.NewParser(nil)
	u, err := parser.Parse("http://h/")
	if err != nil {
		t.Fatal(err)
	}
	byDefault := NewFinder(parser, "Arborist", Limits{})
	for _, tc := range []struct{ name, head, body string }{
		{"body attributes", "", "<body a1=1>"}, // 21 s for 100 KB in a tree builder
		{"open tags", "", "<"},
		{"tag without end", "<a ", "href=x "},
		{"attributes without end", "<a ", "b"},
		{"one attribute", "<a href='", "&amp;"},
		{"entities cut short", "<a href='", "&am"},
		{"comments", "", "<!--"},
		{"comment without end", "<!--", "--!"},
		{"end tags in a title", "<title>", "</titl"},
		{"end tags in a script", "<script>", "<!--<script></script"},
		{"markup declarations", "", "<!["},
		{"instructions", "", "<?"},
		{"links", "", "<a href=x>"},
		{"bases", "", "<base href=x>"},
		{"metas", "", "<meta name=robots content=x>"},
		{"deep", "", "<div>"},
		{"iframes", "", "<iframe src=x>"},
		{"long words in rel", "<a href=x rel='", "nofollo "},
	} {
		body := tc.head + strings.Repeat(tc.body, size/len(tc.body))
		start := time.Now()
		got := byDefault.Find(Page{URL: u, ContentType: "text/html", Body: []byte(body)})
		// The finder's own limit is 3 s; a loaded machine may notice it late.
		if took := time.Since(start); took > time.Minute {
			t.Errorf("%s: %v for %d bytes (cut %q)", tc.name, took, len(body), got.Cut)
		}
	}
}

func TestLimitsEndTheSearchAndSaySo(t *testing.T) {
	var body strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&body, "<a href=%d>", i)
	}
	u, err := weburl.NewParser(nil).Parse("http://h/")
	if err != nil {
		t.Fatal(err)
	}
	page := Page{URL: u, ContentType: "text/html", Body: []byte(body.String())}
	if got := finder(Limits{Refs: 100}).Find(page); got.Cut != cutRefs || len(got.Links) != 101 {
		t.Errorf("links limited: %d links, cut %q", len(got.Links), got.Cut)
	}
	if got := finder(Limits{Time: time.Nanosecond}).Find(page); got.Cut != cutTime {
		t.Errorf("time limited: %d links, cut %q", len(got.Links), got.Cut)
	}
	if got := finder(Limits{}).Find(page); got.Cut != "" || len(got.Links) != 5000 {
		t.Errorf("not limited: %d links, cut %q", len(got.Links), got.Cut)
	}
}

func FuzzFindEndsAndKeepsItsPromises(f *testing.F) {
	f.Add("text/html", []byte(`<base href=/b/><a href=x rel=nofollow><link rel=next href="y?a&amp;b"><meta http-equiv=refresh content="0;url=z">`), "none")
	f.Add("application/xhtml+xml", []byte(`<?xml version="1.0" encoding='koi8-r'?><a href="?`+"\xc1"+`"/><![CDATA[<a]]>`), "x: nofollow")
	f.Add("text/html; charset=shift_jis", []byte("<a href='?\x93\xfa\x96\x7b'>"), "")
	f.Add("", []byte("\xff\xfe<\x00a\x00 \x00h\x00r\x00e\x00f\x00=\x00x\x00>\x00"), "unavailable_after: 1:2, noindex")
	f.Add("text/html;charset=iso-2022-jp", []byte("<a href=?\x1b$B\x21\x21>"), "")
	u, err := weburl.NewParser(nil).Parse("http://h/d/p?q")
	if err != nil {
		f.Fatal(err)
	}
	finder := finder(Limits{})
	f.Fuzz(func(t *testing.T, contentType string, body []byte, tag string) {
		page := Page{URL: u, ContentType: contentType, Body: body, RobotsTag: []string{tag}}
		before := string(body)
		got := finder.Find(page)
		if string(body) != before {
			t.Fatal("the page was changed")
		}
		if got.NoFollow && got.Links != nil {
			t.Fatal("links in spite of nofollow")
		}
		seen := map[weburl.URL]bool{}
		for _, l := range got.Links {
			if l.IsZero() || seen[l] {
				t.Fatalf("link %q is no address or twice", l)
			}
			seen[l] = true
		}
	})
}

func BenchmarkFind(b *testing.B) {
	var body strings.Builder
	for i := range 200 {
		fmt.Fprintf(&body, "<p>Some text of a paragraph with <code>code</code> in it and a <a class='reference' href='../lib/%d.html#x'>link</a>.</p>\n", i%120)
	}
	u, _ := weburl.NewParser(nil).Parse("http://h/d/p")
	page := Page{URL: u, ContentType: "text/html; charset=utf-8", Body: []byte(body.String())}
	finder := finder(Limits{})
	b.SetBytes(int64(body.Len()))
	b.ReportAllocs()
	for b.Loop() {
		if got := finder.Find(page); len(got.Links) != 120 {
			b.Fatal(len(got.Links))
		}
	}
}

func TestTheAuthorIsOneLineOfText(t *testing.T) {
	page, err := weburl.NewParser(nil).Parse("http://h/")
	if err != nil {
		t.Fatal(err)
	}
	for body, want := range map[string]string{
		`<meta name=author content="Ada Lovelace">`:                                             "Ada Lovelace",
		`<meta content=" Ada ` + "\n\x01" + ` Lovelace" name=" AUTHOR ">`:                       "Ada Lovelace",
		`<meta name=author content=""><meta name=author content=A><meta name=author content=B>`: "A",
		`<meta name=author content="J&uuml;rgen &amp; S&ouml;hne">`:                             "Jürgen & Söhne",
		`<meta name=author content="` + strings.Repeat("ü", 150) + `">`:                         strings.Repeat("ü", 100),
		`<meta charset=iso-8859-1><meta name=author content="J` + "\xfc" + `rgen">`:             "Jürgen",
		`<meta name=authors content=A><p>`:                                                      "",
	} {
		if got := finder(Limits{}).Find(Page{URL: page, ContentType: "text/html", Body: []byte(body)}).Author; got != want {
			t.Errorf("%.60s: %q, want %q", body, got, want)
		}
	}
}
