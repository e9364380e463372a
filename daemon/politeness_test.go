package daemon

import (
	"testing"

	"arborist/daemon/api"
	"arborist/internal/arbtest/site"
)

// Whatever asks a host, crawls in turn, crawls of many sites or a check: it is
// one visitor, which keeps one robots.txt. (That the pace is shared as well,
// package crawl tests on a fake clock.)
func TestANodeIsOneVisitorToAHost(t *testing.T) {
	s := site.New(map[string]site.Page{"/": site.Links("home", "/a"), "/a": site.Links("a"), "/b": site.Links("b"), "/c": site.Links("c")})
	n, url := openNode(t, newHome(t)), s.Start(t)
	loopback := []string{"127.0.0.0/8"}
	sites := api.CrawlSitesRequest{Ingest: true, Fast: true, AllowNet: loopback}
	for _, path := range []string{"/", "/b", "/c"} {
		sites.Sites = append(sites.Sites, api.Site{SeedURL: url + path})
	}
	res, err := n.CrawlSites(t.Context(), sites, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range res.Sites {
		if one.Error != nil || one.Pages != 1 {
			t.Errorf("%s: %d pages, %v", one.SeedURL, one.Pages, one.Error)
		}
	}
	if res, err := n.Crawl(t.Context(), api.CrawlRequest{SeedURL: url + "/", Depth: 1, Fast: true, AllowNet: loopback}, nil); err != nil || res.Pages != 2 {
		t.Errorf("%d pages, %v", res.Pages, err)
	}
	if res, err := n.Recheck(t.Context(), api.RecheckRequest{Fast: true, AllowNet: loopback}, nil); err != nil || res.Fresh != 3 {
		t.Errorf("%+v, %v", res, err)
	}
	if got := s.Count("/robots.txt"); got != 1 {
		t.Errorf("robots.txt was asked for %d times", got)
	}
}
