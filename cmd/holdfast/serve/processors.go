package serve

import (
	"os"
	"runtime"
)

// addProcessors lets the Go scheduler run more threads than there are processors, because a thread that waits for the
// disk in a sync keeps its place in the scheduler for up to 10 ms. Each shard of the embedded NATS server syncs by
// itself. GOMAXPROCS takes precedence.
func addProcessors(shards uint32) {
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.SetDefaultGOMAXPROCS() // what a node before this one in the process has set
		runtime.GOMAXPROCS(processors(runtime.GOMAXPROCS(0), shards))
	}
}

// processors returns how many threads may run Go code: one more for each shard, and at most twice as many as there are
// processors, since more would compete for them.
func processors(available int, shards uint32) int { return available + min(available, int(shards)) }
