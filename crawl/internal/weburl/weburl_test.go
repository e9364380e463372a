package weburl

import (
	"errors"
	"strings"
	"testing"
)

func mustParse(t testing.TB, raw string) URL {
	t.Helper()
	u, err := NewParser(DefaultTracking()).Parse(raw)
	if err != nil {
		t.Fatalf("Parse(%q): %v", raw, err)
	}
	return u
}

func TestParseGivesOneSpelling(t *testing.T) {
	for _, tc := range []struct{ in, want string }{
		{"HTTP://Example.COM", "http://example.com/"},
		{"http://example.com:80/a", "http://example.com/a"},
		{"https://example.com:443/a", "https://example.com/a"},
		{"https://example.com:80/a", "https://example.com:80/a"},
		{"http://example.com/a#b", "http://example.com/a"},
		{"http://example.com/a?#b", "http://example.com/a?"},
		{"http://example.com/a/./b/../c", "http://example.com/a/c"},
		{"http://example.com/%2e%2E/x", "http://example.com/x"},
		{" \thttp://example.com/\n", "http://example.com/"},
		{"http:\\\\example.com\\a", "http://example.com/a"},
		{"http://example.com/a b", "http://example.com/a%20b"},
		{"http://bücher.example/ü?ü", "http://xn--bcher-kva.example/%C3%BC?%C3%BC"},
		{"http://127.1/", "http://127.0.0.1/"},
		{"http://0x7f000001/", "http://127.0.0.1/"},
		{"http://2130706433/", "http://127.0.0.1/"},
		{"http://[0:0::1]:8080/", "http://[::1]:8080/"},
		// Not guessed: these may be other pages.
		{"http://example.com/%7Ea", "http://example.com/%7Ea"},
		{"http://example.com//a//", "http://example.com//a//"},
		{"http://example.com/a?b=2&a=1&", "http://example.com/a?b=2&a=1&"},
		{"http://example.com./", "http://example.com./"},
		{"http://www.example.com/", "http://www.example.com/"},
	} {
		if got := mustParse(t, tc.in).String(); got != tc.want {
			t.Errorf("Parse(%q) = %q, want %q", tc.in, got, tc.want)
		}
	}
}

func TestParseRefusesWhatIsNoPage(t *testing.T) {
	for _, tc := range []struct {
		in   string
		want error
	}{
		{"", ErrSyntax},
		{"example.com", ErrSyntax},
		{"/a", ErrSyntax},
		{"http://", ErrSyntax},
		{"http://a b/", ErrSyntax},
		{"http://h:99999/", ErrSyntax},
		{"http://h:0/", ErrSyntax},
		{"http://256.1.1.1/", ErrSyntax},
		{"ftp://example.com/", ErrScheme},
		{"file:///etc/passwd", ErrScheme},
		{"mailto:a@example.com", ErrScheme},
		{"http://user@example.com/", ErrCredentials},
		{"http://:pw@example.com/", ErrCredentials},
		{"http://example.com/" + strings.Repeat("a", MaxLength), ErrTooLong},
		{"http://example.com/" + strings.Repeat("ü", MaxLength/4), ErrTooLong}, // once encoded
	} {
		u, err := NewParser(nil).Parse(tc.in)
		if !errors.Is(err, tc.want) || !u.IsZero() {
			t.Errorf("Parse(%.40q) = %.40q, %v; want error %v", tc.in, u, err, tc.want)
		}
	}
}

