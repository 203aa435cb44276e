package node

import (
	"cmp"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"testing"

	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/holdfast-io/holdfast/actors"
	"github.com/holdfast-io/holdfast/messages/peer"
)

// nodes draws candidates as membership gives them: by name, each name once.
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
			m := newMembership()
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
	candidates := []*peer.Announcement{
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

// The ownership is what its rule says, which is written here as it is said: all pairs in their order, as far
// as the load allows. Nodes of other versions find the same, or they would disagree during an upgrade. It
// does not matter what it was before.
func TestOwnershipIsItsRule(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shards := rapid.Uint32Range(1, 24).Draw(t, "shards")
		o := newOwnership(shards, nil)
		for range rapid.IntRange(1, 4).Draw(t, "changes") {
			candidates := nodes(t, shards)
			for _, c := range candidates {
				c.Failing = rapid.SliceOfNDistinct(rapid.Uint32Range(0, shards-1), 0, 3, rapid.ID[uint32]).Draw(t, "failing")
			}
			o = o.with(candidates)
			if want := ruled(shards, candidates); !slices.Equal(o.owner, want) {
				t.Fatalf("got %v, want %v", o.owner, want)
			}
		}
	})
}

// ruled looks at all pairs.
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
			all = append(all, pair{pairing{shard, node, score(c.GetNode(), shard)}, slices.Contains(c.GetLeads(), shard), slices.Contains(c.GetFailing(), shard)})
		}
	}
	first := func(p, q bool) int { return cmp.Compare(count(q), count(p)) }
	slices.SortFunc(all, func(p, q pair) int {
		return cmp.Or(-first(p.fails, q.fails), first(p.leads, q.leads), p.compare(q.pairing))
	})
	for _, loaded := range []bool{true, false} {
		for _, p := range all {
			if owner[p.shard] != 0 || loaded && (p.fails || taken[p.node] > least || taken[p.node] == least && extras == 0) {
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

// As many shards and members as may be: an announcement that changes nothing costs as much as it is long,
// and one that does looks at each pair once.
func BenchmarkAnnouncement(b *testing.B) {
	const shards = 1024
	base := &peer.Announcement{Node: "n", Incarnation: maxMembers + 1, Shards: shards}
	for _, members := range []int{10, 100, maxMembers - 1} {
		w := crowd(b, base, shards, members)
		b.Run(fmt.Sprintf("members=%d", members), func(b *testing.B) {
			now := w.now()
			for i := range b.N {
				w.take(w.members.of[uint64(i%members+1)].Announcement)
				w.decide(b.Context(), now)
			}
		})
		b.Run(fmt.Sprintf("members=%d/leads", members), func(b *testing.B) {
			now := w.now()
			for i := range b.N {
				a := proto.CloneOf(w.members.of[uint64(i%members+1)].Announcement)
				a.Leads = []uint32{uint32(i % shards)}
				w.take(a)
				w.decide(b.Context(), now)
			}
		})
	}
}

// What an announcement costs does not depend on how many members there are times how many shards: nothing
// is computed again while no member changes.
func TestOwnershipIsKept(t *testing.T) {
	const shards, members = 64, 20
	w := crowd(t, &peer.Announcement{Node: "n", Incarnation: maxMembers + 1, Shards: shards}, shards, members)
	w.decide(t.Context(), w.now())
	wanted := w.wanted
	for id := range uint64(members) {
		w.take(proto.CloneOf(w.members.of[id+1].Announcement))
		w.decide(t.Context(), w.now())
	}
	if w.wanted != wanted {
		t.Error("who should own what was computed again for announcements that say nothing new")
	}
	a := proto.CloneOf(w.members.of[3].Announcement)
	a.Leads = []uint32{5}
	w.take(a)
	w.decide(t.Context(), w.now())
	if w.wanted == wanted || w.wanted.owner[5] != 3 {
		t.Error("a node leads a bucket, and does not get the shard")
	}
}

// crowd is a warden among others, which own all shards.
func crowd(tb testing.TB, base *peer.Announcement, shards uint32, members int) *warden {
	tb.Helper()
	var posts []*post
	for shard := range shards {
		posts = append(posts, &post{carrier: &counter{}, shard: shard})
	}
	w := newWarden(base, posts, surroundings{
		clock: actors.SystemClock(), log: slog.New(slog.DiscardHandler), door: func(uint32, bool) bool { return true },
		announce: func(*peer.Announcement) {},
	})
	w.echoed, w.began, w.taking = w.now(), w.now(), true
	for id := range uint64(members) {
		a := &peer.Announcement{Node: fmt.Sprint("m", id), Incarnation: id + 1, Shards: shards}
		for shard := uint32(id); shard < shards; shard += uint32(members) {
			a.Owned = append(a.Owned, &peer.Ownership{Shard: shard, Epoch: 1})
		}
		w.take(a)
	}
	return w
}

// When a node comes or goes, little else moves than what it gets, or had. Scores are fixed, so the figures
// are too: over many names, a shard that moves needlessly is the exception.
func TestFewMoves(t *testing.T) {
	const shards, trials = 16, 200
	for size := 1; size <= 6; size++ {
		needed, moved := 0, 0
		for trial := range trials {
			var all []*peer.Announcement
			for i := range size + 1 {
				all = append(all, &peer.Announcement{Node: fmt.Sprintf("t%d-n%d", trial, i), Incarnation: uint64(i + 1)})
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
