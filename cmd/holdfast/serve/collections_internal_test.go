package serve

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"testing"
	"time"
)

func TestGCPercent(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		live uint64
		want int
	}{
		{0, 3200},
		{1 << 20, 3200},
		{16 << 20, 800},
		{64 << 20, 200},
		{heapRoom, 100},
		{8 * heapRoom, 100},
	} {
		if got := gcPercent(test.live); got != test.want {
			t.Errorf("%d MB in use: %d, want %d", test.live>>20, got, test.want)
		}
	}
}

// Memory is returned once a load has ended that has left enough behind, and not while it goes on.
func TestRest(t *testing.T) {
	t.Parallel()
	const live = 100 << 20
	r := rest{}
	allocated := uint64(0)
	for i, step := range []struct {
		more uint64
		live uint64
		want bool
	}{
		{more: 1 << 20, live: live},
		{more: keptBytes - 1<<20 - 1, live: live}, // a load
		{more: 1, live: live, want: true},
		{more: 1 << 20, live: live},
		{more: 1 << 30, live: live},
		{more: restBytes, live: live}, // it goes on
		{more: restBytes - 1, live: live, want: true},
		{more: 0, live: live},
		{more: 1 << 30, live: 100 * live},
		{more: 0, live: 100 * live}, // a tenth of what is in use
		{more: 1 << 30, live: 100 * live},
		{more: 0, live: 100 * live, want: true},
	} {
		allocated += step.more
		if got := r.begins(allocated, step.live); got != step.want {
			t.Errorf("step %d: %t, want %t", i, got, step.want)
		}
	}
}

// The percentage follows what is in use: it falls to Go's default with a large heap, and rises again without.
func TestGCPercentIsAdapted(t *testing.T) { //nolint:paralleltest // it reads a setting of the process
	t.Setenv("GOGC", "")
	spaceCollections()
	t.Cleanup(func() { debug.SetGCPercent(100) })
	large := make([]byte, 2*heapRoom)
	waitForGCPercent(t, "100 with a large heap", func(percent uint64) bool { return percent == 100 })
	runtime.KeepAlive(large)
	waitForGCPercent(t, "more than 100 with a small heap", func(percent uint64) bool { return percent > 100 })
}

// waitForGCPercent only reads the percentage: a write could undo that of the code under test.
func waitForGCPercent(t *testing.T, want string, reached func(uint64) bool) {
	t.Helper()
	percent := []metrics.Sample{{Name: "/gc/gogc:percent"}}
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); {
		runtime.GC()
		if metrics.Read(percent); reached(percent[0].Value.Uint64()) {
			return
		}
	}
	t.Fatalf("the percentage is %d, want %s", percent[0].Value.Uint64(), want)
}
