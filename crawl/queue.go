package crawl

import (
	"context"

	"arborist/crawl/internal/frontier"
)

// A queue hands out the waiting entries of one level: in order of discovery,
// then those to be tried again.
type queue struct {
	run   *run
	depth int

	ready  []frontier.Entry
	after  int64 // the last entry taken from the frontier
	empty  bool  // the frontier had no more after it
	rescan bool  // the frontier was looked at from its start once more
}

// queueSize is how many entries are taken from the frontier at once.
const queueSize = 256

func (q *queue) next(ctx context.Context) (frontier.Entry, bool, error) {
	if len(q.ready) == 0 && !q.empty {
		var err error
		q.ready, err = q.run.frontier.Waiting(ctx, q.depth, q.after, queueSize)
		if err != nil {
			return frontier.Entry{}, false, err
		}
		if len(q.ready) == 0 {
			q.empty = true
		} else {
			q.after = q.ready[len(q.ready)-1].ID
		}
	}
	if len(q.ready) == 0 {
		return frontier.Entry{}, false, nil
	}
	e := q.ready[0]
	q.ready = q.ready[1:]
	return e, true, nil
}

// changed says that the frontier may have grown.
func (q *queue) changed() { q.empty, q.rescan = false, false }

// again prepares another round of the level, once nothing is ready and nothing
// in flight: entries to be tried again, when they are due, and entries that a
// redirect moved to this level behind the queue's back. It reports false where
// the level is finished.
func (q *queue) again(ctx context.Context) (bool, error) {
	r := q.run
	switch {
	case r.full():
		return false, nil
	case len(q.ready) > 0:
		return true, nil
	case len(r.retries) > 0:
		due := r.retries[0].due
		for _, t := range r.retries {
			if t.due.After(due) {
				due = t.due
			}
		}
		if err := sleepUntil(ctx, due); err != nil {
			return false, err
		}
		for _, t := range r.retries {
			q.ready = append(q.ready, t.entry)
		}
		r.retries = nil
		return true, nil
	case !q.rescan:
		q.after, q.empty, q.rescan = 0, false, true
		return true, nil
	}
	return false, nil
}
