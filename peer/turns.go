package peer

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"time"
)

// turns share the work of serving among guests: one request fewer is worked on
// at a time than there are processors, and of those that wait the next one is of
// whoever was served least. So a guest that asks for much, over however many
// streams, makes itself wait, and one that asks for little waits for what is
// being worked on alone. Sending a reply is no work: a guest that reads slowly
// keeps nobody.
//
// The processor that is left over belongs to the network. Where each has a goroutine
// that can run, as under a flood, Go looks for what has arrived every 10 ms only,
// and whoever asks for little would wait for that.
type turns struct {
	mu      sync.Mutex
	free    int
	level   time.Duration // what whoever was let in last had been served
	waiting []*guest      // that have somebody in line
}

// A line is the part of a guest that turns keep.
type line struct {
	served time.Duration   // time that was worked for the guest; guarded by turns.mu
	queue  []chan struct{} // requests that wait, each closed when it is let in; guarded by turns.mu
}

// firstCharge is what a request is taken to cost until it is known.
const firstCharge = time.Millisecond

func newTurns() *turns { return &turns{free: max(1, runtime.GOMAXPROCS(0)-1)} }

// take waits for g's turn. End gives it back, once.
func (t *turns) take(ctx context.Context, g *guest) (end func(), err error) {
	t.mu.Lock()
	if len(g.queue) == 0 {
		// Whoever was away has saved nothing up.
		g.served = max(g.served, t.level)
	}
	if t.free > 0 {
		t.free--
		t.begin(g)
		t.mu.Unlock()
		return t.ender(g), nil
	}
	ready := make(chan struct{})
	if len(g.queue) == 0 {
		t.waiting = append(t.waiting, g)
	}
	g.queue = append(g.queue, ready)
	t.mu.Unlock()
	select {
	case <-ready:
		return t.ender(g), nil
	case <-ctx.Done():
		t.leave(g, ready)
		return nil, context.Cause(ctx)
	}
}

func (t *turns) begin(g *guest) {
	t.level = g.served
	g.served += firstCharge
}

func (t *turns) ender(g *guest) func() {
	began := time.Now()
	return sync.OnceFunc(func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		g.served += time.Since(began) - firstCharge
		t.next()
	})
}

// next lets in the one who was served least. The caller holds mu.
func (t *turns) next() {
	if len(t.waiting) == 0 {
		t.free++
		return
	}
	at := 0
	for i, g := range t.waiting {
		if g.served < t.waiting[at].served {
			at = i
		}
	}
	g := t.waiting[at]
	ready := g.queue[0]
	if g.queue = g.queue[1:]; len(g.queue) == 0 {
		t.waiting = slices.Delete(t.waiting, at, at+1)
	}
	t.begin(g)
	close(ready)
}

// leave takes a request out of the line, or gives its turn on where it was let
// in at the same time.
func (t *turns) leave(g *guest, ready chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	i := slices.Index(g.queue, ready)
	if i < 0 {
		g.served -= firstCharge
		t.next()
		return
	}
	if g.queue = slices.Delete(g.queue, i, i+1); len(g.queue) == 0 {
		t.waiting = slices.DeleteFunc(t.waiting, func(w *guest) bool { return w == g })
	}
}
