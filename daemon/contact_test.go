package daemon

import (
	"strings"
	"testing"

	"arborist/crawl"
	"arborist/daemon/api"
	"arborist/internal/arbtest/site"
)

func TestACrawlOfPublicHostsWithoutAContactIsWarnedOf(t *testing.T) {
	n := openNode(t, newHome(t))
	for seed, public := range map[string]bool{
		"https://example.org/": true, "http://93.184.215.14/": true, "https://docs.example.org.:8443/x": true, "http://[2606:2800:21f::1]/": true,
		"http://127.0.0.1:8080/": false, "http://[::1]/": false, "http://192.168.1.2/": false, "http://localhost/": false, "http://wiki/": false, "http://nas.local/": false, "nonsense": false,
	} {
		if w := n.contactWarning("http://127.0.0.1/", seed); (w != "") != public || public && !strings.Contains(w, n.home.Config()) {
			t.Errorf("%s: %q", seed, w)
		}
	}
	// A crawl that fails at once says it as well as one that does not.
	res, err := n.Crawl(t.Context(), api.CrawlRequest{SeedURL: "https://no-such-host.example/"}, nil)
	if err == nil || len(res.Warnings) != 1 {
		t.Errorf("%q, %v", res.Warnings, err)
	}
	n.cfg.Crawl.Contact = "https://example.org/who"
	if w := n.contactWarning("https://example.org/"); w != "" {
		t.Errorf("with a contact: %q", w)
	}
}

// A book that was never crawled has no pages, whatever others have stored below
// its folder.
func TestABookIsCountedByItsOwnCrawl(t *testing.T) {
	s := site.New(map[string]site.Page{"/": site.Links("home", "/a", "/b"), "/a": site.Links("a"), "/b": site.Links("b")})
	n, url := openNode(t, newHome(t)), s.Start(t)
	books := api.CrawlSitesRequest{Sites: []api.Site{{ID: "whole", SeedURL: url + "/"}, {ID: "part", SeedURL: url + "/a"}}}
	if _, err := n.Crawl(t.Context(), api.CrawlRequest{SeedURL: url + "/", Depth: crawl.DefaultDepth, Ingest: true, Fast: true, AllowNet: []string{"127.0.0.0/8"}}, nil); err != nil {
		t.Fatal(err)
	}
	for i, want := range []int{0, 1} {
		res, err := n.CountSites(t.Context(), books)
		if err != nil || res.Sites[0].Pages != 3 || res.Sites[0].Words == 0 || res.Sites[1].Pages != want {
			t.Errorf("round %d: %+v, %v", i, res.Sites, err)
		}
		if _, err := n.Crawl(t.Context(), api.CrawlRequest{SeedURL: url + "/a", Ingest: true, Fast: true, AllowNet: []string{"127.0.0.0/8"}}, nil); err != nil {
			t.Fatal(err)
		}
	}
}
