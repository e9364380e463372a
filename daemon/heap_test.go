package daemon

import (
	"runtime"
	"testing"
	"testing/synctest"
	"time"
)

func TestADaemonGivesMemoryBackWhenItRests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var allocated uint64
		given := 0
		k := &heapKeeper{allocated: func() uint64 { return allocated }, giveBack: func() { given++ }}
		go k.run(t.Context())
		after := func(minutes int, work uint64, want int, what string) {
			t.Helper()
			for range minutes {
				allocated += work
				time.Sleep(restCheck)
				synctest.Wait()
			}
			if given != want {
				t.Errorf("%s: memory was given back %d times, want %d", what, given, want)
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
