package serve

import (
	"context"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync/atomic"
	"time"
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

// goRoom is how many bytes Go lets a small heap have before it collects, at 100 percent; it grows with the percentage.
const goRoom = 4 << 20

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
	return int(min(max(heapRoom*100/max(live, 1), 100), heapRoom/goRoom*100))
}

const (
	// restInterval is how often a node looks whether it is at rest.
	restInterval = 3 * time.Second
	// restBytes is how much a node may allocate in that time and be at rest: some hundred requests.
	restBytes = 4 << 20
	// keptBytes is how much garbage a node may keep at rest. More than that is kept if an eighth of what is in use is.
	keptBytes = heapRoom / 8
)

// rest knows how many bytes have been allocated at two times: when it was last asked, and when memory was last returned.
type rest struct{ asked, returned uint64 }

// begins reports whether a load has ended whose garbage is to be returned, and notes that it is.
func (r *rest) begins(allocated, live uint64) bool {
	calm := allocated-r.asked < restBytes
	r.asked = allocated
	if !calm || allocated-r.returned < max(keptBytes, live/8) {
		return false
	}
	r.returned = allocated
	return true
}

// returnMemory returns to the operating system what a load leaves behind when it ends, because a node at rest would
// collect it after minutes, and keep the memory. It returns when ctx ends.
func returnMemory(ctx context.Context) {
	ticker := time.NewTicker(restInterval)
	defer ticker.Stop()
	samples := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}, {Name: "/gc/heap/live:bytes"}}
	for r := (rest{}); ; {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		metrics.Read(samples)
		if r.begins(samples[0].Value.Uint64(), samples[1].Value.Uint64()) {
			debug.FreeOSMemory()
		}
	}
}
