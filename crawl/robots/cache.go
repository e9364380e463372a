package robots

import (
	"container/list"
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"arborist/crawl/fetch"
	"arborist/crawl/internal/weburl"
)

// CacheConfig configures [NewCache]. Every zero value means the default given.
type CacheConfig struct {
	// Token is the product token whose groups count. Default
	// [fetch.ProductToken].
	Token string

	// TTL is how long an answer counts. Default 1 h, at most 24 h.
	TTL time.Duration

	// Retry is how long an origin whose rules could not be fetched is closed
	// before they are asked for again; it doubles with each failure up to
	// TTL. A longer Retry-After of the server is respected up to TTL.
	// Default 1 min.
	Retry time.Duration

	// Timeout limits each request. Default 5 s.
	Timeout time.Duration

	// MaxOrigins is how many origins are kept; those unused for longest are
	// forgotten first. Default 4096. Their rules together are kept under
	// 64 MiB besides.
	MaxOrigins int
}

const maxWeight = 64 << 20

// A Decision says whether a URL may be fetched.
type Decision struct {
	Allowed bool

	// Reason says why not, or which line allowed it; may be empty.
	Reason string

	// Temporary: not allowed because the rules could not be fetched. They
	// will be asked for again after RetryAfter.
	Temporary  bool
	RetryAfter time.Duration

	// Err is why the rules could not be fetched, where Temporary; nil where an
	// answer came that is none.
	Err error

	// CrawlDelay is what the site asks for, where HasDelay.
	CrawlDelay time.Duration
	HasDelay   bool
}

// A Cache keeps the rules of many origins for any number of readers. It is safe
// for concurrent use. The clock is time.Now, in its monotonic part: a clock that
// jumps changes nothing.
type Cache struct {
	cfg     CacheConfig
	readers atomic.Uint64 // made so far

	mu      sync.Mutex // guards all below
	origins map[string]*origin
	recent  *list.List // of *origin, the most recently used first
	weight  int
}

// An origin is what is known of one scheme, host and port. Its fields are
// guarded by the cache's lock; verdict is replaced, never changed.
type origin struct {
	name     string
	place    *list.Element
	verdict  *verdict // nil until the first answer
	failures int      // in a row
	flight   *flight  // the fetch under way, or nil
}

// A verdict is what one fetch of robots.txt came to.
type verdict struct {
	rules      *Rules
	why        string // reason where no file was read
	temporary  bool
	retryAfter time.Duration // as the server asked
	err        error         // where nothing was answered
	expires    time.Time

	// only is the number of the one reader for whom it counts, 0: for all. What
	// its own guard refuses, or its own end cut off, says nothing to another.
	only uint64
}

func (v *verdict) countsFor(r *Reader) bool { return v.only == 0 || v.only == r.number }

// A flight is a fetch that several callers wait for. It is cancelled when the
// last of them leaves.
type flight struct {
	done    chan struct{}
	cancel  context.CancelFunc
	waiters int
	verdict *verdict // once done is closed; nil where it was cancelled
}

// NewCache makes a cache, which is read with [Cache.Through].
func NewCache(cfg CacheConfig) *Cache {
	if cfg.Token == "" {
		cfg.Token = fetch.ProductToken
	}
	if cfg.TTL <= 0 {
		cfg.TTL = time.Hour
	}
	cfg.TTL = min(cfg.TTL, 24*time.Hour)
	if cfg.Retry <= 0 {
		cfg.Retry = time.Minute
	}
	if cfg.Timeout <= 0 {
		cfg.Timeout = 5 * time.Second
	}
	if cfg.MaxOrigins <= 0 {
		cfg.MaxOrigins = 4096
	}
	return &Cache{cfg: cfg, origins: map[string]*origin{}, recent: list.New()}
}

// A Reader asks a cache and fetches what is missing in it. It is safe for
// concurrent use.
type Reader struct {
	cache   *Cache
	fetcher fetch.Fetcher
	number  uint64
}

// Through gives a reader that fetches through f, whose limits and egress guard
// therefore hold for robots.txt too.
func (c *Cache) Through(f fetch.Fetcher) *Reader {
	return &Reader{cache: c, fetcher: f, number: c.readers.Add(1)}
}

// Check decides about an address, fetching its origin's robots.txt where there
// is no fresh answer. Its only error is ctx's own.
func (r *Reader) Check(ctx context.Context, u weburl.URL) (Decision, error) {
	v, err := r.verdict(ctx, u.Origin())
	if err != nil {
		return Decision{}, fmt.Errorf("check robots of %.200q: %w", u, err)
	}
	d := Decision{}
	d.CrawlDelay, d.HasDelay = v.rules.CrawlDelay()
	var line string
	d.Allowed, line = v.rules.Match(u.Target())
	switch {
	case !d.Allowed && v.why != "":
		d.Reason = "robots.txt: " + v.why
	case line != "":
		d.Reason = "robots.txt: " + line
	}
	if !d.Allowed && v.temporary {
		d.Temporary, d.Err, d.RetryAfter = true, v.err, max(time.Until(v.expires), 0)
	}
	return d, nil
}

// verdict gives the fresh verdict of an origin, joining or starting a fetch
// where there is none.
func (r *Reader) verdict(ctx context.Context, name string) (*verdict, error) {
	c := r.cache
	for {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		c.mu.Lock()
		o := c.origin(name)
		if v := o.verdict; v != nil && v.countsFor(r) && time.Now().Before(v.expires) {
			c.mu.Unlock()
			return v, nil
		}
		f := o.flight
		if f == nil {
			f = r.start(ctx, o)
		}
		f.waiters++
		c.mu.Unlock()

		select {
		case <-f.done:
		case <-ctx.Done():
		}

		c.mu.Lock()
		if f.waiters--; f.waiters == 0 {
			f.cancel()
		}
		v := f.verdict
		c.mu.Unlock()
		// No verdict: the flight was cancelled by those before us, or our own
		// context ended. Go round again and see.
		if v != nil && v.countsFor(r) {
			return v, nil
		}
	}
}
