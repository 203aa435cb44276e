package stand

import (
	"flag"
	"math/rand/v2"
	"testing"
)

var seed = flag.Uint64("stand.seed", 0, "seed of what tests draw; 0: another one for each test")

// Dice returns generators of one seed, one for each goroutine that is to use it alone. The seed is logged if the test
// fails; -stand.seed repeats it. What the machine interleaves is another matter.
func Dice(tb testing.TB, goroutines int) []*rand.Rand {
	tb.Helper()
	drawn := *seed
	if drawn == 0 {
		drawn = rand.Uint64()
	}
	tb.Cleanup(func() {
		if tb.Failed() {
			tb.Logf("-stand.seed %d", drawn)
		}
	})
	all := make([]*rand.Rand, goroutines)
	for i := range all {
		all[i] = rand.New(rand.NewPCG(drawn, uint64(i)))
	}
	return all
}
