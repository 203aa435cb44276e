package assignment

import (
	"fmt"
	"log/slog"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/holdfast-io/holdfast/actors"
	"github.com/holdfast-io/holdfast/actors/node/routing"
	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/peer"
)

// The most shards and members that may be: an announcement that changes nothing costs as much as it is long, one that
// changes something reads each pair once.
func BenchmarkAnnouncement(b *testing.B) {
	const shards = 1024
	for _, members := range []int{10, 100, maxMembers - 1} {
		c := crowd(shards, members)
		b.Run(fmt.Sprintf("members=%d", members), func(b *testing.B) {
			now := c.now()
			for i := range b.N {
				c.receive(c.view.members.of[uint64(i%members+1)].Announcement)
				c.reconcile(b.Context(), now)
			}
		})
		b.Run(fmt.Sprintf("members=%d/leads", members), func(b *testing.B) {
			now := c.now()
			for i := range b.N {
				a := proto.CloneOf(c.view.members.of[uint64(i%members+1)].Announcement)
				a.Leads = []uint32{uint32(i % shards)}
				c.receive(a)
				c.reconcile(b.Context(), now)
			}
		})
	}
}

// The cost of an announcement does not grow with members times shards: the assignment is not computed again while no
// member changes.
func TestAssignmentIsKept(t *testing.T) {
	const shards, members = 64, 20
	c := crowd(shards, members)
	c.reconcile(t.Context(), c.now())
	before := c.assigned
	for id := range uint64(members) {
		c.receive(proto.CloneOf(c.view.members.of[id+1].Announcement))
		c.reconcile(t.Context(), c.now())
	}
	if c.assigned != before {
		t.Error("the assignment was computed again for announcements that say nothing new")
	}
	a := proto.CloneOf(c.view.members.of[3].Announcement)
	a.Leads = []uint32{5}
	c.receive(a)
	c.reconcile(t.Context(), c.now())
	if c.assigned == before || c.assigned.owner[5] != 3 {
		t.Error("a node leads a bucket, and does not get the shard")
	}
}

// crowd returns a controller that has received a number of other nodes, which own all shards.
func crowd(shards uint32, members int) *Controller {
	clock := actors.SystemClock()
	var routers routing.Table
	for shard := range shards {
		routers = append(routers, routing.NewRouter(messages.Shard{Number: shard}, room, clock, &process{}))
	}
	c := New(Config{
		Node:       &peer.Announcement{Node: "n", Incarnation: maxMembers + 1, Shards: shards},
		Generation: Generation{Routers: routers, Endpoint: func(uint32, bool) bool { return true }},
		Clock:      clock, Log: slog.New(slog.DiscardHandler), Announce: func(*peer.Announcement) {},
	})
	c.view.begin(c.now())
	c.participating = true
	for id := range uint64(members) {
		a := &peer.Announcement{Node: fmt.Sprint("m", id), Incarnation: id + 1, Shards: shards}
		for shard := uint32(id); shard < shards; shard += uint32(members) {
			a.Owned = append(a.Owned, &peer.Ownership{Shard: shard, Epoch: 1})
		}
		c.receive(a)
	}
	return c
}
