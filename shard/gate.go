package shard

import (
	"sync"
	"time"
)

// A gate lets any number of callers through and can be closed for a moment: it
// is closed when all that were inside have left, and others wait. Whoever is
// inside and holds no token of the set must not enter once more.
type gate struct {
	mu     sync.Mutex
	inside int
	closed chan struct{} // nil: open; closed when the gate opens again
	empty  chan struct{} // nil: nobody waits for the last to leave
}

func (g *gate) enter() {
	for {
		g.mu.Lock()
		closed := g.closed
		if closed == nil {
			g.inside++
			g.mu.Unlock()
			return
		}
		g.mu.Unlock()
		<-closed
	}
}

func (g *gate) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.inside--; g.inside == 0 && g.empty != nil {
		close(g.empty)
		g.empty = nil
	}
}

// close closes the gate, or reports false and leaves it open where somebody is
// inside for longer than patience.
func (g *gate) close(patience time.Duration) bool {
	g.mu.Lock()
	g.closed = make(chan struct{})
	if g.inside == 0 {
		g.mu.Unlock()
		return true
	}
	empty := make(chan struct{})
	g.empty = empty
	g.mu.Unlock()
	late := time.NewTimer(patience)
	defer late.Stop()
	select {
	case <-empty:
		return true
	case <-late.C:
	}
	g.mu.Lock()
	gone := g.inside == 0
	g.empty = nil
	g.mu.Unlock()
	if !gone {
		g.open()
	}
	return gone
}

func (g *gate) open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	close(g.closed)
	g.closed = nil
}
