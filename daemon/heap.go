package daemon

import (
	"context"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

const (
	// heapFloor is how many bytes the garbage collector takes a daemon's heap to
	// hold beyond what it does. A daemon keeps a few megabytes, and Go collects
	// whenever as much again was allocated, which was a sixth of the processor
	// time of a start and an eighth of that of serving. So garbage takes this
	// much more while a daemon works.
	heapFloor = 32 << 20
	// restCheck is how often it is asked whether a daemon has rested.
	restCheck = time.Minute
	// restless is how many bytes a daemon that works allocates in that time.
	restless = 4 << 20
)

// A heapKeeper has a daemon collect garbage seldom while it works, and give the
// memory back when it rests.
type heapKeeper struct {
	floor     []byte        // never written, so that the system gives no memory for it
	allocated func() uint64 // bytes since the process began
	giveBack  func()
}

func newHeapKeeper() *heapKeeper {
	return &heapKeeper{floor: make([]byte, heapFloor), allocated: heapAllocated, giveBack: debug.FreeOSMemory}
}

// run gives back what the start has left over, and then what each time of work
// has, until ctx ends.
func (k *heapKeeper) run(ctx context.Context) {
	defer runtime.KeepAlive(k.floor)
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
