package sitemap

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

func zipped(t testing.TB, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

const urlset = `<?xml version="1.0" encoding="UTF-8"?>
<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:image="http://www.google.com/schemas/sitemap-image/1.1">
 <url><loc> https://example.org/a?x=1&amp;y=2 </loc><lastmod>2026-01-01</lastmod>
  <image:image><image:loc>https://example.org/a.png</image:loc></image:image></url>
 <url><loc><![CDATA[https://example.org/b]]></loc></url>
 <url><priority>1</priority></url>
</urlset>`

func TestSitemapsOfEveryFormAreRead(t *testing.T) {
	two := []string{"https://example.org/a?x=1&y=2", "https://example.org/b"}
	for name, c := range map[string]struct {
		raw             []byte
		pages, sitemaps []string
	}{
		"XML":             {[]byte(urlset), two, nil},
		"gzip":            {zipped(t, urlset), two, nil},
		"byte order mark": {[]byte("\uFEFF" + urlset), two, nil},
		"no namespace":    {[]byte(`<urlset><url><loc>https://example.org/</loc></url></urlset>`), []string{"https://example.org/"}, nil},
		"latin 1":         {[]byte("<?xml version='1.0' encoding='ISO-8859-1'?><urlset><!-- \xe9 --><url><loc>https://example.org/</loc></url></urlset>"), []string{"https://example.org/"}, nil},
		"index":           {[]byte(`<sitemapindex><sitemap><loc>https://example.org/1.xml.gz</loc></sitemap></sitemapindex>`), nil, []string{"https://example.org/1.xml.gz"}},
		"text":            {[]byte("# all\r\nhttps://example.org/a\r\n\nhttp://example.org/b"), []string{"https://example.org/a", "http://example.org/b"}, nil},
		"empty":           {[]byte("<urlset/>"), nil, nil},
		"nothing":         {nil, nil, nil},
		"too long an address": {[]byte("<urlset><url><loc>https://example.org/" + strings.Repeat("x", 3000) + "</loc></url><url><loc>https://example.org/</loc></url></urlset>"),
			[]string{"https://example.org/"}, nil},
	} {
		s, err := Parse(c.raw)
		if err != nil || !slices.Equal(s.Pages, c.pages) || !slices.Equal(s.Sitemaps, c.sitemaps) {
			t.Errorf("%s: %+v, %v", name, s, err)
		}
	}
}

func TestWhatIsNoSitemapIsRefused(t *testing.T) {
	var many strings.Builder
	for i := range MaxAddresses + 1 {
		fmt.Fprintf(&many, "https://example.org/%d\n", i)
	}
	for name, c := range map[string]struct {
		raw  []byte
		want error
	}{
		"a page":              {[]byte("<!doctype html><html><body>hello</body></html>"), ErrFormat},
		"a feed":              {[]byte("<rss><channel></channel></rss>"), ErrFormat},
		"cut off":             {[]byte(urlset[:len(urlset)-20]), ErrFormat},
		"crossed":             {[]byte("<urlset><url></urlset></url>"), ErrFormat},
		"binary":              {[]byte{0xff, 0xfe, 0, 1}, ErrFormat},
		"prose":               {[]byte("Not found, sorry."), ErrFormat},
		"half a gzip":         {zipped(t, urlset)[:40], ErrFormat},
		"gzip of 60 MB":       {zipped(t, strings.Repeat(" ", 60<<20)), ErrTooLarge},
		"too many addresses":  {[]byte(many.String()), ErrTooLarge},
		"a thousand elements": {[]byte("<urlset>" + strings.Repeat("<a>", 1000)), ErrTooLarge},
		"entities": {[]byte(`<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;">]><urlset><url><loc>&b;</loc></url></urlset>`),
			ErrFormat},
	} {
		if s, err := Parse(c.raw); !errors.Is(err, c.want) {
			t.Errorf("%s: %d pages, %v", name, len(s.Pages), err)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(urlset))
	f.Add(zipped(f, urlset))
	f.Add([]byte("https://example.org/a\n"))
	f.Add([]byte(`<sitemapindex><sitemap><loc>x</loc></sitemap></sitemapindex>`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		s, err := Parse(raw)
		if err != nil && !errors.Is(err, ErrFormat) && !errors.Is(err, ErrTooLarge) {
			t.Fatal(err)
		}
		if len(s.Pages) > MaxAddresses || len(s.Sitemaps) > MaxAddresses {
			t.Fatalf("%d pages, %d sitemaps", len(s.Pages), len(s.Sitemaps))
		}
		for _, a := range append(s.Pages, s.Sitemaps...) {
			if a == "" || len(a) > maxAddress || a != strings.TrimSpace(a) {
				t.Fatalf("address %q", a)
			}
		}
	})
}
