package main

import (
	"runtime"
	"runtime/debug"
	"testing"
	"time"
)

func TestGCPercent(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		live uint64
		want int
	}{
		{0, 10_000},
		{1 << 20, 10_000},
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

// The percentage follows what is in use: it falls to Go's default with a large heap, and rises again without.
func TestGCPercentIsAdapted(t *testing.T) { //nolint:paralleltest // it reads a setting of the process
	t.Setenv("GOGC", "")
	spaceCollections()
	t.Cleanup(func() { debug.SetGCPercent(100) })
	large := make([]byte, 2*heapRoom)
	waitForGCPercent(t, func(percent int) bool { return percent == 100 })
	runtime.KeepAlive(large)
	waitForGCPercent(t, func(percent int) bool { return percent > 100 })
}

func waitForGCPercent(t *testing.T, reached func(int) bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); {
		runtime.GC()
		percent := debug.SetGCPercent(100)
		debug.SetGCPercent(percent)
		if reached(percent) {
			return
		}
	}
	t.Fatal("the percentage has not changed")
}
