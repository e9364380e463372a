package robots

import (
	"container/list"
	"context"
	"errors"
	"fmt"
	"time"

	"arborist/crawl/fetch"
)

// maxRedirects is how many redirects in a row are followed for robots.txt.
const maxRedirects = 5

// origin gives the record of an origin, making it and forgetting the ones
// unused for longest where there are too many. c.mu is held.
func (c *Cache) origin(name string) *origin {
	o := c.origins[name]
	if o != nil {
		c.recent.MoveToFront(o.place)
		return o
	}
	o = &origin{name: name}
	o.place = c.recent.PushFront(o)
	c.origins[name] = o
	c.shrink()
	return o
}

// shrink forgets origins until both limits hold, but never one that is being
// fetched nor the one just used. c.mu is held.
func (c *Cache) shrink() {
	for e := c.recent.Back(); e != nil && e != c.recent.Front(); {
		if len(c.origins) <= c.cfg.MaxOrigins && c.weight <= maxWeight {
			return
		}
		o, prev := e.Value.(*origin), e.Prev()
		if o.flight == nil {
			c.forget(o, e)
		}
		e = prev
	}
}

func (c *Cache) forget(o *origin, e *list.Element) {
	c.recent.Remove(e)
	delete(c.origins, o.name)
	if o.verdict != nil {
		c.weight -= o.verdict.rules.weight
	}
}

// start begins a fetch for o. The cache's lock is held.
func (r *Reader) start(ctx context.Context, o *origin) *flight {
	c := r.cache
	// The fetch outlives the caller that began it if others wait as well.
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	f := &flight{done: make(chan struct{}), cancel: cancel}
	o.flight = f
	go func() {
		defer cancel()
		v := r.load(ctx, o.name)
		c.mu.Lock()
		defer c.mu.Unlock()
		defer close(f.done)
		o.flight = nil
		if ctx.Err() != nil {
			return // nobody waits any more, and a cancelled fetch says nothing
		}
		f.verdict = v
		c.settle(o, v)
	}()
	return f
}

// settle stores a verdict and sets its lifetime. c.mu is held.
func (c *Cache) settle(o *origin, v *verdict) {
	life := c.cfg.TTL
	if v.temporary {
		o.failures++
		wait := c.cfg.Retry << min(o.failures-1, 16)
		life = min(max(wait, v.retryAfter), c.cfg.TTL)
	} else {
		o.failures = 0
	}
	v.expires = time.Now().Add(life)
	if o.verdict != nil {
		c.weight -= o.verdict.rules.weight
	}
	o.verdict = v
	c.weight += v.rules.weight
	c.shrink()
}

// load fetches and reads robots.txt of an origin by the status rules of RFC
// 9309 section 2.3.1.
func (r *Reader) load(ctx context.Context, origin string) *verdict {
	url := origin + "/robots.txt"
	for range maxRedirects + 1 {
		resp, err := r.fetcher.Fetch(ctx, fetch.Request{
			URL: url, AnyType: true, Prefix: MaxSize + 1, Timeout: r.cache.cfg.Timeout,
		})
		if err != nil {
			return r.failed(err)
		}
		switch {
		case resp.Location != "":
			url = resp.Location
			continue
		case resp.Status >= 200 && resp.Status < 300:
			return &verdict{rules: Parse(resp.Body, r.cache.cfg.Token)}
		case resp.Status >= 400 && resp.Status < 500:
			return &verdict{rules: AllowAll()}
		default:
			return &verdict{rules: DenyAll(), temporary: true, why: fmt.Sprintf("unexpected status %d", resp.Status)}
		}
	}
	// Too many redirects are "unavailable" in the RFC, which allows all.
	return &verdict{rules: AllowAll()}
}

// failed gives the verdict for a fetch that brought no answer.
func (r *Reader) failed(err error) *verdict {
	v := &verdict{rules: DenyAll(), temporary: true, why: "not reachable: " + err.Error(), err: err}
	var fe *fetch.Error
	if !errors.As(err, &fe) {
		v.only = r.number
		return v
	}
	v.why, v.retryAfter = fe.Reason, fe.RetryAfter
	switch {
	case fe.Status == 401 || fe.Status == 403:
		v.temporary = false
	case fe.Status == 429:
		// Not a refusal of the file but of the pace: closed until it answers.
	case fe.Status >= 400 && fe.Status < 500:
		return &verdict{rules: AllowAll()}
	case fe.Class == fetch.Denied: // by the guard
		v.why, v.only = err.Error(), r.number
	}
	return v
}
