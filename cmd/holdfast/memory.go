package main

import (
	"os"
	"runtime/debug"

	"github.com/holdfast-io/holdfast/actors/node"
)

// What a node may take of memory: so much to be there, and so much for each lock that it may hold and
// each request that may wait. It is measured; see docs/decisions/0011.
const (
	memoryBase = 256 << 20
	memoryEach = 1 << 10
)

// limitMemory has the garbage collector work harder rather than let the process grow past what its
// limits on locks account for. GOMEMLIMIT, the operator's own word, goes first.
func limitMemory(c node.Capacity) {
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(memoryBase + memoryEach*(c.Held+c.Waiting))
	}
}
