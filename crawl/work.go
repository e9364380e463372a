package crawl

import (
	"context"
	"errors"
	"sync"
	"time"

	"arborist/crawl/internal/frontier"
)

// gracePeriod is how long the answers on their way are waited for when a crawl
// that can be resumed is interrupted.
const gracePeriod = time.Second

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
