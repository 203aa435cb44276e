package assignment

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/holdfast-io/holdfast/messages/peer"
)

// nodes draws candidates in the order of [members.candidates]: by name, each name once.
func nodes(t *rapid.T, shards uint32) []*peer.Announcement {
	some := rapid.SliceOfDistinct(rapid.Uint32Range(0, shards-1), rapid.ID[uint32])
	var all []*peer.Announcement
	for i := range rapid.IntRange(1, 9).Draw(t, "nodes") {
		all = append(all, &peer.Announcement{
			Node: fmt.Sprint("n", i), Incarnation: uint64(i + 1), Shards: shards,
			Leads: some.Draw(t, "leads"),
		})
	}
	return all
}

func loads(a *assignment) map[uint64]int {
	loads := make(map[uint64]int)
	for _, c := range a.candidates {
		loads[c.GetIncarnation()] = len(a.of(c.GetIncarnation()))
	}
	return loads
}

// No node has two shards more than another, whatever leads what.
func TestLoadIsBounded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shards := rapid.Uint32Range(1, 64).Draw(t, "shards")
		candidates := nodes(t, shards)
		a := newAssignment(shards, candidates)
		least, most := int(shards)/len(candidates), (int(shards)+len(candidates)-1)/len(candidates)
		for node, n := range loads(a) {
			if n < least || n > most {
				t.Errorf("node %d has %d of %d shards, with %d nodes", node, n, shards, len(candidates))
			}
		}
	})
}

// All nodes compute the same, in whatever order they receive the announcements.
func TestAssignmentIsTheSameEverywhere(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shards := rapid.Uint32Range(1, 32).Draw(t, "shards")
		candidates := nodes(t, shards)
		want := newAssignment(shards, candidates).owner
		for range 3 {
			m := newMembers()
			for _, i := range rand.Perm(len(candidates)) {
				m.update(candidates[i], 0)
			}
			if got := newAssignment(shards, m.candidates()).owner; !slices.Equal(got, want) {
				t.Fatalf("got %v, want %v", got, want)
			}
		}
	})
}

// A node that leads a bucket gets the shard, as long as it has room.
func TestLeaderOwns(t *testing.T) {
	candidates := []*peer.Announcement{
		{Node: "a", Incarnation: 1, Leads: []uint32{3}}, {Node: "b", Incarnation: 2, Leads: []uint32{0, 1}},
		{Node: "c", Incarnation: 3, Leads: []uint32{2}},
	}
	if a := newAssignment(4, candidates); !slices.Equal(a.owner, []uint64{2, 2, 3, 1}) {
		t.Errorf("got %v", a.owner)
	}
}

// A failing node is assigned only the shards that no other node can open.
func TestFailingStandsBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shards := rapid.Uint32Range(1, 16).Draw(t, "shards")
		candidates := nodes(t, shards)
		for _, c := range candidates {
			c.Failing = rapid.SliceOfDistinct(rapid.Uint32Range(0, shards-1), rapid.ID[uint32]).Draw(t, "failing")
		}
		a := newAssignment(shards, candidates)
		for shard, id := range a.owner {
			if id == 0 {
				t.Fatalf("shard %d is not assigned", shard)
			}
			owner := candidates[id-1]
			if slices.Contains(owner.GetFailing(), uint32(shard)) && a.hasAlternative(uint32(shard), id) {
				t.Errorf("shard %d is at %s, which fails", shard, owner.GetNode())
			}
		}
	})
}

// The assignment is what its rule says, which is written here literally: all pairs in their order, as far as the
// load allows. Nodes of other versions must compute the same, or they would disagree during an upgrade. The previous
// assignment does not matter.
func TestAssignmentIsItsRule(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shards := rapid.Uint32Range(1, 24).Draw(t, "shards")
		a := newAssignment(shards, nil)
		for range rapid.IntRange(1, 4).Draw(t, "changes") {
			candidates := nodes(t, shards)
			for _, c := range candidates {
				c.Failing = rapid.SliceOfNDistinct(rapid.Uint32Range(0, shards-1), 0, 3, rapid.ID[uint32]).Draw(t,
					"failing")
			}
			a = a.with(candidates)
			if want := ruled(shards, candidates); !slices.Equal(a.owner, want) {
				t.Fatalf("got %v, want %v", a.owner, want)
			}
		}
	})
}

// ruled applies the rule to all pairs.
func ruled(shards uint32, candidates []*peer.Announcement) []uint64 {
	owner, taken := make([]uint64, shards), make([]int, len(candidates))
	least, extras := int(shards)/len(candidates), int(shards)%len(candidates)
	type pair struct {
		pairing
		leads, fails bool
	}
	var all []pair
	for node, c := range candidates {
		for shard := range shards {
			all = append(all, pair{pairing{shard, node, score(c.GetNode(), shard)},
				slices.Contains(c.GetLeads(), shard), slices.Contains(c.GetFailing(), shard)})
		}
	}
	first := func(p, q bool) int { return cmp.Compare(count(q), count(p)) }
	slices.SortFunc(all, func(p, q pair) int {
		return cmp.Or(-first(p.fails, q.fails), first(p.leads, q.leads), p.compare(q.pairing))
	})
	for _, loaded := range []bool{true, false} {
		for _, p := range all {
			if owner[p.shard] != 0 || loaded && (p.fails || taken[p.node] > least ||
				taken[p.node] == least && extras == 0) {
				continue
			}
			if taken[p.node] == least {
				extras--
			}
			taken[p.node]++
			owner[p.shard] = candidates[p.node].GetIncarnation()
		}
	}
	return owner
}

func count(is bool) int {
	if is {
		return 1
	}
	return 0
}

// When a node joins or leaves, few other shards move than those that it gets or had. Scores are fixed, so the
// figures are too: over many names, a shard that moves without need is the exception.
func TestFewMoves(t *testing.T) {
	const shards, trials = 16, 200
	for size := 1; size <= 6; size++ {
		needed, moved := 0, 0
		for trial := range trials {
			var all []*peer.Announcement
			for i := range size + 1 {
				all = append(all, &peer.Announcement{Node: fmt.Sprintf("t%d-n%d", trial, i),
					Incarnation: uint64(i + 1)})
			}
			with, without := newAssignment(shards, all), newAssignment(shards, all[:size])
			needed += len(with.of(uint64(size + 1)))
			for shard := range shards {
				if with.owner[shard] != without.owner[shard] {
					moved++
				}
			}
		}
		t.Logf("%d and %d nodes: %.2f of %d shards move, %.2f of them must", size, size+1, float64(moved)/trials,
			shards, float64(needed)/trials)
		if moved > 2*needed {
			t.Errorf("%d and %d nodes: %d shards move, of which %d must", size, size+1, moved, needed)
		}
	}
}
