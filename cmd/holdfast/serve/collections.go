package serve

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync/atomic"
)

// afterCollections calls use with the bytes in use, now and after each garbage collection.
func afterCollections(use func(live uint64)) {
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	use(live[0].Value.Uint64())
	type cycle struct{ _ *int }
	runtime.AddCleanup(&cycle{}, afterCollections, use)
}

// watchMemory reports after each garbage collection whether what is in use leaves too little room for more.
func watchMemory(crowded *atomic.Bool) {
	afterCollections(func(live uint64) { crowded.Store(int64(live) > debug.SetMemoryLimit(-1)/10*7) })
}

// heapRoom is how many bytes may be allocated between two garbage collections while less than that is in use. A lock
// node without many locks uses a few megabytes, and by Go's default would collect many times a second.
const heapRoom = 128 << 20

// spaceCollections lets the garbage collector run when the heap has grown by [heapRoom] or has doubled, whichever is
// later. It adapts after each collection, unless what fits then is close to the present percentage. GOGC takes
// precedence.
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
	const maxPercent = 10_000 // before the first collection
	return int(min(max(heapRoom*100/max(live, 1), 100), maxPercent))
}