// The references are those that net/url refuses or reads differently from a
// browser, beside plain ones.
func TestJoinLosesNoPageThatABrowserOpens(t *testing.T) {
	p := NewParser(DefaultTracking())
	base, err := p.Base(mustParse(t, "https://example.com/docs/lib/index.html?q=1"))
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ ref, want string }{
		{"", "https://example.com/docs/lib/index.html?q=1"},
		{"#top", "https://example.com/docs/lib/index.html?q=1"},
		{"a.html", "https://example.com/docs/lib/a.html"},
		{"../a.html#x", "https://example.com/docs/a.html"},
		{"../../../../a", "https://example.com/a"},
		{"/a", "https://example.com/a"},
		{"//other.example/a", "https://other.example/a"},
		{"?page=2", "https://example.com/docs/lib/index.html?page=2"},
		{".", "https://example.com/docs/lib/"},
		{"  a.html\n", "https://example.com/docs/lib/a.html"},
		{"a\n\t.html", "https://example.com/docs/lib/a.html"},
		{"\\docs\\a.html", "https://example.com/docs/a.html"},
		{"/a%zz", "https://example.com/a%zz"},
		{"/100%", "https://example.com/100%"},
		{"a b.html", "https://example.com/docs/lib/a%20b.html"},
		{"a|b^[c]", "https://example.com/docs/lib/a|b^[c]"},
		{"a:b", ""}, // a scheme "a"
		{"./a:b", "https://example.com/docs/lib/a:b"},
		{"1:b", "https://example.com/docs/lib/1:b"},
		{"https:a", "https://example.com/docs/lib/a"},
		{"http:///a", "http://a/"},
		{"ht\ntps://example.com/a", "https://example.com/a"},
		{"HTTPS://EXAMPLE.com:443/a", "https://example.com/a"},
		{"//user:pw@example.com/a", "https://example.com/a"},
		{"/a\x00b", "https://example.com/a%00b"},
		{"/a\xff", "https://example.com/a%EF%BF%BD"},
	} {
		u, err := base.Join(tc.ref)
		if u.String() != tc.want || (err == nil) != (tc.want != "") {
			t.Errorf("Join(%q) = %q, %v; want %q", tc.ref, u, err, tc.want)
		}
	}
}

func TestJoinRefusesOtherSchemesUnread(t *testing.T) {
	p := NewParser(nil)
	base, err := p.Base(mustParse(t, "http://example.com/"))
	if err != nil {
		t.Fatal(err)
	}
	for _, ref := range []string{
		"mailto:a@b", "javascript:void(0)", "JavaScript:x", "tel:1", "data:text/html," + strings.Repeat("a", 1<<20),
		"ftp://example.com/", "java\nscript:x", "view-source:http://example.com/", "about:blank",
	} {
		if u, err := base.Join(ref); !errors.Is(err, ErrScheme) {
			t.Errorf("Join(%.30q) = %q, %v; want ErrScheme", ref, u, err)
		}
	}
	if _, err := base.Join("/" + strings.Repeat("a", MaxLength)); !errors.Is(err, ErrTooLong) {
		t.Errorf("long reference: %v, want ErrTooLong", err)
	}
	if u, err := base.Join("/a#" + strings.Repeat("b", MaxLength)); err != nil || u.String() != "http://example.com/a" {
		t.Errorf("long fragment: %q, %v", u, err)
	}
}

func TestTrackingParametersAreStrippedAndNothingElse(t *testing.T) {
	for _, tc := range []struct{ in, want string }{
		{"/a?utm_source=x", "/a"},
		{"/a?UTM_Source=x&b=1", "/a?b=1"},
		{"/a?b=1&fbclid=x&c=2", "/a?b=1&c=2"},
		{"/a?b=1&&gclid=x&c", "/a?b=1&&c"},
		{"/a?utm_id", "/a"},
		{"/a?utm=1&xutm_source=2", "/a?utm=1&xutm_source=2"},
		{"/a?=utm_source", "/a?=utm_source"},
		{"/a?q=utm_source=1", "/a?q=utm_source=1"},
		{"/a?ref=1&source=2&id=3", "/a?ref=1&source=2&id=3"},
		{"/utm_source=1", "/utm_source=1"},
		{"/a?b%3D=%zz&msclkid=", "/a?b%3D=%zz"},
	} {
		if got := mustParse(t, "http://h"+tc.in).Target(); got != tc.want {
			t.Errorf("%s became %s, want %s", tc.in, got, tc.want)
		}
	}
	u, err := NewParser([]string{"session", "x_*"}).Parse("http://h/?session=1&x_y=2&utm_source=3")
	if err != nil || u.Query() != "utm_source=3" {
		t.Errorf("own list: %q, %v", u, err)
	}
	if u, err = NewParser(nil).Parse("http://h/?utm_source=3"); err != nil || u.Query() != "utm_source=3" {
		t.Errorf("empty list: %q, %v", u, err)
	}
}

