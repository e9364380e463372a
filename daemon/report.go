package daemon

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"

	"arborist/crawl"
	"arborist/crawl/audit"
	"arborist/daemon/api"
)

// CrawlReport implements [api.Auditor].
func (n *Node) CrawlReport(ctx context.Context, req api.CrawlReportRequest, _ api.ProgressFunc) (res api.CrawlReportResult, err error) {
	cfg, err := n.asking(string(crawl.PlainHTTP), false, 0, req.AllowNet)
	if err != nil {
		return res, err
	}
	cfg.Seed, cfg.Seeds, cfg.AllowHosts, cfg.Store = req.SeedURL, req.MoreSeeds, req.AllowHost, n.private
	if req.Sitemap == "" {
		cfg.AllowNets = anyNetwork()
	}
	c, err := crawl.New(cfg, nil)
	if err != nil {
		return res, explain(err)
	}
	r, err := c.Audit(ctx, req.Sitemap)
	switch {
	case errors.Is(err, crawl.ErrNothingToResume):
		return res, api.NewError(api.CodeNotFound, fmt.Errorf("crawl-report: no crawl of %.200q is kept", strings.Join(append([]string{req.SeedURL}, req.MoreSeeds...), " ")),
			"name all seeds that the crawl was begun with; or crawl it first: arborist crawl --ingest --seed-url "+req.SeedURL)
	case errors.Is(err, crawl.ErrSitemap):
		return res, api.NewError(api.CodeUnavailable, fmt.Errorf("crawl-report: %w", err), "check the address, or leave out --sitemap")
	case err != nil:
		return res, explain(err)
	}
	res = siteReport(req.SeedURL, r)
	res.MoreSeeds = req.MoreSeeds
	if req.HTML {
		var b strings.Builder
		if err := r.WriteHTML(&b, req.SeedURL); err != nil {
			return res, err
		}
		res.HTML = b.String()
	}
	return res, nil
}

// anyNetwork is for what fetches nothing: a site in a private network is as good
// as any.
func anyNetwork() []netip.Prefix {
	return []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0"), netip.MustParsePrefix("::/0")}
}

func siteReport(seed string, r audit.Report) api.CrawlReportResult {
	t := r.Totals
	res := api.CrawlReportResult{
		SeedURL: seed, Pages: r.Pages,
		Totals: map[string]int{
			"orphans": t.Orphans, "duplicates": t.Duplicates, "overlaps": t.Overlaps,
			"broken": t.Broken, "redirects": t.Redirects, "thin": t.Thin, "documents": t.Documents, "traps": t.Traps,
		},
	}
	res.Orphans = each(r.Orphans, func(o audit.Orphan) api.OrphanPage { return api.OrphanPage{URL: o.URL, From: o.Why} })
	res.Duplicates = each(r.Duplicates, func(c audit.Cluster) api.DuplicatePages {
		return api.DuplicatePages{Root: c.Root, URLs: c.URLs}
	})
	res.Overlaps = each(r.Overlaps, func(o audit.Overlap) api.PageOverlap {
		return api.PageOverlap{A: o.A, B: o.B, Shared: o.Shared, Share: o.Share}
	})
	res.Broken = each(r.Broken, func(b audit.Broken) api.BrokenLink {
		return api.BrokenLink{URL: b.URL, FoundOn: b.FoundOn, Status: b.Status, Reason: b.Reason}
	})
	res.Redirects = each(r.Redirects, func(c audit.Chain) api.RedirectChain {
		return api.RedirectChain{From: c.From, To: c.To, Through: append([]string{}, c.Through...), Hops: c.Hops, FoundOn: c.FoundOn}
	})
	res.Depths = each(r.Depths, func(d audit.Depth) api.DepthCount { return api.DepthCount{Depth: d.Depth, Pages: d.Pages} })
	res.Thin = each(r.Thin, func(t audit.Thin) api.ThinPage {
		return api.ThinPage{URL: t.URL, Words: t.Words, Untitled: t.Untitled}
	})
	res.Documents = each(r.Documents, func(f audit.File) api.DocumentFile {
		return api.DocumentFile{URL: f.URL, FoundOn: f.FoundOn, Fetched: f.Fetched, Reason: f.Reason}
	})
	res.Traps = each(r.Traps, func(t audit.Trap) api.SiteTrap {
		return api.SiteTrap{Trap: api.Trap{Pattern: t.Pattern, Pages: t.Pages, Refused: t.Refused}, Reason: t.Reason}
	})
	res.Statuses = each(r.Statuses, func(s audit.Status) api.StatusCount { return api.StatusCount{Status: s.Status, Count: s.Count} })
	return res
}

// each translates a list; there is one even where there is nothing in it.
func each[A, B any](all []A, fn func(A) B) []B {
	out := make([]B, len(all))
	for i, a := range all {
		out[i] = fn(a)
	}
	return out
}
