package crawl

import (
	"context"
	"fmt"
	"sync"

	"arborist/crawl/fetch"
	"arborist/crawl/internal/crawldb"
	"arborist/crawl/internal/frontier"
	"arborist/ingest"
)

// A crawlFrontier is where a run finds its work and leaves its results; see
// package frontier for the promises.
type crawlFrontier interface {
	Origins(ctx context.Context) ([]string, error)
	Next(ctx context.Context, origin string) (depth int, ok bool, err error)
	Waiting(ctx context.Context, origin string, depth int, after int64, n int) ([]frontier.Entry, error)
	Settle(ctx context.Context, outcomes []frontier.Outcome) error
	Add(ctx context.Context, links []frontier.Link) error
}

// A run is one call of Documents. Its fields belong to the calling goroutine;
// visits use c and gate alone.
type run struct {
	c        *Crawler
	gate     *gate
	frontier crawlFrontier
	keeps    bool                   // the frontier keeps pages until they are stored
	emit     func(ingest.Raw) error // nil: nobody wants the pages
	buffers  sync.Pool              // of *[]byte, for bodies that nobody wants
	seeded   bool                   // a seed's page has come
	lost     int                    // seeds that came to nothing
	listed   bool                   // the sitemap was read, see fromSitemap

	relevance *relevance // nil: every page's links are followed

	traps    *traps
	twins    *twins
	report   *Report
	lanes    map[string]*lane // by origin
	order    []*lane          // in the order in which they came up
	busy     map[string]int   // visits in flight by host
	inFlight int
	send     func(*lane, frontier.Entry) // starts a visit
	results  *inbox
}

// Documents implements [ingest.Source]: it crawls, and emits each page. Errors
// are [*SeedError], [*HostDownError], [ErrSitemap], [ErrEmbedder], [ErrNothingToResume], [ErrOtherCrawl],
// [ErrBusy], those of the store and of emit, and the context's. Single pages
// that fail are in the [Report] and end nothing; fail is not called.
//
// emit may be nil: then pages are read for their links alone.
//
// With a store, [Crawler.Ingest] is the way: it alone comes back to the pages
// that were being stored when the program ended more than once.
func (c *Crawler) Documents(ctx context.Context, emit func(ingest.Raw) error, _ func(uri string, err error)) error {
	if c.close != nil {
		defer c.close()
	}
	kept, err := c.begin(ctx)
	if err != nil {
		return err
	}
	if kept != nil {
		defer kept.Release()
	}
	return c.crawl(ctx, kept, emit)
}

// begin claims the frontier in the store; it is nil where there is no store.
func (c *Crawler) begin(ctx context.Context) (*crawldb.Crawl, error) {
	c.report = Report{}
	switch {
	case c.cfg.Store != nil:
		return c.cfg.Store.begin(ctx, c.seeds, c.cfg.Depth, c.cfg.Resume)
	case c.cfg.Resume:
		return nil, fmt.Errorf("crawl %s: %w: a crawl can only be resumed where its pages are kept", c.seed, ErrNothingToResume)
	}
	return nil, nil
}

// crawl goes through the site, by the frontier that is kept or one in memory.
func (c *Crawler) crawl(ctx context.Context, kept *crawldb.Crawl, emit func(ingest.Raw) error) error {
	r := &run{
		c: c, emit: emit, report: &c.report,
		gate:  newGate(c.fetcher, c.parser, c.cfg),
		traps: newTraps(c.cfg.PatternBudget),
		twins: newTwins(),
		lanes: map[string]*lane{},
		busy:  map[string]int{},
	}
	defer r.gate.leave()
	if c.cfg.Embedder != nil {
		r.relevance = &relevance{embedder: c.cfg.Embedder, extract: c.cfg.Extract}
	}
	if err := r.open(ctx, kept); err != nil {
		return err
	}
	defer func() {
		c.report.Requests, c.report.Collapsed = int(r.gate.requests.Load()), r.twins.collapsed
		c.report.Traps = r.traps.notes()
	}()
	origins, err := r.frontier.Origins(ctx)
	if err != nil {
		return err
	}
	for _, origin := range origins {
		r.lane(origin + "/")
	}
	return r.crawl(ctx)
}

// open sets up the frontier and hands on what an earlier run left behind.
func (r *run) open(ctx context.Context, kept *crawldb.Crawl) error {
	if kept == nil {
		r.frontier = frontier.NewMemory(r.c.seeds...)
		return nil
	}
	r.frontier, r.keeps = kept, true
	if !r.c.cfg.Resume {
		return nil
	}
	if err := kept.Recall(ctx, r.recall); err != nil {
		return err
	}
	r.report.Earlier = r.report.Pages
	if r.relevance != nil && r.seeded {
		vector, err := kept.SeedVector(ctx)
		if err != nil {
			return err
		}
		if vector == nil {
			return fmt.Errorf("crawl %s: %w: it was begun without; start it over, without --resume", r.c.seed, ErrEmbedder)
		}
		r.relevance.seed = vector
	}
	return kept.Unstored(ctx, r.emit)
}

// recall takes in what an earlier run of the crawl came to.
func (r *run) recall(o frontier.Outcome) error {
	r.count(o)
	u, err := r.c.parser.Parse(o.Entry.URL)
	if err != nil || o.State == frontier.Refused {
		return nil
	}
	r.traps.charge(u, o.Entry.Chain, o.Entry.Depth)
	if o.Entry.Depth == 0 && (o.State == frontier.Fetched || o.State == frontier.Done) {
		r.c.scope.enter(u)
	}
	return nil
}

// count enters an outcome into the report.
func (r *run) count(o frontier.Outcome) {
	listed := r.c.cfg.MaxListed
	if kind, is := r.c.isDocument(o.Entry.URL, o.Entry.Depth); is {
		r.report.document(kind, o.State == frontier.Fetched || o.State == frontier.Done)
	}
	switch o.State {
	case frontier.Fetched, frontier.Done:
		r.report.Pages++
		r.seeded = r.seeded || o.Entry.Depth == 0
		if o.Reason == reasonNoIndex {
			r.report.NoIndex++
		}
	case frontier.Redirected:
		r.report.Redirects++
	case frontier.Refused:
		r.report.refuse(listed, o.Entry.URL, o.Reason)
	case frontier.Failed:
		r.report.fail(listed, o.Entry.URL, fetch.Class(o.Class), o.Reason)
	}
}

const reasonNoIndex = "noindex"
