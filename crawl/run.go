package crawl

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"arborist/crawl/fetch"
	"arborist/crawl/internal/frontier"
	"arborist/ingest"
)

// A crawlFrontier is where a run finds its work and leaves its results; see
// package frontier for the promises.
type crawlFrontier interface {
	Next(ctx context.Context, from int) (depth int, ok bool, err error)
	Waiting(ctx context.Context, depth int, after int64, n int) ([]frontier.Entry, error)
	Settle(ctx context.Context, outcomes []frontier.Outcome) error
}

// A run is one call of Documents. Its fields belong to the calling goroutine;
// workers read c and gate alone.
type run struct {
	c        *Crawler
	gate     *gate
	frontier crawlFrontier
	keeps    bool // the frontier keeps pages until they are stored
	emit     func(ingest.Raw) error

	traps    *traps
	report   *Report
	jobs     chan frontier.Entry
	results  chan visited
	inFlight int
	retries  []retry
	attempts map[int64]int // failed requests by entry
	silence  int           // requests in a row without an answer
	answered atomic.Bool   // the site answered in this run
}

// A retry is an entry that is to be fetched again.
type retry struct {
	entry frontier.Entry
	due   time.Time
}

// gracePeriod is how long the answers on their way are waited for when a crawl
// that can be resumed is interrupted.
const gracePeriod = time.Second

// Documents implements [ingest.Source]: it crawls, and emits each page. Errors
// are [*SeedError], [*HostDownError], [ErrNothingToResume], [ErrOtherCrawl],
// [ErrBusy], those of the store and of emit, and the context's. Single pages
// that fail are in the [Report] and end nothing; fail is not called.
func (c *Crawler) Documents(ctx context.Context, emit func(ingest.Raw) error, _ func(uri string, err error)) error {
	if c.close != nil {
		defer c.close()
	}
	c.report = Report{}
	r := &run{
		c: c, emit: emit, report: &c.report,
		gate:     newGate(c.fetcher, c.parser, c.cfg),
		traps:    newTraps(c.cfg.PatternBudget),
		attempts: map[int64]int{},
	}
	release, err := r.open(ctx)
	if err != nil {
		return err
	}
	defer release()
	defer func() {
		c.report.Requests = int(r.gate.requests.Load())
		c.report.Traps = r.traps.notes()
	}()
	return r.crawl(ctx)
}

// open sets up the frontier and hands on what an earlier run left behind.
func (r *run) open(ctx context.Context) (release func(), err error) {
	release = func() {}
	if r.c.cfg.Store == nil {
		if r.c.cfg.Resume {
			return nil, fmt.Errorf("crawl %s: %w: a crawl can only be resumed where its pages are kept", r.c.seed, ErrNothingToResume)
		}
		r.frontier = frontier.NewMemory(r.c.seed.String())
		return release, nil
	}
	kept, err := r.c.cfg.Store.begin(ctx, r.c.seed.String(), r.c.cfg.Depth, r.c.cfg.Resume)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			kept.Release()
		}
	}()
	r.frontier, r.keeps = kept, true
	if r.c.cfg.Resume {
		if err := kept.Recall(ctx, r.recall); err != nil {
			return nil, err
		}
		r.report.Earlier = r.report.Pages
		if err := kept.Unstored(ctx, r.emit); err != nil {
			return nil, err
		}
	}
	return kept.Release, nil
}

// recall takes in what an earlier run of the crawl came to.
func (r *run) recall(o frontier.Outcome) error {
	r.count(o)
	u, err := r.c.parser.Parse(o.Entry.URL)
	if err != nil || o.State == frontier.Refused {
		return nil
	}
	r.traps.charge(u, o.Entry.Chain)
	if o.Entry.Depth == 0 && (o.State == frontier.Fetched || o.State == frontier.Done) {
		r.c.scope.enter(u)
	}
	return nil
}

// count enters an outcome into the report.
func (r *run) count(o frontier.Outcome) {
	listed := r.c.cfg.MaxListed
	switch o.State {
	case frontier.Fetched, frontier.Done:
		r.report.Pages++
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

// crawl starts the workers and goes through the levels.
func (r *run) crawl(ctx context.Context) error {
	// Two ends: no further request starts, and no answer is waited for. A crawl
	// that can be resumed waits a moment between them, so that answers that are
	// on their way are not asked for again.
	starts, noMoreStarts := context.WithCancel(ctx)
	defer noMoreStarts()
	parent := ctx
	if r.keeps {
		parent = context.WithoutCancel(ctx)
	}
	answers, noMoreAnswers := context.WithCancel(parent)
	defer noMoreAnswers()

	workers := r.c.cfg.Workers
	r.jobs, r.results = make(chan frontier.Entry, workers), make(chan visited, workers)
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for e := range r.jobs {
				r.results <- r.visit(starts, answers, e)
			}
		})
	}
	err := r.levels(ctx)
	noMoreStarts()
	if !r.keeps {
		noMoreAnswers()
	}
	grace := time.AfterFunc(gracePeriod, noMoreAnswers)
	defer grace.Stop()
	// The results channel holds as many as can be in flight, so no worker
	// blocks on it and all of them end.
	close(r.jobs)
	wg.Wait()
	close(r.results)
	if err == nil {
		return nil
	}
	if lost := r.salvage(ctx); lost != nil {
		return errors.Join(err, lost)
	}
	return err
}

