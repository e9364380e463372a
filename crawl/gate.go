package crawl

import (
	"context"
	"errors"
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
// Pace and robots.txt are shared with the other crawls of the process.
type gate struct {
	fetcher   fetch.Fetcher
	parser    *weburl.Parser
	pace      *pace
	guest     *guest // of pace: this crawl
	robots    *robots.Reader
	names     notPages
	documents bool          // whatever their addresses look like
	slots     chan struct{} // one for each request under way, over all hosts
	least     time.Duration // spacing that the caller asked for, 0 where he did not

	requests atomic.Int64
}

var _ fetch.Fetcher = (*gate)(nil)

// newGate makes the gate of one crawl, which must leave at its end.
func newGate(f fetch.Fetcher, parser *weburl.Parser, cfg Config) *gate {
	shared := cfg.Politeness
	if shared == nil {
		shared = NewPoliteness(cfg.UserAgent, 0)
	}
	g := &gate{fetcher: f, parser: parser, names: newNotPages(), documents: cfg.Documents, pace: shared.pace, least: cfg.Delay, slots: make(chan struct{}, cfg.Workers)}
	g.guest = &guest{pace: shared.pace, polite: !cfg.Fast, delay: cfg.Delay, waits: cfg.Waits}
	if g.guest.polite && cfg.Delay == 0 {
		g.guest.delay = defaultDelay
	}
	g.robots = shared.robots.Through(g)
	return g
}

// leave says that the crawl is over.
func (g *gate) leave() { g.guest.leave() }

// Fetch implements [fetch.Fetcher]: it waits for the host's turn first.
func (g *gate) Fetch(ctx context.Context, req fetch.Request) (fetch.Response, error) {
	return g.fetch(ctx, ctx, req)
}

// fetch is Fetch with one context for the turn and one for the answer.
func (g *gate) fetch(starts, ctx context.Context, req fetch.Request) (fetch.Response, error) {
	u, err := g.parser.Parse(req.URL)
	if err != nil {
		return fetch.Response{}, &fetch.Error{URL: req.URL, Class: fetch.Denied, Reason: "not a usable URL", Err: err}
	}
	if ctx.Value(turnAt{}) != u.Host() {
		// The slot comes after the turn: hosts that are waited for take none.
		turn, err := g.guest.turn(starts, u.Host())
		if err != nil {
			return fetch.Response{}, err
		}
		defer turn.end()
		select {
		case g.slots <- struct{}{}:
			defer func() { <-g.slots }()
		case <-starts.Done():
			return fetch.Response{}, starts.Err()
		}
		turn.started()
	}
	req.AnyType = req.AnyType || isBinary(g.names.kind(u))
	if g.documents {
		req.Document = extract.BeginsDocument
	}
	g.requests.Add(1)
	resp, err := g.fetcher.Fetch(ctx, req)
	var fe *fetch.Error
	switch {
	case err == nil:
		g.pace.calm(u.Host())
	case errors.As(err, &fe) && (fe.Status == 429 || fe.Status == 503):
		g.pace.pushBack(u.Host(), min(max(fe.RetryAfter, time.Second), longestPause))
	}
	return resp, err
}

// turnAt is the key of a context's host whose turn is taken already: what is
// asked for on behalf of a page that is under way waits for no turn, as it would
// wait for the end of its own.
type turnAt struct{}

// withinTurn marks what belongs to a turn at host.
func withinTurn(ctx context.Context, host string) context.Context {
	return context.WithValue(ctx, turnAt{}, host)
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
func (g *gate) admit(ctx context.Context, u weburl.URL) (robots.Decision, error) {
	d, err := g.robots.Check(ctx, u)
	if err == nil && g.guest.polite && d.HasDelay {
		g.guest.keepTo(u.Host(), max(d.CrawlDelay, g.least))
	}
	return d, err
}
