package crawl

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"arborist/crawl/audit"
	"arborist/crawl/internal/crawldb"
	"arborist/crawl/internal/frontier"
	"arborist/shard"
)

// Audit says what is wrong with a site, from the latest crawl of its seeds that
// was kept. It changes nothing and fetches nothing but the sitemap, where
// Sitemap names one. It fails with [*SeedError], [ErrNothingToResume] where no
// crawl is kept, [ErrSitemapAddress] and [ErrSitemap].
func (c *Crawler) Audit(ctx context.Context, sitemapURL string) (audit.Report, error) {
	if c.close != nil {
		defer c.close()
	}
	if c.cfg.Store == nil {
		return audit.Report{}, errors.New("audit a site: no store was given")
	}
	if sitemapURL != "" {
		if err := c.checkSitemap(sitemapURL); err != nil {
			return audit.Report{}, err
		}
	}
	addresses, err := c.addresses(ctx)
	if err != nil {
		return audit.Report{}, err
	}
	documents, err := c.documentsOf(ctx, addresses)
	if err != nil {
		return audit.Report{}, err
	}
	var listed []string
	if sitemapURL != "" {
		g := newGate(c.fetcher, c.parser, c.cfg)
		defer g.leave()
		for s, err := range c.sitemaps(ctx, g, sitemapURL) {
			if err != nil {
				return audit.Report{}, err
			}
			for _, u := range s.pages {
				listed = append(listed, u.String())
			}
		}
	}
	report := audit.New(addresses, documents, listed)
	traps := c.trapsOf(addresses)
	report.Totals.Traps = len(traps)
	report.Traps = traps[:min(len(traps), audit.MaxListed)]
	return report, nil
}

// addresses gives every address of the latest crawl that was kept, and
// [ErrNothingToResume] where none is.
func (c *Crawler) addresses(ctx context.Context) (addresses []audit.Address, err error) {
	err = c.cfg.Store.db.Addresses(ctx, c.seeds, func(a crawldb.Address) error {
		_, named := c.isDocument(a.URL, a.Depth)
		addresses = append(addresses, audit.Address{
			URL: a.URL, FoundOn: a.FoundOn, Depth: a.Depth, Trail: a.Trail, Status: a.Status, Result: resultOf(a.State), Reason: a.Reason, Document: named || a.Document,
		})
		redirected(&addresses[len(addresses)-1])
		return nil
	})
	if errors.Is(err, crawldb.ErrNoCrawl) {
		return nil, fmt.Errorf("audit %s: %w: crawl it first, with --ingest", c.seed, ErrNothingToResume)
	}
	return addresses, err
}

// documentsOf returns what is stored of the origins that the crawl fetched from,
// whichever crawl brought it.
func (c *Crawler) documentsOf(ctx context.Context, addresses []audit.Address) (documents []audit.Document, err error) {
	origins := map[string]bool{}
	for _, a := range addresses {
		if a.Result == audit.Page {
			origins[frontier.Origin(a.URL)] = true
		}
	}
	// What a crawl that was killed stored has no words before it is indexed.
	if err := c.cfg.Store.Index(ctx); err != nil {
		return nil, err
	}
	for origin := range origins {
		// "0" follows "/": all addresses of the origin.
		err = c.cfg.Store.File().EachCurrent(ctx, origin+"/", origin+"0", func(p shard.CurrentPage) error {
			d := audit.Document{URL: p.URI, Title: p.Title, Root: p.Root, Words: int(p.Words)}
			for _, l := range p.Leaves {
				d.Leaves = append(d.Leaves, string(l[:]))
			}
			documents = append(documents, d)
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return documents, nil
}

// redirected sorts what was answered with a redirect: whether it was followed or
// not, it is one where it leads to a page somewhere, and else a broken link.
func redirected(a *audit.Address) {
	if a.Status < 300 || a.Status > 399 {
		return
	}
	to, left := strings.CutPrefix(a.Reason, reasonLeft)
	switch {
	case left, a.Result == audit.Redirect:
		a.Result, a.Target, a.Reason = audit.Redirect, to, ""
	case a.Result == audit.NotFetched:
		a.Result = audit.Failed
	}
}

func resultOf(s frontier.State) audit.Result {
	switch s {
	case frontier.Fetched, frontier.Done:
		return audit.Page
	case frontier.Redirected:
		return audit.Redirect
	case frontier.Refused:
		return audit.NotFetched
	case frontier.Failed:
		return audit.Failed
	default:
		return audit.Unfetched
	}
}
