package main

import (
	"os"
	"runtime/debug"

	"github.com/holdfast-io/holdfast/actors/node"
)

// The memory of a node in bytes: a base, and an amount for each held lock, each waiting request and each
// remembered free resource. They are measured; see docs/decisions/0023.
const (
	memoryBase           = 256 << 20
	memoryEachHeld       = 1700
	memoryEachWaiting    = 512
	memoryEachRemembered = 160
)

// limitMemory sets a soft limit that matches the node's limits, so that the garbage collector keeps the process
// below it. One node may own all shards, so what the deployment remembers counts in full. GOMEMLIMIT takes
// precedence.
func limitMemory(c node.Capacity, remembered int) {
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(memoryLimit(c, remembered))
	}
}

func memoryLimit(c node.Capacity, remembered int) int64 {
	return memoryBase + memoryEachHeld*c.Held + memoryEachWaiting*c.Waiting + memoryEachRemembered*int64(remembered)
}
