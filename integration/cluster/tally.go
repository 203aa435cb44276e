//go:build linux

package cluster

import (
	"maps"
	"slices"
)

// Tally counts faults that have been proved. The zero value has none. It is not for many goroutines at once.
type Tally struct {
	counts map[Kind]int
}

// Add counts them.
func (t *Tally) Add(proofs ...Proof) {
	if t.counts == nil {
		t.counts = map[Kind]int{}
	}
	for _, p := range proofs {
		t.counts[p.Fault.Kind]++
	}
}

// Count returns how many there were of a kind.
func (t *Tally) Count(k Kind) int { return t.counts[k] }

// Total returns how many there were.
func (t *Tally) Total() int {
	total := 0
	for _, n := range t.counts {
		total += n
	}
	return total
}

// Kinds returns those of which there was at least one, by name.
func (t *Tally) Kinds() []Kind { return slices.Sorted(maps.Keys(t.counts)) }
