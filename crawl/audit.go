package crawl

import (
	"context"
	"errors"
	"fmt"

	"arborist/crawl/audit"
	"arborist/crawl/fetch"
	"arborist/crawl/internal/crawldb"
	"arborist/crawl/internal/frontier"
	"arborist/crawl/internal/sitemap"
	"arborist/shard"
)

// maxSitemaps is how many sitemaps one index leads to at most.
const maxSitemaps = 200

// ErrSitemap: the sitemap could not be had or read.
var ErrSitemap = errors.New("sitemap cannot be used")

// Audit says what is wrong with a site, from the latest crawl of its seed that
// was kept. It changes nothing and fetches nothing but the sitemap, where
// Sitemap names one. It fails with [*SeedError], [ErrNothingToResume] where no
// crawl is kept, and [ErrSitemap].
func (c *Crawler) Audit(ctx context.Context, sitemapURL string) (audit.Report, error) {
	if c.close != nil {
		defer c.close()
	}
	if c.cfg.Store == nil {
		return audit.Report{}, errors.New("audit a site: no store was given")
	}
	seed := c.seed.String()
	var addresses []audit.Address
	err := c.cfg.Store.db.Addresses(ctx, seed, func(a crawldb.Address) error {
		addresses = append(addresses, audit.Address{
			URL: a.URL, FoundOn: a.FoundOn, Depth: a.Depth, Trail: a.Trail, Status: a.Status, Result: resultOf(a.State), Reason: a.Reason,
		})
		return nil
	})
	if errors.Is(err, crawldb.ErrNoCrawl) {
		return audit.Report{}, fmt.Errorf("audit %s: %w: crawl it first, with --ingest", seed, ErrNothingToResume)
	}
	if err != nil {
		return audit.Report{}, err
	}
	documents, err := c.documentsOf(ctx, addresses)
	if err != nil {
		return audit.Report{}, err
	}
	var listed []string
	if sitemapURL != "" {
		if listed, err = c.sitemap(ctx, sitemapURL); err != nil {
			return audit.Report{}, err
		}
	}
	return audit.New(addresses, documents, listed), nil
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

// sitemap returns the addresses within the crawl's scope that a sitemap lists,
// or those that an index of them leads to, one level down. Robots.txt, pace and
// guard hold as for pages.
func (c *Crawler) sitemap(ctx context.Context, address string) ([]string, error) {
	g := newGate(c.fetcher, c.parser, c.cfg)
	first, err := c.oneSitemap(ctx, g, address)
	if err != nil {
		return nil, err
	}
	pages := first.Pages
	for _, s := range first.Sitemaps[:min(len(first.Sitemaps), maxSitemaps)] {
		next, err := c.oneSitemap(ctx, g, s)
		if err != nil {
			return nil, err
		}
		pages = append(pages, next.Pages...)
	}
	var listed []string
	for _, p := range pages {
		u, err := c.parser.Parse(p)
		if err != nil {
			continue
		}
		if u, ok := c.scope.adopt(u); ok {
			listed = append(listed, u.String())
		}
	}
	return listed, nil
}

func (c *Crawler) oneSitemap(ctx context.Context, g *gate, address string) (sitemap.Sitemap, error) {
	fail := func(err error) (sitemap.Sitemap, error) {
		if ctx.Err() != nil {
			return sitemap.Sitemap{}, ctx.Err()
		}
		return sitemap.Sitemap{}, fmt.Errorf("%w: %.200q: %w", ErrSitemap, address, err)
	}
	for hop := 0; ; hop++ {
		u, err := c.parser.Parse(address)
		if err != nil {
			return fail(err)
		}
		u, ok := c.scope.adopt(u)
		if !ok {
			return fail(errors.New("it is not on the site that was crawled; allow its host with --allow-host"))
		}
		d, cause, err := g.admit(ctx, u)
		if err != nil {
			return fail(err)
		}
		if !d.Allowed {
			return fail(errors.Join(errors.New("robots.txt forbids it, or cannot be had"), cause))
		}
		resp, err := g.Fetch(ctx, fetch.Request{URL: u.String(), AnyType: true})
		if err != nil {
			return fail(err)
		}
		if resp.Location != "" && hop < maxRedirects {
			address = resp.Location
			continue
		}
		if resp.Status != 200 || resp.Skipped != "" {
			return fail(fmt.Errorf("status %d %s", resp.Status, resp.Skipped))
		}
		s, err := sitemap.Parse(resp.Body)
		if err != nil {
			return fail(err)
		}
		return s, nil
	}
}
