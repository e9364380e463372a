package daemon

import (
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestADaemonGivesMemoryBackWhenItRests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var allocated atomic.Uint64
		var given atomic.Int64
		k := &heapKeeper{allocated: allocated.Load, giveBack: func() { given.Add(1) }}
		go k.run(t.Context())
		after := func(minutes int, work uint64, want int64, what string) {
			t.Helper()
			for range minutes {
				allocated.Add(work)
				time.Sleep(restCheck)
				synctest.Wait()
			}
			if got := given.Load(); got != want {
				t.Errorf("%s: memory was given back %d times, want %d", what, got, want)
			}
		}
		synctest.Wait()
		after(0, 0, 1, "started")
		after(10, restless/2, 1, "resting since the start")
		after(10, restless, 1, "working")
		after(1, restless/2, 2, "resting a minute")
		after(10, restless/2, 2, "resting on")
		after(1, 100*restless, 2, "working once more")
		after(1, 0, 3, "resting again")
	})
}

func TestWhatIsAllocatedIsCounted(t *testing.T) {
	k := newHeapKeeper()
	before := k.allocated()
	work := make([]byte, 1<<20)
	if got := k.allocated() - before; got < uint64(len(work)) {
		t.Errorf("%d bytes are seen, %d were allocated", got, len(work))
	}
	runtime.KeepAlive(work)
}
