package daemon

import (
	"context"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

const (
	// restCheck is how often it is asked whether a daemon has rested.
	restCheck = time.Minute
	// restless is how many bytes a daemon that works allocates in that time.
	restless = 4 << 20
)

// A heapKeeper gives memory back when a daemon rests.
type heapKeeper struct {
	allocated func() uint64 // bytes since the process began
	giveBack  func()
}

func newHeapKeeper() *heapKeeper {
	return &heapKeeper{allocated: heapAllocated, giveBack: debug.FreeOSMemory}
}

// run gives back what the start has left over, and then what each time of work
// has, until ctx ends.
func (k *heapKeeper) run(ctx context.Context) {
	k.giveBack()
	tick := time.NewTicker(restCheck)
	defer tick.Stop()
	last, worked := k.allocated(), false
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		now := k.allocated()
		rests := now-last < restless
		if rests && worked {
			k.giveBack()
		}
		last, worked = now, !rests
	}
}

func heapAllocated() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
