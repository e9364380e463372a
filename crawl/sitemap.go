package crawl

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"

	"arborist/crawl/fetch"
	"arborist/crawl/internal/frontier"
	"arborist/crawl/internal/sitemap"
	"arborist/crawl/internal/weburl"
)

// maxSitemaps is how many sitemaps of one index are read.
const maxSitemaps = 200

var (
	// ErrSitemap: the sitemap could not be had or read.
	ErrSitemap = errors.New("sitemap cannot be used")
	// ErrSitemapAddress: what is given as a sitemap cannot be one of the site.
	ErrSitemapAddress = errors.New("no sitemap of the site")
)

// A listing is what one sitemap says about the site.
type listing struct {
	address   string
	pages     []weburl.URL // within the crawl's scope
	elsewhere int          // addresses on other hosts
	broken    int          // no addresses at all
}

// checkFromSitemap refuses early what shows in the configuration alone.
func (c *Crawler) checkFromSitemap() error {
	if c.cfg.FromSitemap == "" {
		return nil
	}
	if c.cfg.Depth == 0 {
		return fmt.Errorf("%w: its pages count as linked from the seed, which a crawl of depth 0 does not follow; give depth 1 or more", ErrSitemapAddress)
	}
	return c.checkSitemap(c.cfg.FromSitemap)
}

// checkSitemap fails with [ErrSitemapAddress], before anything is asked.
func (c *Crawler) checkSitemap(address string) error {
	if _, err := c.onSite(address); err != nil {
		return fmt.Errorf("%w: %.200q: %w", ErrSitemapAddress, address, err)
	}
	return nil
}

// fromSitemap adds the pages of Config.FromSitemap to the crawl, once its seed
// has come: only then it is known by which scheme the site is asked. It does so
// again when a crawl is resumed; what is known already is ignored.
func (r *run) fromSitemap(ctx context.Context) error {
	if r.c.cfg.FromSitemap == "" || !r.seeded || r.listed || r.full() {
		return nil
	}
	r.listed = true
	first := true
	for s, err := range r.c.sitemaps(ctx, r.gate, r.c.cfg.FromSitemap) {
		if err != nil {
			if first || ctx.Err() != nil {
				return err
			}
			r.cut(s.address, err.Error())
			continue
		}
		first = false
		links := make([]frontier.Link, len(s.pages))
		for i, u := range s.pages {
			links[i] = frontier.Link{URL: u.String(), Depth: 1}
		}
		if err := r.frontier.Add(ctx, links); err != nil {
			return err
		}
		for _, l := range links {
			r.lane(l.URL).grew(l.Depth)
		}
		r.report.Listed += len(links)
		r.report.OffSite += s.elsewhere
		r.report.Broken += s.broken
	}
	return nil
}

// sitemaps reads a sitemap and, where it is an index, those that it leads to,
// one level down. Robots.txt, pace and guard hold as for pages. An error is that
// of one sitemap: whoever ranges on is given the others.
func (c *Crawler) sitemaps(ctx context.Context, g *gate, address string) iter.Seq2[listing, error] {
	return func(yield func(listing, error) bool) {
		first, err := c.oneSitemap(ctx, g, address)
		if !yield(c.list(address, first), err) {
			return
		}
		seen := map[string]bool{address: true}
		for i, next := range first.Sitemaps {
			if seen[next] {
				continue // indexes of some sites list themselves
			}
			seen[next] = true
			if i == maxSitemaps {
				yield(listing{address: address}, sitemapError(address, fmt.Errorf("it leads to %d sitemaps, of which %d were read", len(first.Sitemaps), maxSitemaps)))
				return
			}
			s, err := c.oneSitemap(ctx, g, next)
			if err == nil && len(s.Sitemaps) > 0 {
				err = sitemapError(next, fmt.Errorf("an index within an index: the %d sitemaps that it leads to were not read", len(s.Sitemaps)))
			}
			if !yield(c.list(next, s), err) || ctx.Err() != nil {
				return
			}
		}
	}
}

// list sorts what a sitemap lists.
func (c *Crawler) list(address string, s sitemap.Sitemap) listing {
	l := listing{address: address}
	for _, p := range s.Pages {
		u, err := c.parser.Parse(p)
		if err != nil {
			l.broken++
			continue
		}
		if u, ok := c.scope.adopt(u); ok {
			l.pages = append(l.pages, u)
		} else {
			l.elsewhere++
		}
	}
	return l
}

func (c *Crawler) oneSitemap(ctx context.Context, g *gate, address string) (sitemap.Sitemap, error) {
	fail := func(err error) (sitemap.Sitemap, error) {
		if ctx.Err() != nil {
			return sitemap.Sitemap{}, ctx.Err()
		}
		return sitemap.Sitemap{}, sitemapError(address, err)
	}
	for hop := 0; ; hop++ {
		u, err := c.onSite(address)
		if err != nil {
			return fail(err)
		}
		d, err := g.admit(ctx, u)
		if err != nil {
			return fail(err)
		}
		if !d.Allowed {
			return fail(errors.Join(errors.New("robots.txt forbids it, or cannot be had"), d.Err))
		}
		resp, err := g.Fetch(ctx, fetch.Request{URL: u.String(), AnyType: true})
		if err != nil {
			return fail(err)
		}
		if resp.Location != "" && hop < maxRedirects {
			address = resp.Location
			continue
		}
		if resp.Status != http.StatusOK || resp.Skipped != "" {
			return fail(errors.New(cmp.Or(resp.Skipped, statusText(resp.Status))))
		}
		s, err := sitemap.Parse(resp.Body)
		if err != nil {
			return fail(err)
		}
		return s, nil
	}
}

// onSite reads the address of a sitemap.
func (c *Crawler) onSite(address string) (weburl.URL, error) {
	u, err := c.parser.Parse(address)
	if err != nil {
		return u, err
	}
	u, ok := c.scope.adopt(u)
	if !ok {
		return u, errors.New("it is not on the site that is crawled; allow its host with --allow-host")
	}
	return u, nil
}

func sitemapError(address string, err error) error {
	return fmt.Errorf("%w: %.200q: %w", ErrSitemap, address, err)
}
