//go:build linux

package cluster_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-io/holdfast/integration/cluster"
)

var nodes = []string{"n1", "n2", "n3"}

func mix(faults int) cluster.Mix {
	return cluster.Mix{Nodes: nodes, Length: 30 * time.Second, Faults: faults, Shortest: time.Second, Longest: 8 * time.Second}
}

func TestRandom(t *testing.T) {
	t.Parallel()
	var all []cluster.Kind
	for seed := range uint64(300) {
		m := mix(3)
		s := cluster.Random(seed, m)
		if again := cluster.Random(seed, m); again.String() != s.String() {
			t.Fatalf("seed %d:\n%s\nand again:\n%s", seed, s, again)
		}
		if len(s) == 0 || len(s) > m.Faults {
			t.Fatalf("seed %d: %d faults", seed, len(s))
		}
		for _, step := range s {
			all = append(all, step.Fault.Kind)
			if step.For < m.Shortest || step.For > m.Longest || step.At < 0 || step.At+step.For > m.Length {
				t.Errorf("seed %d: %s", seed, step)
			}
			for _, n := range step.Fault.Nodes {
				if !slices.Contains(nodes, n) {
					t.Errorf("seed %d: %s", seed, step)
				}
			}
		}
	}
	slices.Sort(all)
	if got := slices.Compact(all); !slices.Equal(got, cluster.Kinds()) {
		t.Errorf("drawn were %q of %q", got, cluster.Kinds())
	}
	if a, b := cluster.Random(1, mix(3)), cluster.Random(2, mix(3)); a.String() == b.String() {
		t.Errorf("two seeds, one schedule:\n%s", a)
	}
}

func TestRandomApart(t *testing.T) {
	t.Parallel()
	meet := 0
	for seed := range uint64(300) {
		m := mix(10)
		m.Kinds = []cluster.Kind{cluster.KindPause, cluster.KindPowerCutAll, cluster.KindLose, cluster.KindDiskFull}
		for _, p := range overlaps(cluster.Random(seed, m)) {
			meet++
			if p[0].Fault.Kind == cluster.KindLose || p[1].Fault.Kind == cluster.KindLose {
				continue
			}
			if !slices.Equal(p[0].Fault.Nodes, p[1].Fault.Nodes) && len(p[0].Fault.Nodes) > 0 && len(p[1].Fault.Nodes) > 0 {
				continue
			}
			t.Errorf("seed %d: both at once:\n%s\n%s", seed, p[0], p[1])
		}
	}
	if meet < 100 {
		t.Errorf("of all schedules, %d faults met", meet)
	}
}

func TestRandomQuorum(t *testing.T) {
	t.Parallel()
	for seed := range uint64(300) {
		m := mix(10)
		m.Quorum = true
		s := cluster.Random(seed, m)
		for _, p := range overlaps(s) {
			if !slices.Equal(p[0].Fault.Nodes, p[1].Fault.Nodes) {
				t.Errorf("seed %d: two nodes at once:\n%s\n%s", seed, p[0], p[1])
			}
		}
		if text := s.String(); strings.Contains(text, "-all") {
			t.Errorf("seed %d: all nodes at once:\n%s", seed, text)
		}
	}
}

// overlaps returns which steps go on at once.
func overlaps(s cluster.Schedule) (pairs [][2]cluster.Step) {
	for i, a := range s {
		for _, b := range s[i+1:] {
			if b.At < a.At+a.For && a.At < b.At+b.For {
				pairs = append(pairs, [2]cluster.Step{a, b})
			}
		}
	}
	return pairs
}

func TestStrings(t *testing.T) {
	t.Parallel()
	s := append(cluster.Together(time.Second, cluster.Split("n1", "n2"), cluster.Lose("n3", 0.25)),
		cluster.Step{At: 2 * time.Second, For: time.Minute, Fault: cluster.Delay("n1", 40*time.Millisecond, 5*time.Millisecond)})
	const want = `at 0s for 1s: split n1 n2
at 0s for 1s: lose n3 25%
at 2s for 1m0s: delay n1 40ms ±5ms`
	if s.String() != want {
		t.Errorf("%s", s)
	}
	var tally cluster.Tally
	tally.Add(cluster.Proof{Fault: cluster.Kill("n1")}, cluster.Proof{Fault: cluster.Pause("n1")})
	tally.Add(cluster.Proof{Fault: cluster.Kill("n2")})
	const table = `| fault | times |
|---|---:|
| kill | 2 |
| pause | 1 |
| 2 kinds | 3 |
`
	if tally.String() != table || tally.Total() != 3 || tally.Count(cluster.KindKill) != 2 {
		t.Errorf("%s", &tally)
	}
}
