package main

import (
	"os"
	"runtime/debug"
)

// memoryLimit is how many bytes Go's part of the process takes before it collects
// garbage more often than it would. What is added keeps less than that alive, but
// made 560 MB of garbage and all of documents of 16 MiB. What SQLite takes, 30 to
// 60 MB, comes on top; so do the pages of the program. make bench-memory sets it too.
const memoryLimit = 400 << 20

// limitMemory sets memoryLimit, where the environment has no limit.
func limitMemory() {
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(memoryLimit)
	}
}
