package crawl

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"arborist/internal/arbtest/site"
)

// sitemapOf is a sitemap, or with "sitemap" an index, of addresses.
func sitemapOf(kind string, addresses ...string) site.Page {
	var b strings.Builder
	root := map[string]string{"url": "urlset", "sitemap": "sitemapindex"}[kind]
	fmt.Fprintf(&b, "<%s>", root)
	for _, a := range addresses {
		fmt.Fprintf(&b, "<%[1]s><loc>%[2]s</loc></%[1]s>", kind, a)
	}
	fmt.Fprintf(&b, "</%s>", root)
	return site.Page{Type: "application/xml", Body: b.String()}
}

func zipped(t *testing.T, p site.Page) site.Page {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	z.Write([]byte(p.Body))
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return site.Page{Type: "application/x-gzip", Body: b.String()}
}

// listedSite has pages that only its sitemaps lead to: an index of a plain one,
// of one in gzip, of one that is not there and of one on another host.
func listedSite(t *testing.T) (s *site.Site, base string) {
	t.Helper()
	s = site.New(map[string]site.Page{
		"/robots.txt": {Type: "text/plain", Body: "User-agent: *\nDisallow: /private/\n"},
		"/":           site.Links("home", "/linked"),
		"/linked":     site.Links("linked", "/lone"),
		"/lone":       site.Links("lone"),
		"/far":        site.Links("far", "/further"),
		"/further":    site.Links("further", "/too-far"),
		"/too-far":    site.Links("too far"),
		"/private/x":  site.Links("private"),
	})
	base = s.Start(t)
	s.Set("/index.xml", sitemapOf("sitemap", base+"/one.xml", base+"/two.xml.gz", base+"/none.xml", "https://elsewhere.example/s.xml", base+"/index.xml", base+"/one.xml", base+"/inner.xml"))
	s.Set("/inner.xml", sitemapOf("sitemap", base+"/three.xml"))
	s.Set("/one.xml", sitemapOf("url", base+"/linked", base+"/far", base+"/private/x", base+"/far", "https://elsewhere.example/", "no address"))
	s.Set("/two.xml.gz", zipped(t, sitemapOf("url", base+"/linked", base+"/", base+"/gone")))
	return s, base
}

func TestThePagesOfASitemapAreCrawledOnceAndByTheRules(t *testing.T) {
	for _, mode := range []string{"polite", "fast"} {
		t.Run(mode, func(t *testing.T) {
			s, base := listedSite(t)
			got := crawl(t, t.Context(), Config{Seed: base + "/", Depth: 2, FromSitemap: base + "/index.xml", Fast: mode == "fast", Delay: 1}, nil)
			if got.err != nil {
				t.Fatal(got.err)
			}
			equal(t, "pages", sorted(got.paths()), []string{"/", "/far", "/further", "/linked", "/lone"})
			once(t, s)
			if s.Count("/private/x") != 0 || s.Count("/too-far") != 0 || s.Count("/gone") != 1 {
				t.Errorf("requests %q", s.Targets())
			}
			// Robots.txt and the seed come before the sitemap.
			if first := s.Targets()[:3]; strings.Join(first, " ") != "/robots.txt / /index.xml" {
				t.Errorf("first requests %q", first)
			}
			r := got.report
			if r.Listed != 7 || r.OffSite != 1 || r.Broken != 1 || r.RefusedTotal != 1 {
				t.Errorf("listed %d, off site %d, broken %d, refused %v", r.Listed, r.OffSite, r.Broken, r.Refused)
			}
			var cut []string
			for _, c := range r.Cut {
				cut = append(cut, strings.TrimPrefix(c.URL, base))
			}
			equal(t, "sitemaps not read", cut, []string{"/none.xml", "https://elsewhere.example/s.xml", "/inner.xml"})
		})
	}
}

func TestWithoutTheOptionNoSitemapIsAskedFor(t *testing.T) {
	s, base := listedSite(t)
	if got := crawl(t, t.Context(), Config{Seed: base + "/", Depth: 2, Fast: true}, nil); got.err != nil || s.Count("/index.xml") != 0 || got.report.Pages != 3 {
		t.Errorf("%+v, requests %q", got.report, s.Targets())
	}
}

func TestASitemapThatCannotBeUsedIsSaid(t *testing.T) {
	_, base := listedSite(t)
	for address, sent := range map[string]bool{
		base + "/none.xml": true, base + "/linked": true, base + "/private/s.xml": true,
		"https://elsewhere.example/s.xml": false, "nonsense": false,
	} {
		got := crawl(t, t.Context(), Config{Seed: base + "/", Depth: 1, FromSitemap: address, Fast: true}, nil)
		want := ErrSitemap
		if !sent {
			want = ErrSitemapAddress
		}
		if !errors.Is(got.err, want) || !strings.Contains(got.err.Error(), strings.TrimPrefix(address, base)) {
			t.Errorf("%s: %v", address, got.err)
		}
		if (got.report.Requests > 0) != sent {
			t.Errorf("%s: %d requests", address, got.report.Requests)
		}
	}
	if got := crawl(t, t.Context(), Config{Seed: base + "/", FromSitemap: base + "/one.xml"}, nil); !errors.Is(got.err, ErrSitemapAddress) {
		t.Errorf("depth 0: %v", got.err)
	}
}

func TestACrawlFromASitemapIsResumedAndKnowsItsOrphans(t *testing.T) {
	s, base := listedSite(t)
	p := openPrivate(t, filepath.Join(t.TempDir(), "web.db"))
	cfg := Config{Seed: base + "/", Depth: 3, FromSitemap: base + "/index.xml", MaxPages: 2}
	if r, _, err := into(t, t.Context(), p, cfg); err != nil || !r.Capped {
		t.Fatalf("%+v, %v", r, err)
	}
	// What the sitemap gave is kept: the rest of it needs no sitemap.
	cfg.MaxPages, cfg.Resume, cfg.FromSitemap = 0, true, ""
	if _, _, err := into(t, t.Context(), p, cfg); err != nil {
		t.Fatal(err)
	}
	equal(t, "documents", currentURIs(t, p), []string{"/", "/far", "/further", "/linked", "/lone", "/too-far"})
	for target, n := range counts(s.Targets()) {
		if n > 1 && target != robotsTxt {
			t.Errorf("%s was requested %d times", target, n)
		}
	}
	report := audited(t, Config{Seed: base + "/", Store: p, AllowNets: loopback})
	if o := report.Orphans; len(o) != 1 || o[0].URL != base+"/far" {
		t.Errorf("orphans %+v", o)
	}
}
