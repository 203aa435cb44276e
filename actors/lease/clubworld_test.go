package lease_test

import (
	"encoding/binary"
	"fmt"
	"testing"
	"time"

	"github.com/holdfast-io/holdfast/actors/exhaustive"
	"github.com/holdfast-io/holdfast/actors/lease"
	"github.com/holdfast-io/holdfast/messages"
)

// clubWorld is what may happen to a club in a search.
type clubWorld struct {
	name      string
	resources int
	acts      []clubAct
	depth     int
	names     *lease.Names
}

// clubSituation is a club as a search sees it.
type clubSituation struct {
	*club
	world *clubWorld
}

func (w *clubWorld) begin() exhaustive.Situation {
	return &clubSituation{newClub(w.resources), w}
}

// Moves implements exhaustive.Situation.
func (n *clubSituation) Moves() int { return len(n.world.acts) }

// Say implements exhaustive.Situation.
func (n *clubSituation) Say(move int) string { return n.world.acts[move].String() }

// Take implements exhaustive.Situation.
func (n *clubSituation) Take(move int, reached map[string]int) error {
	reached[n.world.acts[move].verb]++
	n.take(n.world.acts[move])
	return exhaustive.Wrong(n.faults)
}

// Fork implements exhaustive.Situation.
func (n *clubSituation) Fork() exhaustive.Situation { return &clubSituation{n.fork(), n.world} }

// Resume implements exhaustive.Situation.
func (n *clubSituation) Resume(exhaustive.Situation) bool { return false }

// Key implements exhaustive.Situation.
func (n *clubSituation) Key(key []byte) []byte {
	key, _ = lease.Key(key, n.states, n.now, n.world.names)
	for place, i := range n.recorded {
		image, last := n.states[place].Image(), i.Last()
		for _, number := range []messages.Token{messages.Token(last.How), image.Token() - i.Token(),
			image.Token() - i.Floor} {
			key = binary.AppendUvarint(key, uint64(number))
		}
	}
	for _, r := range n.due {
		key = append(key, r...)
	}
	return key
}

var clubWorlds = []*clubWorld{
	{
		name: "a session of two locks", resources: 2, depth: 5,
		acts: []clubAct{
			{verb: "acquire", resource: "r0", session: clubSessions[0], ttl: 1000},
			{verb: "acquire", resource: "r1", session: clubSessions[0], ttl: 2000},
			{verb: "acquire", resource: "r0", ttl: 1000, wait: 1500},
			{verb: "acquire", resource: "r1", session: clubSessions[1], ttl: 1000, wait: 500},
			{verb: "reenter", resource: "r0", session: clubSessions[1], ttl: 1000},
			{verb: "reenter", resource: "r0", ttl: 2000},
			{verb: "release", resource: "r0"}, {verb: "release", resource: "r1"},
			{verb: "break", resource: "r0"},
			{verb: "extend", resource: "r0", session: clubSessions[0], ttl: 500},
			{verb: "extend", resource: "r0", ttl: 1500},
			{verb: "extend", resource: "r1", session: clubSessions[1], ttl: 2000, order: 1},
			{verb: "extend", resource: "r1", ttl: 500, order: 2},
			{verb: "keep", session: clubSessions[0], ttl: 500}, {verb: "keep", session: clubSessions[0], ttl: 2000},
			{verb: "keep", session: clubSessions[1], ttl: 1000},
			{verb: "end", session: clubSessions[0]}, {verb: "orphan", session: clubSessions[0]},
			{verb: "ticks"}, {verb: "takeover"},
			{verb: "pass", passing: 500 * time.Millisecond}, {verb: "pass", passing: time.Second},
		},
	},
	{
		name: "locks in memory", resources: 2, depth: 5,
		acts: []clubAct{
			{verb: "acquire", resource: "r0", session: clubSessions[0], ttl: 1000, ephemeral: true},
			{verb: "acquire", resource: "r0", ttl: 500, ephemeral: true},
			{verb: "acquire", resource: "r0", ttl: 1000, wait: 1000},
			{verb: "acquire", resource: "r0", ttl: 500, wait: 1000, ephemeral: true},
			{verb: "acquire", resource: "r1", session: clubSessions[0], ttl: 500},
			{verb: "reenter", resource: "r0", ttl: 1000},
			{verb: "release", resource: "r0"}, {verb: "release", resource: "r1"}, {verb: "break", resource: "r0"},
			{verb: "extend", resource: "r0", ttl: 500},
			{verb: "extend", resource: "r0", session: clubSessions[0], ttl: 500},
			{verb: "keep", session: clubSessions[0], ttl: 1500},
			{verb: "end", session: clubSessions[0]}, {verb: "orphan", session: clubSessions[0]},
			{verb: "ticks"}, {verb: "takeover"}, {verb: "pass", passing: 500 * time.Millisecond},
		},
	},
}

// TestSearchSessions is [TestSearch] for sessions, and for leases in memory.
func TestSearchSessions(t *testing.T) {
	var owners []string
	for n := range 40 {
		owners = append(owners, fmt.Sprint("o", n))
	}
	for _, w := range clubWorlds {
		t.Run(w.name, func(t *testing.T) {
			w.names = lease.NewNames(clubResources[:w.resources], owners, nil, nil, clubSessions, 0)
			exhaustive.Sound(t, w.begin, 3)
			exhaustive.Run(t, w.begin, w.depth)
		})
	}
}
