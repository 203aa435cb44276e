package peer_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/peer"
)

func announcement(change func(*peer.Announcement)) *peer.Announcement {
	a := &peer.Announcement{
		Node: "n1", Incarnation: 7, Shards: 4,
		Owned:   []*peer.Ownership{{Shard: 3, Epoch: 9}, {Shard: 0, Epoch: 2}},
		Opening: []uint32{1}, Assigned: []uint32{0, 1, 2, 3},
	}
	change(a)
	return a
}

func TestAnnouncement(t *testing.T) {
	a := announcement(func(*peer.Announcement) {})
	if err := a.Check(); err != nil {
		t.Error(err)
	}
	if epoch, ok := a.Owns(3); !ok || epoch != 9 {
		t.Errorf("Owns(3) = %d, %v", epoch, ok)
	}
	if _, ok := a.Owns(1); ok {
		t.Error("it owns what it is only opening")
	}
}

func TestIllegalAnnouncement(t *testing.T) {
	for want, change := range map[string]func(*peer.Announcement){
		`node: 1 to 253 bytes, got 0 bytes`: func(
			a *peer.Announcement) {
			a.Node = ""
		},
		`node: 1 to 253 bytes, got 254 bytes`: func(
			a *peer.Announcement) {
			a.Node = strings.Repeat("n", 254)
		},
		`announcement: with an incarnation and a number of shards, got "n1"`: func(
			a *peer.Announcement) {
			a.Incarnation = 0
		},
		`owned: shards below 4, each once, got [4]`: func(a *peer.Announcement) {
			a.Owned = []*peer.Ownership{{Shard: 4}}
		},
		`opening: shards below 4, each once, got [2 2]`: func(
			a *peer.Announcement) {
			a.Opening = []uint32{2, 2}
		},
		`assigned: shards below 4, each once, got 5 of them`: func(
			a *peer.Announcement) {
			a.Assigned = []uint32{0, 1, 2, 3, 3}
		},
		`failing: shards below 4, each once, got [9]`: func(a *peer.Announcement) { a.Failing = []uint32{9} },
		`leads: shards below 4, each once, got [4294967295]`: func(
			a *peer.Announcement) {
			a.Leads = []uint32{1<<32 - 1}
		},
		`stalled: shards below 4, each once, got [4294967295]`: func(
			a *peer.Announcement) {
			a.Stalled = []uint32{1<<32 - 1}
		},
	} {
		err := announcement(change).Check()
		if !errors.Is(err, messages.ErrInvalid) || err.Error() != want {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
}
