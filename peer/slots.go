package peer

import (
	"sync/atomic"
	"time"
)

// quickBundle is how soon a bundle comes that lets one more be fetched beside it.
const quickBundle = 2 * time.Second

// Slots say how many bundles are fetched at a time: few at first, and one more
// for each that comes quickly. What is fetched is stored in the order of the
// log, so on a slow line many at a time are many that are cut off half way. They
// are safe for concurrent use.
type slots struct {
	free  chan struct{} // taken from by who begins
	given atomic.Int64
}

// newSlots returns first of most slots.
func newSlots(first, most int) *slots {
	s := &slots{free: make(chan struct{}, most)}
	for range min(max(first, 1), most) {
		s.add()
	}
	return s
}

func (s *slots) add() {
	if s.given.Add(1) <= int64(cap(s.free)) {
		s.free <- struct{}{}
	}
}

// leave gives a slot back, after a bundle that took so long.
func (s *slots) leave(took time.Duration) {
	s.free <- struct{}{}
	if took < quickBundle {
		s.add()
	}
}
