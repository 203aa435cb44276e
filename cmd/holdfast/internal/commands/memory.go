package commands

import (
	"log/slog"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync/atomic"

	"github.com/holdfast-io/holdfast/actors/node"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/cli"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/settings"
)

// The memory of a node in bytes: a base, and an amount for each held lock, each waiting request and each
// remembered free resource. They are measured; see docs/decisions/0023.
const (
	memoryBase           = 256 << 20
	memoryEachHeld       = 1700
	memoryEachWaiting    = 512
	memoryEachRemembered = 160
	// memoryEachPending is 16 times as much as a request on its way takes: they have a sixteenth of the memory.
	memoryEachPending = 64 << 10
)

// limitMemory sets a soft limit that matches the node's limits, so that the garbage collector keeps the process
// below it. One node may own all shards, so what the deployment remembers counts in full. What fits into the control group
// bounds the limit, and the limits that nobody has chosen. GOMEMLIMIT takes precedence.
func (s *serve) limitMemory(given *settings.Settings, group int64, log *slog.Logger) {
	most, need := group/5*4, s.memory() // the group pays for buffers of the kernel and pages of files, too
	if base := min(memoryBase, most/2); need > most {
		share := float64(most-base) / float64(need-memoryBase)
		for flag, number := range map[string]*cli.Number{"max-held": &s.maxHeld, "max-waiting": &s.maxWaiting, "max-remembered": &s.maxRemembered} {
			if given.Given[flag] == "" {
				number.Value = int(min(share, 1) * float64(number.Value))
			} else if share < 1 {
				log.Warn("a limit is more than fits into the control group: OVERLOADED may come before it is reached; lower it, or raise the limit of the group",
					"setting", given.Given[flag], "value", number.Value, "fits", int(share*float64(number.Value)), "group_bytes", group)
			}
		}
		s.pending, s.crowded = min(node.DefaultCapacity().Pending, most/memoryEachPending), new(atomic.Bool)
	}
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(min(need, most))
	}
}

// memory returns how many bytes the limits take.
func (s *serve) memory() int64 {
	return memoryBase + memoryEachHeld*int64(s.maxHeld.Value) + memoryEachWaiting*int64(s.maxWaiting.Value) + memoryEachRemembered*int64(s.maxRemembered.Value)
}

// afterCollections calls use with the bytes in use, now and after each garbage collection.
func afterCollections(use func(live uint64)) {
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	use(live[0].Value.Uint64())
	type cycle struct{ _ *int }
	runtime.AddCleanup(&cycle{}, afterCollections, use)
}

// watchMemory says after each garbage collection whether what is in use leaves too little room for more.
func watchMemory(crowded *atomic.Bool) {
	afterCollections(func(live uint64) { crowded.Store(int64(live) > debug.SetMemoryLimit(-1)/10*7) })
}

// heapRoom is how many bytes may be allocated between two garbage collections while less than that is in use. A lock
// node without many locks uses a few megabytes, and by Go's default would collect many times a second.
const heapRoom = 128 << 20

// spaceCollections lets the garbage collector run when the heap has grown by [heapRoom] or has doubled, whichever is
// later. It adapts after each collection, unless what fits then is close to the present percentage. GOGC takes precedence.
func spaceCollections() {
	if os.Getenv("GOGC") != "" {
		return
	}
	present := 100
	afterCollections(func(live uint64) {
		if percent := gcPercent(live); percent*10 < present*9 || percent*10 > present*11 {
			debug.SetGCPercent(percent) // it stops the world
			present = percent
		}
	})
}

// gcPercent returns how much the heap may grow, in percent of the bytes in use after the last collection.
func gcPercent(live uint64) int {
	const most = 10_000 // before the first collection
	return int(min(max(heapRoom*100/max(live, 1), 100), most))
}
