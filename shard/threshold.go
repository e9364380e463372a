package shard

import "sync"

// A threshold is a score that the best hits of a search are known to reach. It
// only rises.
type threshold struct {
	mu    sync.Mutex
	score float64
}

func (t *threshold) get() float64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.score
}

func (t *threshold) raise(score float64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.score = max(t.score, score)
}