func TestPartsOfAnAddress(t *testing.T) {
	for _, tc := range []struct {
		in, scheme, host string
		port             uint16
		origin, path     string
		query, target    string
	}{
		{"http://h/", "http", "h", 80, "http://h", "/", "", "/"},
		{"https://h:8443/a/b?c=d?e", "https", "h", 8443, "https://h:8443", "/a/b", "c=d?e", "/a/b?c=d?e"},
		{"http://[::1]:81/a?", "http", "[::1]", 81, "http://[::1]:81", "/a", "", "/a?"},
	} {
		u := mustParse(t, tc.in)
		if u.Scheme() != tc.scheme || u.Host() != tc.host || u.Port() != tc.port || u.Origin() != tc.origin ||
			u.Path() != tc.path || u.Query() != tc.query || u.Target() != tc.target {
			t.Errorf("%s: %s %s %d %s %s %s %s", tc.in, u.Scheme(), u.Host(), u.Port(), u.Origin(), u.Path(), u.Query(), u.Target())
		}
	}
}

func TestSiteIsOneExactHost(t *testing.T) {
	for _, tc := range []struct{ seed, url, want string }{
		{"http://h/", "http://h/a", "http://h/a"},
		{"http://h/", "https://h/a", "https://h/a"},
		{"https://h/", "https://h/a", "https://h/a"},
		{"https://h/", "http://h/a?b", "https://h/a?b"},
		{"https://h/", "http://h:8080/a", ""},
		{"https://h:8443/", "http://h/a", ""},
		{"https://h:8443/", "https://h/a", ""},
		{"https://h:8443/", "https://h:8443/a", "https://h:8443/a"},
		{"http://h:8080/", "https://h:8080/a", ""},
		{"http://h:8080/", "http://h:8081/a", ""},
		{"http://h/", "http://www.h/a", ""},
		{"http://www.h/", "http://h/a", ""},
		{"http://h/", "http://h./a", ""},
		{"http://h/", "https://h:80/a", ""},
	} {
		got, ok := NewSite(mustParse(t, tc.seed)).Adopt(mustParse(t, tc.url))
		if got.String() != tc.want || ok != (tc.want != "") {
			t.Errorf("site of %s: Adopt(%s) = %q, %v; want %q", tc.seed, tc.url, got, ok, tc.want)
		}
		if ok && got != mustParse(t, tc.want) {
			t.Errorf("site of %s: Adopt(%s) is not what Parse gives: %+v", tc.seed, tc.url, got)
		}
	}
	if _, ok := NewSite(mustParse(t, "http://h/")).Adopt(URL{}); ok {
		t.Error("no address was adopted")
	}
}

func FuzzJoinKeepsItsPromises(f *testing.F) {
	for _, ref := range []string{"", "../a?b#c", "//h:1/", "http:\\\\x\\y", "/a%zz?utm_source=1&b", "?\xff", "http://[::1%25x]/", "http://0x7f.1/", "a\nb", "data:,x", "http://ex%61mple/%2e%2e", "/./../%00"} {
		f.Add("http://example.com/d/e?f", ref)
	}
	p := NewParser(DefaultTracking())
	f.Fuzz(func(t *testing.T, page, ref string) {
		start, err := p.Parse(page)
		if err != nil {
			start = mustParse(t, "http://example.com/d/e?f")
		}
		base, err := p.Base(start)
		if err != nil {
			t.Fatalf("Base(%q): %v", start, err)
		}
		u, err := base.Join(ref)
		if err != nil {
			return
		}
		if len(u.String()) > MaxLength || u.Host() == "" || u.Port() == 0 || !strings.HasPrefix(u.Target(), "/") {
			t.Fatalf("Join(%q) = %+v", ref, u)
		}
		if strings.ContainsAny(u.Target(), "# \t\r\n\"<>") || strings.Contains(u.Path(), "\\") {
			t.Fatalf("Join(%q) = %q holds what an address must not", ref, u)
		}
		again, err := p.Parse(u.String())
		if err != nil || again != u {
			t.Fatalf("Parse(%q) = %q, %v: not its only spelling", u, again, err)
		}
		if strings.ToLower(u.Host()) != u.Host() {
			t.Fatalf("host of %q is not in lower case", u)
		}
	})
}

func BenchmarkJoin(b *testing.B) {
	p := NewParser(DefaultTracking())
	base, err := p.Base(mustParse(b, "http://example.com/docs/lib/index.html"))
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := base.Join("../reference/datamodel.html#object"); err != nil {
			b.Fatal(err)
		}
	}
}
