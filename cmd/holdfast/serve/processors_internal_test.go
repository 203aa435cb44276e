package serve

import (
	"runtime"
	"testing"
)

func TestProcessors(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		available int
		shards    uint32
		want      int
	}{{1, 1, 2}, {1, 4, 2}, {2, 1, 3}, {2, 4, 4}, {16, 4, 20}, {4, 1000, 8}} {
		if got := processors(test.available, test.shards); got != test.want {
			t.Errorf("%d processors and %d shards: %d, want %d", test.available, test.shards, got, test.want)
		}
	}
}

// GOMAXPROCS of the environment is kept.
func TestProcessorsOfTheOperator(t *testing.T) { //nolint:paralleltest // it changes a setting of the process
	runtime.SetDefaultGOMAXPROCS()
	t.Cleanup(runtime.SetDefaultGOMAXPROCS)
	before := runtime.GOMAXPROCS(0)
	t.Setenv("GOMAXPROCS", "3")
	addProcessors(4)
	if got := runtime.GOMAXPROCS(0); got != before {
		t.Errorf("%d, want %d as before", got, before)
	}
	t.Setenv("GOMAXPROCS", "")
	for n := range 2 { // the second node of a process replaces what the first one has set
		addProcessors(1)
		if got := runtime.GOMAXPROCS(0); got != before+1 {
			t.Errorf("node %d: %d, want %d", n, got, before+1)
		}
	}
}
