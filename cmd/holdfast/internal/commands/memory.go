package commands

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"

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

// heapRoom is how many bytes may be allocated between two garbage collections while less than that is in use. A lock
// node without many locks uses a few megabytes, and by Go's default would collect many times a second.
const heapRoom = 128 << 20

// spaceCollections lets the garbage collector run when the heap has grown by [heapRoom] or has doubled, whichever is
// later. It adapts after each collection. GOGC takes precedence.
func spaceCollections() {
	if os.Getenv("GOGC") == "" {
		adaptGCPercent(100)
	}
}

// adaptGCPercent sets what has been measured by now, unless it is close to the present percentage, and again after the
// next collection.
func adaptGCPercent(present int) {
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	if percent := gcPercent(live[0].Value.Uint64()); percent*10 < present*9 || percent*10 > present*11 {
		debug.SetGCPercent(percent) // it stops the world
		present = percent
	}
	type cycle struct{ _ *int }
	runtime.AddCleanup(&cycle{}, adaptGCPercent, present)
}

// gcPercent returns how much the heap may grow, in percent of the bytes in use after the last collection.
func gcPercent(live uint64) int {
	const most = 10_000 // before the first collection
	return int(min(max(heapRoom*100/max(live, 1), 100), most))
}
