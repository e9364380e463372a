package peer

import (
	"context"
	"sync"
)

// fetchMemory is how many bytes of documents the bundle that is being stored
// may hold between the network and the store, and how many all that follow it
// may hold together. A larger document than that is held alone. The frames that
// texts came in, about half as much again, are not counted.
const fetchMemory = 32 << 20

// A budget bounds the memory of bundles that are fetched side by side but
// stored in order. A bundle reserves all that it needs before it asks for
// anything; one that needs more than there is holds document by document, and
// asks for each by itself. So no node is left waiting in the middle of a reply
// while others are stored, which it would break off. A tree of files that has no
// documents by themselves is, because it gives a pack.
type budget struct {
	mu    sync.Mutex
	moved *sync.Cond
	head  uint64           // index of the bundle that is being stored
	used  map[uint64]int64 // by bundle
	total int64
	err   error // set when the context has ended
}

func newBudget(ctx context.Context, head uint64) *budget {
	b := &budget{head: head, used: make(map[uint64]int64)}
	b.moved = sync.NewCond(&b.mu)
	context.AfterFunc(ctx, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.err = context.Cause(ctx)
		b.moved.Broadcast()
	})
	return b
}

// reserve waits until n bytes are there for a whole bundle, which then holds
// them, or until it is the head and needs more than there is.
func (b *budget) reserve(bundle uint64, n int64) (reserved bool, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for b.err == nil && bundle != b.head && b.total-b.used[b.head]+n > fetchMemory {
		b.moved.Wait()
	}
	if b.err != nil || bundle == b.head && n > fetchMemory {
		return false, b.err
	}
	b.add(bundle, n)
	return true, nil
}

// hold waits for n bytes for one document of the head.
func (b *budget) hold(bundle uint64, n int64) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	for b.err == nil && b.used[bundle] > 0 && b.used[bundle]+n > fetchMemory {
		b.moved.Wait()
	}
	if b.err != nil {
		return b.err
	}
	b.add(bundle, n)
	return nil
}

// release gives back n bytes of a bundle.
func (b *budget) release(bundle uint64, n int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.add(bundle, -n)
	b.moved.Broadcast()
}

// advance makes the next bundle the head.
func (b *budget) advance() {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.used, b.head)
	b.head++
	b.moved.Broadcast()
}

func (b *budget) add(bundle uint64, n int64) {
	b.used[bundle] += n
	b.total += n
}
