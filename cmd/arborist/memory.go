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

// limitMemory sets memoryLimit, where the environment has no limit.
func limitMemory() {
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(memoryLimit)
	}
}
