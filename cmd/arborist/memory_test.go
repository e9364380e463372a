package main

import (
	"runtime/debug"
	"testing"
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
