package crawl

import (
	"testing"

	"arborist/internal/arbtest/site"
)

func TestFeedsAndSitemapsWithoutTheirTypeAreNoPages(t *testing.T) {
	for body, want := range map[string]string{
		`<?xml version="1.0"?><!-- <html> --><rss version="2.0"><channel/></rss>`:                reasonFeed,
		"\uFEFF\n<feed\nxmlns=\"http://www.w3.org/2005/Atom\"/>":                                 reasonFeed,
		`<rdf:RDF xmlns:rdf="x"></rdf:RDF>`:                                                      reasonFeed,
		`<?xml version="1.0"?><!DOCTYPE urlset><urlset><url><loc>http://h/</loc></url></urlset>`: reasonSitemap,
		`<s:sitemapindex xmlns:s="x"/>`:                                                          reasonSitemap,
		"<feedback>":                                                                             "", "<rss": "", "rss <rss>": "", "<!-- <rss>": "", "<?xml": "", "": "", "<": "", "Of <rss> one says": "", "<html><rss>": "",
	} {
		for _, kind := range []string{"", "text/plain", "text/plain; charset=utf-8"} {
			if got := inDisguise(kind, []byte(body)); got != want {
				t.Errorf("%q as %q: %q, want %q", body, kind, got, want)
			}
		}
		if got := inDisguise("text/html", []byte(body)); got != "" {
			t.Errorf("%q as HTML: %q", body, got)
		}
	}
	s := site.New(map[string]site.Page{
		"/": site.Links("home", "/news", "/map", "/text"), "/text": {Type: "text/plain", Body: "The quarry is open."},
		"/news": {Type: "text/plain", Body: "<rss><channel><title>News of the quarry</title></channel></rss>"},
		"/map":  {Type: "text/plain", Body: "<urlset><url><loc>http://h/</loc></url></urlset>"},
	})
	got := fast(t, s, "/", 1)
	equal(t, "pages", sorted(got.paths()), []string{"/", "/text"})
	if got.report.RefusedTotal != 2 {
		t.Errorf("refused %+v", got.report.Refused)
	}
}
