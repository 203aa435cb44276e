//go:build linux

package cluster

import (
	"math/rand/v2"
	"slices"
	"time"
)

// Mix says what a random schedule is made of.
type Mix struct {
	Nodes []string
	// Storing are those that store anything, whose disks and files can be hurt; none: all.
	Storing []string
	// Kinds are those to choose from; none: all. Those of a cluster are Cluster.Kinds.
	Kinds []Kind
	// Length is when the last fault is healed; Faults is how many there are at most: those that would get in
	// each other's way are left out.
	Length time.Duration
	Faults int
	// Shortest and Longest bound how long each lasts.
	Shortest, Longest time.Duration
}

// Random returns a schedule, the same for the same seed and mix. Two faults never hurt the process or the
// disk of the same node at once; everything else may meet.
func Random(seed uint64, m Mix) Schedule {
	dice := rand.New(rand.NewPCG(seed, 0))
	kinds := m.Kinds
	if len(kinds) == 0 {
		kinds = Kinds()
	}
	var s Schedule
	const tries = 50 // for each
	for range m.Faults * tries {
		if len(s) == m.Faults {
			break
		}
		step := m.draw(dice, kinds)
		if !slices.ContainsFunc(s, func(other Step) bool { return m.collide(step, other) }) {
			s = append(s, step)
		}
	}
	slices.SortStableFunc(s, func(a, b Step) int { return int(a.At - b.At) })
	return s
}

func (m Mix) draw(dice *rand.Rand, kinds []Kind) Step {
	f := Fault{Kind: kinds[dice.IntN(len(kinds))]}
	r, among := recipes[f.Kind], m.Nodes
	if (r.need == disks || r.files) && len(m.Storing) > 0 {
		among = m.Storing
	}
	for _, i := range dice.Perm(len(among))[:min(r.nodes, len(among))] {
		f.Nodes = append(f.Nodes, among[i])
	}
	between := func(least, most float64) float64 { return least + dice.Float64()*(most-least) }
	millis := func(least, most float64) time.Duration {
		return time.Duration(between(least, most)) * time.Millisecond
	}
	switch f.Kind {
	case KindLose:
		f.Rate = between(0.05, 0.4)
	case KindDuplicate:
		f.Rate = between(0.05, 0.5)
	case KindReset:
		f.Rate = between(0.001, 0.02)
	case KindDelay:
		f.Delay = millis(10, 150)
		f.Jitter = time.Duration(dice.Float64() * float64(f.Delay)).Truncate(time.Millisecond)
	case KindReshard:
		if f.Shards = 1 + dice.IntN(12); dice.IntN(2) == 0 {
			f.Delay = millis(100, 3000)
		}
	case KindFsyncSlow:
		f.Delay = millis(20, 300)
	case KindFlipBit, KindTruncate:
		all := StoredFiles()
		f.Files, f.Seed = all[dice.IntN(len(all))], dice.Uint64N(1000)
	}
	lasting := millis(float64(m.Shortest.Milliseconds()), float64(m.Longest.Milliseconds()))
	at := millis(0, float64(max(0, m.Length-lasting).Milliseconds()))
	return Step{At: at, For: lasting, Fault: f}
}

// apart is what has to be between two faults of one process, which takes a moment to start.
const apart = time.Second

func (m Mix) collide(a, b Step) bool {
	if recipes[a.Fault.Kind].alone || recipes[b.Fault.Kind].alone {
		return true
	}
	if a.At > b.At+b.For+apart || b.At > a.At+a.For+apart {
		return false
	}
	if a.Fault.Kind == KindReshard && b.Fault.Kind == KindReshard {
		return true
	}
	if !hurts(a.Fault) || !hurts(b.Fault) {
		return false
	}
	return len(a.Fault.Nodes) == 0 || len(b.Fault.Nodes) == 0 || a.Fault.Nodes[0] == b.Fault.Nodes[0]
}

// hurts reports whether it is one of those that a node can only stand one of.
func hurts(f Fault) bool {
	r := recipes[f.Kind]
	return r.need != networks && !r.shares
}
