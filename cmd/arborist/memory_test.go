package main

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"testing"
	"time"
)

func TestTheProgramLimitsItsMemoryUnlessItIsTold(t *testing.T) {
	own := debug.SetMemoryLimit(-1)
	defer debug.SetMemoryLimit(own)
	for _, row := range []struct {
		told string
		want int64
	}{{"1GiB", own}, {"off", own}, {"", memoryLimit}} {
		t.Setenv("GOMEMLIMIT", row.told)
		limitMemory()
		if got := debug.SetMemoryLimit(-1); got != row.want {
			t.Errorf("told %q: the limit is %d, want %d", row.told, got, row.want)
		}
	}
}

func TestGarbageIsCollectedLateAndThenSeldomUnlessItIsTold(t *testing.T) {
	const own = 150
	defer debug.SetGCPercent(debug.SetGCPercent(own))
	percent := func() int {
		p := debug.SetGCPercent(own)
		debug.SetGCPercent(p)
		return p
	}
	t.Setenv("GOGC", "150")
	raiseHeap()()
	if got := percent(); got != own {
		t.Errorf("told %d, garbage is collected at %d", own, got)
	}
	t.Setenv("GOGC", "")
	release := raiseHeap()
	if got := percent(); got != firstCollection {
		t.Errorf("garbage is first collected at %d, want %d", got, firstCollection)
	}
	for deadline := time.Now().Add(time.Minute); percent() != own && time.Now().Before(deadline); {
		runtime.GC()
		runtime.Gosched() // to what runs behind the collector
	}
	runtime.GC()
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	if metrics.Read(live); percent() != own || live[0].Value.Uint64() < heapFloor {
		t.Errorf("garbage is collected at %d over %d live bytes, want %d and at least %d", percent(), live[0].Value.Uint64(), own, heapFloor)
	}
	release()
}
