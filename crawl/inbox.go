package crawl

import "sync"

// An inbox takes results from any number of visits. No visit ever waits for the
// run to look at its result.
type inbox struct {
	mu   sync.Mutex
	list []visited
	bell chan struct{} // holds one ring
}

func newInbox() *inbox { return &inbox{bell: make(chan struct{}, 1)} }

func (b *inbox) put(v visited) {
	b.mu.Lock()
	b.list = append(b.list, v)
	b.mu.Unlock()
	select {
	case b.bell <- struct{}{}:
	default:
	}
}

// take gives what has come in, in the order in which it came.
func (b *inbox) take() []visited {
	b.mu.Lock()
	defer b.mu.Unlock()
	list := b.list
	b.list = nil
	return list
}

// len counts what has come in.
func (b *inbox) len() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.list)
}
