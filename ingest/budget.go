package ingest

import (
	"context"
	"sync"
)

// A budget bounds the bytes held at once. One caller at a time may acquire;
// resize and release may come from anywhere.
type budget struct {
	limit   int64
	freed   chan struct{} // 1 slot: something was released
	starved chan struct{} // 1 slot: acquire is about to wait

	mu      sync.Mutex
	used    int64 // under mu
	waiting bool  // under mu: acquire waits
}

func newBudget(limit int64) *budget {
	return &budget{limit: limit, freed: make(chan struct{}, 1), starved: make(chan struct{}, 1)}
}

// acquire waits until n bytes fit, or until nothing else is held: a document
// over the whole limit is let through alone.
func (b *budget) acquire(ctx context.Context, n int64) error {
	for {
		b.mu.Lock()
		b.waiting = b.used > 0 && b.used+n > b.limit
		if !b.waiting {
			b.used += n
			b.mu.Unlock()
			return nil
		}
		b.mu.Unlock()
		signal(b.starved)
		select {
		case <-b.freed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// resize changes what a holder holds. It never waits: what grew is paid for by
// the next acquire.
func (b *budget) resize(delta int64) {
	b.mu.Lock()
	b.used += delta
	b.mu.Unlock()
	if delta < 0 {
		signal(b.freed)
	}
}

// starves reports whether acquire waits for what one holder holds half of or
// more: then it is for that holder to let go. As long as acquire waits, every
// document in flight ends up in the batch, so the time comes.
func (b *budget) starves(held int64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.waiting && 2*held >= b.used
}

// signal leaves a note in a channel of one slot.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
