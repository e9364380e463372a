package crawl

import (
	"context"
	"errors"
	"fmt"

	"arborist/crawl/egress"
	"arborist/crawl/fetch"
	"arborist/crawl/fetch/chromium"
)

// A FetcherKind says how pages are got. Robots.txt is always asked for by plain
// HTTP.
type FetcherKind string

const (
	PlainHTTP FetcherKind = "http"     // the default: as the server sends them
	Chromium  FetcherKind = "chromium" // each page rendered in a headless Chromium
	Auto      FetcherKind = "auto"     // rendered where the page is an unrendered shell, see [fetch.IsShell]
	Hosted    FetcherKind = "hosted"   // got and rendered by a service, see [fetch.Hosted]
)

// ErrFetcher: Config.Fetcher names no kind of fetcher.
var ErrFetcher = errors.New("no such fetcher")

// ownFetcher makes the fetcher that the configuration asks for, with what
// closes it.
func (c *Crawler) ownFetcher(guard *egress.Guard, plain *fetch.HTTP) (fetch.Fetcher, func() error, error) {
	switch kind := c.cfg.Fetcher; kind {
	case "", PlainHTTP:
		return plain, plain.Close, nil
	case Chromium, Auto:
		b, err := chromium.New(chromium.Config{Path: c.cfg.ChromiumPath, Guard: guard, UserAgent: c.cfg.UserAgent, Timeout: c.cfg.RenderTimeout})
		if err != nil {
			return nil, nil, err
		}
		return fetch.NewRendered(plain, b, kind == Chromium, c.cfg.Recorder), func() error { return errors.Join(b.Close(), plain.Close()) }, nil
	case Hosted:
		h, err := fetch.NewHosted(fetch.HostedConfig{Base: c.cfg.HostedURL, Key: c.cfg.HostedKey, Guard: guard, Plain: plain, Recorder: c.cfg.Recorder})
		if err != nil {
			return nil, nil, err
		}
		return h, func() error { return errors.Join(h.Close(), plain.Close()) }, nil
	default:
		return nil, nil, fmt.Errorf("%w: %.50q; take http, chromium, hosted or auto", ErrFetcher, kind)
	}
}

// parts judges the addresses of parts of a page of host, such as scripts, by the
// rules that hold for pages: one must be of the crawl's own hosts, and robots.txt
// must allow it. It belongs to its page's turn and waits for none of its own.
func (r *run) parts(host string) func(context.Context, string) error {
	return func(ctx context.Context, address string) error {
		u, err := r.c.parser.Parse(address)
		if err != nil {
			return err
		}
		if _, ours := r.c.scope.adopt(u); !ours {
			return fmt.Errorf("%.200s is on a host that is not crawled", address)
		}
		d, err := r.gate.robots.Check(withinTurn(ctx, host), u)
		switch {
		case err != nil:
			return err
		case !d.Allowed:
			return errors.New(d.Reason)
		}
		r.gate.requests.Add(1)
		return nil
	}
}
