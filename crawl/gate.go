package crawl

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"arborist/crawl/egress"
	"arborist/crawl/fetch"
	"arborist/crawl/internal/weburl"
	"arborist/crawl/robots"
	"arborist/ingest/extract"
)

// A gate is what every request of a crawl goes through, those for robots.txt
// included: the host's pace, the count, and what the answer says about both.
type gate struct {
	fetcher   fetch.Fetcher
	parser    *weburl.Parser
	pace      *pace
	robots    *robots.Cache
	names     notPages
	polite    bool
	documents bool          // whatever their addresses look like
	slots     chan struct{} // one for each request under way, over all hosts
	least     time.Duration // spacing that the caller asked for, 0 where he did not

	requests atomic.Int64

	mu   sync.Mutex
	last map[string]error // by host: why the latest request failed, nil if it did not
}

var _ fetch.Fetcher = (*gate)(nil)

func newGate(f fetch.Fetcher, parser *weburl.Parser, cfg Config) *gate {
	g := &gate{fetcher: f, parser: parser, names: newNotPages(), polite: !cfg.Fast, documents: cfg.Documents, least: cfg.Delay, slots: make(chan struct{}, cfg.Workers), last: map[string]error{}}
	switch {
	case cfg.Delay > 0 || cfg.Fast:
		g.pace = newPace(cfg.Delay)
	default:
		g.pace = newPace(defaultDelay)
	}
	g.robots = robots.NewCache(g, robots.CacheConfig{Token: token(cfg.UserAgent), TTL: cfg.RobotsTTL})
	return g
}

// Fetch implements [fetch.Fetcher]: it waits for the host's turn first.
func (g *gate) Fetch(ctx context.Context, req fetch.Request) (fetch.Response, error) {
	return g.fetch(ctx, ctx, req)
}

// fetch is Fetch with one context for the turn and one for the answer.
func (g *gate) fetch(turn, ctx context.Context, req fetch.Request) (fetch.Response, error) {
	u, err := g.parser.Parse(req.URL)
	if err != nil {
		return fetch.Response{}, &fetch.Error{URL: req.URL, Class: fetch.Denied, Reason: "not a usable URL", Err: err}
	}
	// The slot comes after the turn: hosts that are waited for take none.
	if err := g.pace.wait(turn, u.Host()); err != nil {
		return fetch.Response{}, err
	}
	select {
	case g.slots <- struct{}{}:
		defer func() { <-g.slots }()
	case <-turn.Done():
		return fetch.Response{}, turn.Err()
	}
	req.AnyType = req.AnyType || isBinary(g.names.kind(u))
	if g.documents {
		req.Document = extract.BeginsDocument
	}
	g.pace.started(u.Host())
	g.requests.Add(1)
	resp, err := g.fetcher.Fetch(ctx, req)
	g.mu.Lock()
	g.last[u.Host()] = err
	g.mu.Unlock()
	var fe *fetch.Error
	switch {
	case err == nil:
		g.pace.calm(u.Host())
	case errors.As(err, &fe) && (fe.Status == 429 || fe.Status == 503):
		g.pace.pushBack(u.Host(), min(max(fe.RetryAfter, time.Second), longestPause))
	}
	return resp, err
}

// token gives the product token of a user agent: the name under which a site's
// robots.txt speaks of us.
func token(userAgent string) string {
	if t := robots.Token(userAgent); t != "" {
		return t
	}
	return fetch.ProductToken
}

// deniedCause gives the guard's own error, whose text is the clearest.
func deniedCause(err error) error {
	var d *egress.DeniedError
	if errors.As(err, &d) {
		return d
	}
	return err
}

// admit asks robots.txt about an address, and learns the host's pace from it.
// Where the rules could not be had, cause says why as far as is known.
func (g *gate) admit(ctx context.Context, u weburl.URL) (d robots.Decision, cause, err error) {
	d, err = g.robots.Check(ctx, u)
	if err != nil {
		return d, nil, err
	}
	if g.polite && d.HasDelay {
		g.pace.setDelay(u.Host(), max(d.CrawlDelay, g.least))
	}
	if !d.Allowed && d.Temporary {
		g.mu.Lock()
		cause = g.last[u.Host()]
		g.mu.Unlock()
	}
	return d, cause, nil
}
