package crawldb

import (
	"hash/maphash"
	"sync"
)

// recent remembers addresses that are in the frontier for certain, so that the
// menu of a site costs no look-up on each of its pages. It forgets the oldest
// half when it is full, so its memory does not grow with the crawl.
//
// With each it remembers the lowest depth: an address found closer by is no news
// only where it was found that close before.
//
// It holds 128 bits of a hash that nobody outside can foresee: two addresses
// taken for one would lose a page.
type recent struct {
	seeds [2]maphash.Seed

	mu           sync.Mutex
	older, newer map[[2]uint64]int
}

// recentHalf is the number of addresses in each half, about 3 MB.
const recentHalf = 1 << 16

func newRecent() *recent {
	return &recent{seeds: [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}, newer: map[[2]uint64]int{}}
}

func (r *recent) key(url string) [2]uint64 {
	return [2]uint64{maphash.String(r.seeds[0], url), maphash.String(r.seeds[1], url)}
}

// has reports whether an address was added at that depth or a lower one.
func (r *recent) has(url string, depth int) bool {
	key := r.key(url)
	r.mu.Lock()
	defer r.mu.Unlock()
	if at, ok := r.newer[key]; ok {
		return at <= depth
	}
	at, ok := r.older[key]
	return ok && at <= depth
}

func (r *recent) add(url string, depth int) {
	key := r.key(url)
	r.mu.Lock()
	defer r.mu.Unlock()
	if at, ok := r.newer[key]; ok && at <= depth {
		return
	}
	r.newer[key] = depth
	if len(r.newer) >= recentHalf {
		r.older, r.newer = r.newer, make(map[[2]uint64]int, recentHalf)
	}
}
