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

// gatherTime is how long results that are to be made durable wait for those of the
// other visits under way: a transaction costs much the same for one as for all.
const gatherTime = 5 * time.Millisecond

// crawl visits what the frontier holds until nothing is left.
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

	var visits sync.WaitGroup
	r.results = newInbox()
	more := make(chan func()) // a visit for who has just ended one, and has a grown stack
	r.send = func(l *lane, e frontier.Entry) {
		visit := func() {
			v := r.visit(starts, answers, l, e)
			v.lane = l
			r.results.put(v)
		}
		select {
		case more <- visit:
		default:
			visits.Go(func() {
				visit()
				for visit := range more {
					visit()
				}
			})
		}
	}
	err := r.loop(ctx)
	close(more)
	noMoreStarts()
	if !r.keeps {
		noMoreAnswers()
	}
	grace := time.AfterFunc(gracePeriod, noMoreAnswers)
	defer grace.Stop()
	visits.Wait()
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
	for _, v := range r.results.take() {
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

// loop starts visits and takes in their results, until no lane has anything to
// do or the page cap is reached.
func (r *run) loop(ctx context.Context) error {
	for {
		if err := r.fromSitemap(ctx); err != nil {
			return err
		}
		if err := r.startAll(ctx); err != nil {
			return err
		}
		wake, retrying := r.nextRetry()
		if r.inFlight == 0 && !retrying {
			return r.end(ctx)
		}
		batch, err := r.collect(ctx, wake)
		if err != nil {
			return err
		}
		if err := r.absorb(ctx, batch); err != nil {
			return err
		}
	}
}

// startAll starts what may start now, one entry of each lane in turn. What is in a
// trap is noted together: thousands may be in a row.
func (r *run) startAll(ctx context.Context) error {
	var trapped []visited
	note := func() error {
		batch := trapped
		trapped = nil
		return r.absorb(ctx, batch)
	}
	for started := true; started; {
		started = false
		free := r.free()
		// Lanes that come up meanwhile have their turn in the next round.
		for _, l := range r.order[:len(r.order):len(r.order)] {
			if r.full() {
				return note()
			}
			if !r.mayStart(l, free) {
				continue
			}
			if len(l.ready) == 0 { // the frontier is asked, for which trapped ones still wait
				if err := note(); err != nil {
					return err
				}
			}
			e, ok, err := l.next(ctx)
			if err != nil {
				return err
			}
			if !ok {
				continue
			}
			started = true
			if v, trap := r.trapped(l, e); trap {
				trapped = append(trapped, v)
				continue
			}
			free--
			r.start(l, e)
		}
	}
	return note()
}

// mayStart keeps the bounds: in polite mode one visit for each host; in fast
// mode so many in all, where a host that pushes back counts for none and has
// one, so that it takes no place from the others.
func (r *run) mayStart(l *lane, free int) bool {
	switch {
	case l.down != nil, l.idle:
		return false
	case !r.c.cfg.Fast, r.gate.pace.slowed(l.host):
		return r.busy[l.host] == 0
	}
	return free > 0
}

// free counts the visits that may start in fast mode.
func (r *run) free() int {
	free := r.c.cfg.Workers
	for host, visits := range r.busy {
		if !r.gate.pace.slowed(host) {
			free -= visits
		}
	}
	return free
}

// full reports whether the requests under way may bring the last pages.
func (r *run) full() bool {
	most := r.c.cfg.MaxPages
	return most > 0 && r.report.Pages+r.inFlight >= most
}

// trapped charges an entry that is tried for the first time to its trap budgets,
// and refuses it where one is spent.
func (r *run) trapped(l *lane, e frontier.Entry) (v visited, trap bool) {
	u, err := r.c.parser.Parse(e.URL)
	if err != nil || l.attempts[e.ID] > 0 {
		return v, false
	}
	reason := r.traps.charge(u, e.Chain, e.Depth)
	v = visited{entry: e, lane: l}
	return v.refused(ErrSeedURL, reason), reason != ""
}

// start sends an entry on its way.
func (r *run) start(l *lane, e frontier.Entry) {
	r.inFlight++
	l.inFlight++
	r.busy[l.host]++
	r.send(l, e)
}

// nextRetry gives the time at which the next lane may try its failures again.
func (r *run) nextRetry() (at time.Time, ok bool) {
	if r.full() {
		return at, false
	}
	for _, l := range r.order {
		if l.down == nil && l.inFlight == 0 && len(l.retries) > 0 && (!ok || l.due.Before(at)) {
			at, ok = l.due, true
		}
	}
	return at, ok
}

// collect waits for results, or until wake where that is a time.
func (r *run) collect(ctx context.Context, wake time.Time) ([]visited, error) {
	var alarm <-chan time.Time
	if !wake.IsZero() {
		timer := time.NewTimer(time.Until(wake))
		defer timer.Stop()
		alarm = timer.C
	}
	select {
	case <-r.results.bell:
		if r.keeps {
			r.gather(ctx)
		}
	case <-alarm:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	batch := r.results.take()
	for _, v := range batch {
		r.inFlight--
		v.lane.inFlight--
		if r.busy[v.lane.host]--; r.busy[v.lane.host] == 0 {
			delete(r.busy, v.lane.host)
		}
	}
	return batch, nil
}

// gather waits a moment for the results of all visits under way.
func (r *run) gather(ctx context.Context) {
	timer := time.NewTimer(gatherTime)
	defer timer.Stop()
	for r.results.len() < r.inFlight {
		select {
		case <-r.results.bell:
		case <-timer.C:
			return
		case <-ctx.Done():
			return
		}
	}
}

// end says how the crawl came to its end.
func (r *run) end(ctx context.Context) error {
	var down error
	for _, l := range r.order {
		if l.down != nil {
			r.report.Unfinished = append(r.report.Unfinished, l.down.Error())
			down = errors.Join(down, l.down)
		}
	}
	if down != nil || !r.full() {
		return down
	}
	for _, l := range r.order {
		if depth, ok, err := r.frontier.Next(ctx, l.origin); err != nil {
			return err
		} else if ok && depth <= r.c.cfg.Depth {
			r.report.Capped = true
		}
	}
	return nil
}
