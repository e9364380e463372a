package daemon

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"

	"arborist/crawl"
	"arborist/daemon/api"
)

// sitesAtOnce is how many sites are crawled side by side.
const sitesAtOnce = 8

// CrawlSites implements [api.SiteCrawler].
func (n *Node) CrawlSites(ctx context.Context, req api.CrawlSitesRequest, fn api.ProgressFunc) (res api.CrawlSitesResult, err error) {
	if len(req.Sites) == 0 {
		return res, api.NewError(api.CodeUsage, errors.New("crawl: no site is listed"), "give a file with an address a line")
	}
	groups, err := groupSites(req.Sites)
	if err != nil {
		return res, err
	}
	var mu sync.Mutex // of fn
	tell := func(p api.Progress) {
		if fn != nil {
			mu.Lock()
			defer mu.Unlock()
			fn(p)
		}
	}
	res.Sites = make([]api.SiteResult, len(req.Sites))
	slots := make(chan struct{}, sitesAtOnce)
	var running sync.WaitGroup
	for _, group := range groups {
		slots <- struct{}{}
		running.Go(func() {
			defer func() { <-slots }()
			for _, i := range group {
				res.Sites[i] = n.crawlSite(ctx, req, req.Sites[i], tell)
			}
		})
	}
	running.Wait()
	return res, explain(ctx.Err())
}

func (n *Node) crawlSite(ctx context.Context, req api.CrawlSitesRequest, s api.Site, fn api.ProgressFunc) api.SiteResult {
	one := api.CrawlRequest{
		SeedURL: s.SeedURL, Depth: s.Depth, MaxPages: s.MaxPages, AllowHost: s.AllowHost, Author: s.Author, Sitemap: s.Sitemap,
		Ingest: req.Ingest, Fast: req.Fast, Documents: req.Documents, Resume: req.Resume, AllowNet: req.AllowNet, Fetcher: req.Fetcher, RPS: req.RPS, WARC: req.WARC,
	}
	got, err := n.Crawl(ctx, one, fn)
	if req.Resume && errors.Is(err, crawl.ErrNothingToResume) {
		// A site that the run did not come to is begun.
		one.Resume = false
		got, err = n.Crawl(ctx, one, fn)
	}
	res := api.SiteResult{ID: s.ID, SeedURL: s.SeedURL, CrawlResult: got}
	if err != nil {
		res.Error = api.AsError(err)
	}
	return res
}

// groupSites puts sites together that may ask one host: crawled side by side they
// would only wait for each other's turns.
func groupSites(sites []api.Site) (groups [][]int, err error) {
	type group struct {
		hosts map[string]bool
		sites []int
	}
	var all []*group
	for i, s := range sites {
		g := &group{hosts: map[string]bool{}, sites: []int{i}}
		for _, address := range append([]string{s.SeedURL}, s.AllowHost...) {
			if !strings.Contains(address, "://") {
				address = "http://" + address
			}
			u, err := url.Parse(address)
			if err != nil || u.Host == "" {
				return nil, api.NewError(api.CodeUsage, fmt.Errorf("crawl: %.200q is not an address", address), "write it in full, as in https://example.org/docs/")
			}
			g.hosts[strings.ToLower(u.Hostname())] = true
		}
		all = slices.DeleteFunc(all, func(o *group) bool {
			meets := false
			for h := range g.hosts {
				meets = meets || o.hosts[h]
			}
			if meets {
				for h := range o.hosts {
					g.hosts[h] = true
				}
				g.sites = append(g.sites, o.sites...)
			}
			return meets
		})
		slices.Sort(g.sites)
		all = append(all, g)
	}
	for _, g := range all {
		groups = append(groups, g.sites)
	}
	return groups, nil
}

// CountSites implements [api.SiteCrawler].
func (n *Node) CountSites(ctx context.Context, req api.CrawlSitesRequest) (res api.SiteCounts, err error) {
	res.Sites = []api.SiteCount{}
	cfg, err := n.asking(string(crawl.PlainHTTP), false, 0, nil)
	if err != nil {
		return res, err
	}
	cfg.AllowNets = anyNetwork()
	for _, s := range req.Sites {
		cfg.Seed = s.SeedURL
		count := api.SiteCount{ID: s.ID, Title: s.Title, Author: s.Author, SeedURL: s.SeedURL}
		if count.Pages, count.Words, err = n.private.CountCrawl(ctx, cfg); err != nil {
			return res, explain(err)
		}
		res.Sites = append(res.Sites, count)
	}
	return res, nil
}
