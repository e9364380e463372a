package main

import (
	"os"
	"runtime"
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
// eighth of that of serving, and every thirtieth page of a crawl.
const heapFloor = 16 << 20

// firstCollection is how much more than it begins with the heap holds when the
// collector runs first, in percent of 4 MiB: a start, and a verb that does little,
// ends before.
const firstCollection = 800

// limitMemory sets memoryLimit, where the environment has no limit.
func limitMemory() {
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(memoryLimit)
	}
}

// raiseHeap makes garbage be collected seldom until release, unless the environment
// says how often. It holds heapFloor bytes and never writes them, so that the system
// gives no memory for them. It asks for them once the collector has run: to ask for
// that much before would make it run.
func raiseHeap() (release func()) {
	if os.Getenv("GOGC") != "" {
		return func() {}
	}
	var floor []byte
	percent := debug.SetGCPercent(firstCollection)
	runtime.AddCleanup(new([64]byte), func(percent int) { // the first run finds it unused
		floor = make([]byte, heapFloor)
		debug.SetGCPercent(percent)
	}, percent)
	return func() { runtime.KeepAlive(&floor) }
}
