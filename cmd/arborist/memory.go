package main

import (
	"os"
	"runtime/debug"
)

// memoryLimit is how many bytes Go's part of the process takes before it collects
// garbage more often than it would: what is added keeps less than that alive. What
// SQLite takes, up to 80 MB, comes on top; so do the pages of the program. make
// bench-memory sets it too.
const memoryLimit = 352 << 20

// heapFloor is how many bytes the collector takes the heap to hold beyond what it
// does. A daemon, a crawl and most other verbs keep a few megabytes, and Go collects
// whenever as much again was allocated: a sixth of the processor time of a start, an
// eighth of that of serving, and every thirtieth page of a crawl. Main holds that
// much and never writes it, so that the system gives no memory for it.
const heapFloor = 16 << 20

// limitMemory sets memoryLimit, where the environment has no limit.
func limitMemory() {
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(memoryLimit)
	}
}
