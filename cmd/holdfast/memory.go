package main

import (
	"os"
	"runtime/debug"

	"github.com/holdfast-io/holdfast/actors/node"
)

// What a node may take of memory, in bytes: so much to be there, and so much for each lock that it may
// hold, each request that may wait, and each free resource that it may remember. They are measured; see
// docs/decisions/0023.
const (
	memoryBase           = 256 << 20
	memoryEachHeld       = 1700
	memoryEachWaiting    = 512
	memoryEachRemembered = 160
)

// limitMemory has the garbage collector work harder rather than let the process grow past what its
// limits account for. One node may own all shards, so what the deployment remembers counts in full.
// GOMEMLIMIT, the operator's own word, goes first.
func limitMemory(c node.Capacity, remembered int) {
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(memoryLimit(c, remembered))
	}
}

func memoryLimit(c node.Capacity, remembered int) int64 {
	return memoryBase + memoryEachHeld*c.Held + memoryEachWaiting*c.Waiting + memoryEachRemembered*int64(remembered)
}
