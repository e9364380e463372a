package peer

import (
	"context"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
	"golang.org/x/time/rate"

	"arborist/document"
)

// A ServeConfig limits what one peer may cost. The zero value of each field is
// the default.
type ServeConfig struct {
	// Rate and Burst are the requests of one peer, in requests a second
	// and requests at once. 0: 4000 and 8000. A request for something that
	// is not served counts as missCost requests, one that takes much of the
	// processor as more than one: see workBytes, workLeaves and searchCost.
	Rate  float64
	Burst int
	// PeerBytes and TotalBytes cap the document bytes that are in memory on
	// their way to one peer and to all. 0: 96 and 256 MiB.
	PeerBytes, TotalBytes int64
	// MaxUpload is the most bytes a second that go to all peers together. 0: as
	// many as they take.
	MaxUpload int64
	// Search answers the queries of peers, from shared corpora alone. False:
	// they are refused like anything that is not there.
	Search bool
}

// missCost is what a request for nothing costs, in requests. Honest peers ask
// for what a signed log lists, so only guessing is slowed down.
const missCost = 20

// searchCost is what a search costs, in requests: twenty a second of one peer
// where it may ask 4,000 times.
const searchCost = 200

// workBytes is how much of documents and filters counts as one request more: reading
// and hashing it takes about as long as a small request.
const workBytes = 128 << 10

// workLeaves is how many leaves of a tree that is hashed do.
const workLeaves = 1024

// maxGuests bounds the table of peers that were served lately.
const maxGuests = 4096

// guestMemory is how long a guest without open requests is remembered. By then
// its bucket is full again, so forgetting it gives nothing away.
const guestMemory = time.Minute

func (c ServeConfig) withDefaults() ServeConfig {
	def := func(v *int64, d int64) {
		if *v == 0 {
			*v = d
		}
	}
	if c.Rate == 0 {
		c.Rate = 4000
	}
	if c.Burst == 0 {
		c.Burst = 8000
	}
	def(&c.PeerBytes, 96<<20)
	def(&c.TotalBytes, 256<<20)
	return c
}

func (c ServeConfig) check() error {
	d := c.withDefaults()
	switch {
	case d.MaxUpload < 0:
		return fmt.Errorf("serve peers: %d bytes a second, want 0 or more", d.MaxUpload)
	case d.Rate < 0 || d.Burst < missCost:
		return fmt.Errorf("serve peers: rate %g and burst %d: want a rate above 0 and a burst of at least %d", c.Rate, c.Burst, missCost)
	case d.PeerBytes < document.MaxBytes || d.TotalBytes < d.PeerBytes:
		return fmt.Errorf("serve peers: %d bytes for one and %d for all: one needs room for a document (%d), all for one", d.PeerBytes, d.TotalBytes, document.MaxBytes)
	}
	return nil
}

// guests knows who is being served and how much each may still ask for.
type guests struct {
	cfg ServeConfig
	// flooded, if not nil, is told of each guest that asks too often. It is
	// called without mu.
	flooded func(key string)
	bytes   *semaphore.Weighted

	mu    sync.Mutex
	table map[string]*guest
}

// A guest is one peer, or one network address where HTTP is served in the
// open.
type guest struct {
	tokens *rate.Limiter
	bytes  *semaphore.Weighted

	line // of its requests

	open int       // requests in progress; guarded by guests.mu
	seen time.Time // end of the last one; guarded by guests.mu
}

func newGuests(cfg ServeConfig) *guests {
	cfg = cfg.withDefaults()
	return &guests{cfg: cfg, bytes: semaphore.NewWeighted(cfg.TotalBytes), table: make(map[string]*guest)}
}

// enter admits one request of the guest named key. It returns nil where the
// guest asks too often or there are too many guests; otherwise leave must be
// called after the request.
func (gs *guests) enter(key string) *guest {
	g := gs.admit(key)
	if g == nil && gs.flooded != nil {
		gs.flooded(key)
	}
	return g
}

func (gs *guests) admit(key string) *guest {
	now := time.Now()
	gs.mu.Lock()
	defer gs.mu.Unlock()
	g := gs.table[key]
	if g == nil {
		if len(gs.table) >= maxGuests {
			gs.forget(now)
		}
		if len(gs.table) >= maxGuests {
			return nil
		}
		g = &guest{
			tokens: rate.NewLimiter(rate.Limit(gs.cfg.Rate), gs.cfg.Burst),
			bytes:  semaphore.NewWeighted(gs.cfg.PeerBytes),
		}
		gs.table[key] = g
	}
	g.seen = now
	if !g.tokens.AllowN(now, 1) {
		return nil
	}
	g.open++
	return g
}

func (gs *guests) leave(g *guest) {
	gs.mu.Lock()
	defer gs.mu.Unlock()
	g.open--
	g.seen = time.Now()
}

// forget drops the guests that have been away. The caller holds mu.
func (gs *guests) forget(now time.Time) {
	for key, g := range gs.table {
		if g.open == 0 && now.Sub(g.seen) > guestMemory {
			delete(gs.table, key)
		}
	}
}

// missed charges a guest for having asked for nothing.
func (g *guest) missed() { g.charge(missCost - 1) }

// searched charges a guest for a search.
func (g *guest) searched() { g.charge(searchCost - 1) }

// worked charges a guest for the processor time that so many bytes take, beyond
// what any request does.
func (g *guest) worked(bytes int64) { g.charge(int(bytes / workBytes)) }

// charge takes n requests out of a guest's bucket. It may go into debt, which the
// guest's next requests pay.
func (g *guest) charge(n int) {
	now := time.Now()
	for n > 0 {
		part := min(n, g.tokens.Burst()) // more at once it would not take at all
		g.tokens.ReserveN(now, part)
		n -= part
	}
}

// hold reserves memory for n bytes on their way to g, and waits for it. The
// share of the guest comes first, so that a guest that reads slowly makes
// only itself wait.
func (gs *guests) hold(ctx context.Context, g *guest, n int64) (release func(), err error) {
	if err := g.bytes.Acquire(ctx, n); err != nil {
		return nil, err
	}
	if err := gs.bytes.Acquire(ctx, n); err != nil {
		g.bytes.Release(n)
		return nil, err
	}
	return func() {
		gs.bytes.Release(n)
		g.bytes.Release(n)
	}, nil
}
