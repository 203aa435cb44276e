//go:build linux

package cluster_test

import (
	"slices"
	"testing"
	"time"

	"github.com/holdfast-io/holdfast/integration/cluster"
)

var nodes = []string{"n1", "n2", "n3"}

func mix(faults int) cluster.Mix {
	return cluster.Mix{Nodes: nodes, Length: 30 * time.Second, Faults: faults, Shortest: time.Second,
		Longest: 8 * time.Second}
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
			if !slices.Equal(p[0].Fault.Nodes, p[1].Fault.Nodes) && len(p[0].Fault.Nodes) > 0 &&
				len(p[1].Fault.Nodes) > 0 {
				continue
			}
			t.Errorf("seed %d: both at once:\n%s\n%s", seed, p[0], p[1])
		}
	}
	if meet < 100 {
		t.Errorf("of all schedules, %d faults met", meet)
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
