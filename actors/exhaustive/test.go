package exhaustive

import (
	"flag"
	"testing"
	"time"
)

var (
	deeper = flag.Int("deeper", 0, "how many moves deeper than usual searches go")
	within = flag.Duration("within", 0, "how long each search takes, however deep that is; 0: to its usual depth")
)

// Run searches to a depth, or with the flags -deeper and -within further. The test fails for the first thing that is
// wrong, and for each of the rare things that the search has not come across.
func Run(t *testing.T, begin func() Situation, depth int, rare ...string) {
	t.Helper()
	s := Search{Begin: begin, Depth: depth + *deeper}
	if *within > 0 {
		s.Depth = 0
		defer time.AfterFunc(*within, func() { s.stopped.Store(true) }).Stop()
	}
	began := time.Now()
	found, err := s.Run()
	t.Logf("%s; %v", found, time.Since(began).Truncate(time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	for _, what := range rare {
		if found.Reached[what] == 0 {
			t.Errorf("the search has not come across: %s", what)
		}
	}
}
