package crawl

import (
	"context"
	"sync/atomic"
	"time"

	"arborist/crawl/internal/frontier"
)

// A lane is what a crawl has to do at one origin. It goes through the levels
// of that origin: the next one begins when nothing of this one is waiting, in
// flight or to be tried again. Lanes share nothing but the crawl's page cap
// and the requests of one host, so that none waits for another.
type lane struct {
	run    *run
	origin string
	host   string // whose pace holds; origins may share it

	depth   int
	ready   []frontier.Entry
	after   int64 // the last entry taken from the frontier
	drained bool  // the frontier had no more of this level after it
	idle    bool  // nothing waits at this origin, at any level that counts

	inFlight int
	retries  []frontier.Entry // once all of the level was tried
	due      time.Time        // not before
	attempts map[int64]int    // failed requests by entry

	silence  int         // requests in a row without an answer
	answered atomic.Bool // in this run
	down     error       // why the origin is left alone: a HostDownError
}

// queueSize is how many entries are taken from the frontier at once.
const queueSize = 256

// lane gives the lane of an address, new where there is none.
func (r *run) lane(url string) *lane {
	origin := frontier.Origin(url)
	if l := r.lanes[origin]; l != nil {
		return l
	}
	l := &lane{run: r, origin: origin, host: origin, attempts: map[int64]int{}}
	if u, err := r.c.parser.Parse(url); err == nil {
		l.host = u.Host()
	}
	r.lanes[origin] = l
	r.order = append(r.order, l)
	return l
}

// next hands out the lane's next entry: in order of discovery, then those to be
// tried again. It reports false where there is none just now.
func (l *lane) next(ctx context.Context) (frontier.Entry, bool, error) {
	for l.down == nil && !l.idle {
		if len(l.ready) > 0 {
			e := l.ready[0]
			l.ready = l.ready[1:]
			return e, true, nil
		}
		if err := l.refill(ctx); err != nil {
			return frontier.Entry{}, false, err
		}
		if len(l.ready) == 0 && l.drained && (l.inFlight > 0 || len(l.retries) > 0) {
			break
		}
	}
	return frontier.Entry{}, false, nil
}

// refill takes entries from the frontier, then those to be tried again, then
// goes to the next level. It may have to wait for what is in flight or not due.
func (l *lane) refill(ctx context.Context) (err error) {
	switch {
	case !l.drained:
		l.ready, err = l.run.frontier.Waiting(ctx, l.origin, l.depth, l.after, queueSize)
		if n := len(l.ready); n > 0 {
			l.after = l.ready[n-1].ID
		} else {
			l.drained = true
		}
	case l.inFlight > 0:
	case len(l.retries) > 0:
		if !time.Now().Before(l.due) {
			l.ready, l.retries, l.due = l.retries, nil, time.Time{}
		}
	default:
		// From the first level on: a redirect may have moved an entry to one
		// that was finished.
		depth, ok, err := l.run.frontier.Next(ctx, l.origin)
		if err != nil {
			return err
		}
		l.idle = !ok || depth > l.run.c.cfg.Depth
		l.depth, l.after, l.drained = depth, 0, l.idle
	}
	return err
}

// grew says that a link to this origin was noted.
func (l *lane) grew(depth int) {
	l.idle = false
	if depth == l.depth {
		l.drained = false
	}
}

// retry plans another request for an entry.
func (l *lane) retry(e frontier.Entry, wait time.Duration) {
	l.retries = append(l.retries, e)
	if due := time.Now().Add(wait); due.After(l.due) {
		l.due = due
	}
}