// salvage notes the answers that came in while the run ended, so that a
// resumed crawl does not ask for them again. Without a store they are nobody's.
func (r *run) salvage(ctx context.Context) error {
	if !r.keeps {
		return nil
	}
	var outcomes []frontier.Outcome
	for v := range r.results {
		if v.err == nil && v.state != frontier.Waiting {
			outcomes = append(outcomes, r.outcome(v))
		}
	}
	if len(outcomes) == 0 {
		return nil
	}
	if err := r.settle(ctx, outcomes); err != nil {
		return err
	}
	for _, o := range outcomes {
		r.count(o)
	}
	return nil
}

// levels fetches one depth after the other. Each leads only to the next, but
// an earlier run may have emptied the first of them.
func (r *run) levels(ctx context.Context) error {
	for from := 0; ; {
		depth, ok, err := r.frontier.Next(ctx, from)
		if err != nil || !ok || depth > r.c.cfg.Depth {
			return err
		}
		if r.full() {
			r.report.Capped = true
			return nil
		}
		if err := r.level(ctx, depth); err != nil {
			return err
		}
		from = depth + 1
		if r.full() {
			from = depth // the page cap may have left some of it
		}
	}
}

// full reports whether the requests under way may bring the last pages.
func (r *run) full() bool {
	most := r.c.cfg.MaxPages
	return most > 0 && r.report.Pages+r.inFlight >= most
}

// level fetches everything of one depth, what redirects add to it included.
func (r *run) level(ctx context.Context, depth int) error {
	q := queue{run: r, depth: depth}
	for {
		for r.inFlight < r.c.cfg.Workers && !r.full() {
			e, ok, err := q.next(ctx)
			if err != nil {
				return err
			}
			if !ok {
				break
			}
			if err := r.start(ctx, e); err != nil {
				return err
			}
		}
		if r.inFlight == 0 {
			more, err := q.again(ctx)
			if err != nil || !more {
				return err
			}
			continue
		}
		batch, err := r.collect(ctx)
		if err != nil {
			return err
		}
		q.changed()
		if err := r.absorb(ctx, batch); err != nil {
			return err
		}
	}
}

// start sends an entry to the workers, unless it is in a trap.
func (r *run) start(ctx context.Context, e frontier.Entry) error {
	if u, err := r.c.parser.Parse(e.URL); err == nil && r.attempts[e.ID] == 0 {
		if reason := r.traps.charge(u, e.Chain); reason != "" {
			return r.absorb(ctx, []visited{visited{entry: e}.refused(ErrSeedURL, reason)})
		}
	}
	r.inFlight++
	r.jobs <- e
	return nil
}

// collect waits for a result, and takes what else is there.
func (r *run) collect(ctx context.Context) ([]visited, error) {
	var batch []visited
	select {
	case v := <-r.results:
		batch = append(batch, v)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	for {
		select {
		case v := <-r.results:
			batch = append(batch, v)
			continue
		default:
		}
		r.inFlight -= len(batch)
		return batch, nil
	}
}

// absorb notes results, then reports and emits what they brought.
func (r *run) absorb(ctx context.Context, batch []visited) error {
	var outcomes []frontier.Outcome
	var settled []visited
	var stop error
	for _, v := range batch {
		if v.err != nil {
			stop = errors.Join(stop, v.err)
			continue
		}
		if err := r.judge(&v); err != nil {
			stop = errors.Join(stop, err)
		}
		if v.state != frontier.Waiting {
			outcomes, settled = append(outcomes, r.outcome(v)), append(settled, v)
		}
	}
	if len(outcomes) > 0 {
		if err := r.settle(ctx, outcomes); err != nil {
			return err
		}
	}
	for i, v := range settled {
		r.count(outcomes[i])
		r.note(v)
	}
	for _, v := range settled {
		if v.page != nil {
			if err := r.emit(*v.page); err != nil {
				return err
			}
		}
	}
	return stop
}

// settle notes outcomes even where the run was told to stop: what was fetched
// must not be fetched again.
func (r *run) settle(ctx context.Context, outcomes []frontier.Outcome) error {
	return r.frontier.Settle(context.WithoutCancel(ctx), outcomes)
}

// note reports a result beyond its outcome.
func (r *run) note(v visited) {
	r.report.OffSite += v.offSite
	r.report.Nofollow += v.found.Nofollow
	r.report.Foreign += v.found.Foreign
	r.report.Broken += v.found.Broken
	if v.found.Cut != "" && len(r.report.Cut) < r.c.cfg.MaxListed {
		r.report.Cut = append(r.report.Cut, Cut{URL: v.entry.URL, Reason: v.found.Cut})
	}
	answered := v.state == frontier.Done || v.state == frontier.Failed && v.status >= http.StatusBadRequest
	if answered && r.c.cfg.Visit != nil {
		r.c.cfg.Visit(Visit{URL: v.entry.URL, Depth: v.entry.Depth, Status: v.status})
	}
}

// outcome gives what a result means for the frontier.
func (r *run) outcome(v visited) frontier.Outcome {
	o := frontier.Outcome{
		Entry: v.entry, State: v.state, Status: v.status,
		Class: string(v.class), Reason: v.reason, Links: v.links,
	}
	switch {
	case v.state != frontier.Done:
	case v.found.NoIndex:
		o.Reason = reasonNoIndex
	case r.keeps:
		o.State, o.Page = frontier.Fetched, v.page
	}
	return o
}
