package exhaustive

import (
	"flag"
	"runtime/debug"
	"slices"
	"testing"
	"time"
)

var (
	deeper = flag.Int("deeper", 0, "how many moves deeper than usual searches go")
	within = flag.Duration("within", 0, "how long each search takes, however deep that is; 0: to its usual depth")
)

// Sound checks that situations with the same key lead to situations with the same keys, whichever way they were found,
// to a depth: a key that leaves out something on which a decision depends hides what it leads to. It takes as long as
// there are ways, so the depth is a small one.
func Sound(t *testing.T, begin func() Situation, depth int) {
	t.Helper()
	c := soundness{t, make(map[string]successors)}
	c.visit(begin(), "", depth)
}

type soundness struct {
	*testing.T
	known map[string]successors
}

// successors are what a situation leads to, and the way on which it was found.
type successors struct {
	keys []string
	way  string
}

func (c soundness) visit(s Situation, way string, depth int) {
	key := string(s.Key(nil))
	all := make([]Situation, s.Moves())
	var next successors
	for move := range all {
		all[move] = s.Fork()
		if err := all[move].Take(move, make(map[string]int)); err != nil {
			c.Fatal(err)
		}
		next.keys = append(next.keys, string(all[move].Key(nil)))
	}
	slices.Sort(next.keys)
	next.way = way
	if before, known := c.known[key]; known {
		if !slices.Equal(before.keys, next.keys) {
			c.Fatalf("what these two ways lead to has the same key, and leads to different keys:%s\nand:%s",
				before.way, way)
		}
		return
	}
	c.known[key] = next
	for move, there := range all {
		if depth > 0 {
			c.visit(there, way+"\n"+s.Say(move), depth-1)
		}
	}
}

// Run searches to a depth, or with the flags -deeper and -within further. The test fails for the first thing that is
// wrong, and for each of the rare things that the search has not come across.
func Run(t *testing.T, begin func() Situation, depth int, rare ...string) {
	t.Helper()
	s := Search{Begin: begin, Depth: depth + *deeper}
	if *within > 0 {
		s.Depth = 0
		defer time.AfterFunc(*within, func() { s.stopped.Store(true) }).Stop()
	}
	defer debug.SetGCPercent(debug.SetGCPercent(400)) // most of what a move allocates is garbage at once
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
