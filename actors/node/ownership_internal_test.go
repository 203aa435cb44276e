package node

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/holdfast-io/holdfast/messages"
)

// nodes draws candidates as membership gives them: by name, each name once.
func nodes(t *rapid.T, shards uint32) []*messages.Announcement {
	some := rapid.SliceOfDistinct(rapid.Uint32Range(0, shards-1), rapid.ID[uint32])
	var all []*messages.Announcement
	for i := range rapid.IntRange(1, 9).Draw(t, "nodes") {
		all = append(all, &messages.Announcement{
			Node: fmt.Sprint("n", i), Incarnation: uint64(i + 1), Shards: shards,
			Leads: some.Draw(t, "leads"),
		})
	}
	return all
}

func loads(o *ownership) map[uint64]int {
	loads := make(map[uint64]int)
	for _, c := range o.candidates {
		loads[c.GetIncarnation()] = len(o.of(c.GetIncarnation()))
	}
	return loads
}

// No node has two shards more than another, whoever leads what.
func TestLoadIsBounded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shards := rapid.Uint32Range(1, 64).Draw(t, "shards")
		candidates := nodes(t, shards)
		o := newOwnership(shards, candidates)
		least, most := int(shards)/len(candidates), (int(shards)+len(candidates)-1)/len(candidates)
		for node, n := range loads(o) {
			if n < least || n > most {
				t.Errorf("node %d has %d of %d shards, with %d nodes", node, n, shards, len(candidates))
			}
		}
	})
}

// All nodes find the same, in whatever order they heard it, and whatever the incarnations are.
func TestOwnershipIsTheSameEverywhere(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shards := rapid.Uint32Range(1, 32).Draw(t, "shards")
		candidates := nodes(t, shards)
		want := newOwnership(shards, candidates).owner
		for range 3 {
			m := make(membership)
			for _, i := range rand.Perm(len(candidates)) {
				m.hear(candidates[i], 0)
			}
			if got := newOwnership(shards, m.candidates()).owner; !slices.Equal(got, want) {
				t.Fatalf("got %v, want %v", got, want)
			}
		}
	})
}

// A node that leads a bucket gets the shard, as long as it has room.
func TestLeaderOwns(t *testing.T) {
	candidates := []*messages.Announcement{
		{Node: "a", Incarnation: 1, Leads: []uint32{3}}, {Node: "b", Incarnation: 2, Leads: []uint32{0, 1}}, {Node: "c", Incarnation: 3, Leads: []uint32{2}},
	}
	if o := newOwnership(4, candidates); !slices.Equal(o.owner, []uint64{2, 2, 3, 1}) {
		t.Errorf("got %v", o.owner)
	}
}

// A node that fails gets what nobody else is able to open, and no more.
func TestFailingStandsBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shards := rapid.Uint32Range(1, 16).Draw(t, "shards")
		candidates := nodes(t, shards)
		for _, c := range candidates {
			c.Failing = rapid.SliceOfDistinct(rapid.Uint32Range(0, shards-1), rapid.ID[uint32]).Draw(t, "failing")
		}
		o := newOwnership(shards, candidates)
		for shard, id := range o.owner {
			if id == 0 {
				t.Fatalf("nobody should own shard %d", shard)
			}
			owner := candidates[id-1]
			if slices.Contains(owner.GetFailing(), uint32(shard)) && o.able(uint32(shard), id) {
				t.Errorf("shard %d is at %s, which fails", shard, owner.GetNode())
			}
		}
	})
}

// When a node comes or goes, little else moves than what it gets, or had. Scores are fixed, so the figures
// are too: over many names, a shard that moves needlessly is the exception.
func TestFewMoves(t *testing.T) {
	const shards, trials = 16, 200
	for size := 1; size <= 6; size++ {
		needed, moved := 0, 0
		for trial := range trials {
			var all []*messages.Announcement
			for i := range size + 1 {
				all = append(all, &messages.Announcement{Node: fmt.Sprintf("t%d-n%d", trial, i), Incarnation: uint64(i + 1)})
			}
			with, without := newOwnership(shards, all), newOwnership(shards, all[:size])
			needed += len(with.of(uint64(size + 1)))
			for shard := range shards {
				if with.owner[shard] != without.owner[shard] {
					moved++
				}
			}
		}
		t.Logf("%d and %d nodes: %.2f of %d shards move, %.2f of them must", size, size+1, float64(moved)/trials, shards, float64(needed)/trials)
		if moved > 2*needed {
			t.Errorf("%d and %d nodes: %d shards move, of which %d must", size, size+1, moved, needed)
		}
	}
}
