package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"time"

	"arborist/crawl"
	"arborist/crawl/fetch"
	"arborist/daemon/api"
	"arborist/ingest"
)

// Crawl implements [api.Ingester]. Pages go to the private crawl db, and only
// where the request says so; links alone are followed otherwise.
func (n *Node) Crawl(ctx context.Context, req api.CrawlRequest, fn api.ProgressFunc) (res api.CrawlResult, err error) {
	res = api.CrawlResult{Refused: []api.Refusal{}, Failed: []api.FetchError{}, Classes: map[string]int{}}
	cfg, err := n.crawlConfig(req, fn)
	if err != nil {
		return res, err
	}
	if w := n.contactWarning(append([]string{req.SeedURL}, req.MoreSeeds...)...); w != "" {
		res.Warnings = []string{w}
	}
	end, err := n.archive(&cfg, req.WARC)
	if err != nil {
		return res, err
	}
	defer func() {
		var failed error
		if res.WARC, failed = end(); err == nil {
			err = failed
		}
	}()
	c, err := crawl.New(cfg, nil)
	if err != nil {
		return res, explain(err)
	}
	if req.Ingest {
		if err := n.writable(); err != nil {
			return res, err
		}
		var stored ingest.Report
		_, stored, err = c.Ingest(ctx, ingest.Config{}, nil)
		res.Ingested, res.Unchanged, res.Known = stored.New+stored.Superseded, stored.Unchanged, stored.Known
		for _, f := range stored.Failed {
			res.Failed = append(res.Failed, api.FetchError{URL: f.URI, Class: classUnreadable, Error: f.Err.Error()})
		}
		if n := len(stored.Failed) + stored.Unlisted; n > 0 {
			res.FailedTotal, res.Classes[classUnreadable] = n, n
		}
	} else {
		err = c.Documents(ctx, nil, nil)
	}
	if err != nil {
		n.wakeIndexer() // for what it stored
	}
	crawlReport(&res, c.Report())
	if res.Pages > 0 && crawl.HostsDown(err) {
		err = nil // what came is told, and who was left alone in Unfinished
	}
	return res, explain(err)
}

// crawlReport adds what the crawler says to what the store said.
func crawlReport(res *api.CrawlResult, r crawl.Report) {
	res.Pages, res.Earlier, res.Redirects, res.Requests = r.Pages, r.Earlier, r.Redirects, r.Requests
	res.Collapsed, res.NoIndex, res.Capped = r.Collapsed, r.NoIndex, r.Capped
	res.OffSite, res.Social, res.Nofollow, res.Listed = r.OffSite, r.Social, r.Nofollow, r.Listed
	res.Documents, res.DocumentPages, res.Unfinished = r.Documents, r.DocumentPages, r.Unfinished
	for _, f := range r.Refused {
		res.Refused = append(res.Refused, api.Refusal{URL: f.URL, Reason: f.Reason})
	}
	for _, f := range r.Failed {
		res.Failed = append(res.Failed, api.FetchError{URL: f.URL, Class: string(f.Class), Error: f.Error})
	}
	res.RefusedTotal, res.FailedTotal = r.RefusedTotal, r.FailedTotal+res.FailedTotal
	for class, n := range r.Classes {
		res.Classes[string(class)] += n
	}
	for _, t := range r.Traps {
		res.Traps = append(res.Traps, api.Trap{Pattern: t.Pattern, Pages: t.Pages, Refused: t.Refused})
	}
	for _, c := range r.Cut {
		res.Cut = append(res.Cut, api.Refusal{URL: c.URL, Reason: c.Reason})
	}
}

// classUnreadable stands beside the classes of failed fetches: the page came,
// and no text could be made of it.
const classUnreadable = "unreadable"

func (n *Node) crawlConfig(req api.CrawlRequest, fn api.ProgressFunc) (cfg crawl.Config, err error) {
	cfg, err = n.asking(req.Fetcher, req.Fast, req.RPS, req.AllowNet)
	if err != nil {
		return cfg, err
	}
	cfg.Seed, cfg.Depth, cfg.MaxPages, cfg.AllowHosts, cfg.Resume = req.SeedURL, req.Depth, req.MaxPages, req.AllowHost, req.Resume
	cfg.Seeds = req.MoreSeeds
	cfg.FromSitemap, cfg.Documents, cfg.Author = req.Sitemap, req.Documents, req.Author
	// A crawl that only lists URLs leaves nothing behind.
	if req.Ingest {
		cfg.Store = n.private
	} else if req.Resume {
		return cfg, api.NewError(api.CodeUsage, errors.New("crawl: only a crawl with --ingest can be resumed"), "add --ingest, or leave out --resume")
	}
	if fn != nil {
		var mu sync.Mutex
		var pages int64
		cfg.Visit = func(v crawl.Visit) {
			mu.Lock()
			defer mu.Unlock()
			pages++
			fn(api.Progress{Stage: "page", Done: pages, Item: v.URL, Depth: v.Depth, Status: v.Status})
		}
		cfg.Waits = func(host string, wait time.Duration) {
			mu.Lock()
			defer mu.Unlock()
			fn(api.Progress{Stage: "wait", Done: pages, Item: fmt.Sprintf("%s for %s", host, wait.Round(time.Second))})
		}
	}
	return cfg, nil
}

// asking says how web servers are asked: as the request wants it, else as
// config.toml has it.
func (n *Node) asking(fetcher string, fast bool, rps float64, nets []string) (cfg crawl.Config, err error) {
	c := n.cfg.Crawl
	cfg = crawl.Config{
		Fast: fast, UserAgent: n.userAgent(), Tracking: c.Tracking, Politeness: n.politeness,
		Fetcher: crawl.FetcherKind(cmp.Or(fetcher, c.Fetcher)), ChromiumPath: c.Chromium, Extract: n.extract,
	}
	if cfg.Delay, err = spacing(rps); err != nil {
		return cfg, err
	}
	if cfg.AllowNets, err = networks(nets); err != nil {
		return cfg, err
	}
	if cfg.Fetcher == crawl.Hosted {
		cfg.HostedURL = c.HostedURL
		cfg.HostedKey, err = hostedKey(c.HostedKeyFile)
	}
	return cfg, err
}

// userAgent gives the name that every crawl of this node goes by.
func (n *Node) userAgent() string {
	c := n.cfg.Crawl
	return cmp.Or(c.UserAgent, fetch.UserAgent("", c.Contact))
}

// spacing gives the time between requests for a rate; 0 is none given.
func spacing(rps float64) (time.Duration, error) {
	if rps == 0 {
		return 0, nil
	}
	if !(rps >= 0.001 && rps <= 1000) {
		return 0, api.NewError(api.CodeUsage, fmt.Errorf("crawl: %g requests a second", rps), "give a rate from 0.001 to 1000, for example --rps 2")
	}
	return time.Duration(float64(time.Second) / rps), nil
}

func networks(list []string) (nets []netip.Prefix, err error) {
	for _, s := range list {
		p, err := netip.ParsePrefix(s)
		if err != nil {
			return nil, api.NewError(api.CodeUsage, fmt.Errorf("allow net %q: not a network in CIDR form", s), "for example --allow-net 127.0.0.0/8")
		}
		nets = append(nets, p)
	}
	return nets, nil
}
