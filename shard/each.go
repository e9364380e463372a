package shard

import (
	"errors"
	"runtime"
	"sync"
	"sync/atomic"

	"arborist/document"
)

// each calls fn for 0 to n-1, as many at a time as there are two of for each
// core, waits for all of them and joins their errors.
func each(n int, fn func(int) error) error {
	errs := make([]error, n)
	var next atomic.Int64
	work := func() {
		for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
			errs[i] = fn(i)
		}
	}
	var wg sync.WaitGroup
	for range min(n, 2*runtime.GOMAXPROCS(0)) - 1 {
		wg.Go(work)
	}
	work() // one of them is the caller
	wg.Wait()
	return errors.Join(errs...)
}

// A rootCache remembers documents that were hashed whole. It forgets them all
// when it is full. The file that it is for does not change.
type rootCache struct {
	mu   sync.Mutex
	seen map[docRow]struct{}
}

func newRootCache() *rootCache { return &rootCache{seen: make(map[docRow]struct{})} }

func (c *rootCache) has(d docRow) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, ok := c.seen[d]
	return ok
}

func (c *rootCache) add(d docRow) {
	const most = 10_000
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.seen) >= most {
		clear(c.seen)
	}
	c.seen[d] = struct{}{}
}

// route returns the number of the file that holds a root, in a set of total
// files: the root's leading bits.
func route(root document.Root, total int) int {
	// total is a power of two up to 256, so eight bits suffice.
	return int(root[0]) * total / MaxShards
}
