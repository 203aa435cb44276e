package node

import (
	"cmp"
	"slices"
	"time"

	"github.com/holdfast-io/holdfast/actors/lease"
	"github.com/holdfast-io/holdfast/messages/peer"
)

const (
	// announceEvery is how often a node announces itself.
	announceEvery = 500 * time.Millisecond
	// silenceLimit is after how long without an announcement a node counts as gone: four are missing.
	silenceLimit = 2 * time.Second
	// doubtLimit is after how long nothing is sent to a node any more: two are missing. What comes then
	// waits for what becomes of it, because NATS does not say that a node is gone.
	doubtLimit = 1200 * time.Millisecond
	// maxMembers bounds what those who may announce can make a node keep.
	maxMembers = 1000
)

// member is a process as it was last heard.
type member struct {
	*peer.Announcement
	heard, since lease.Instant // the latest announcement, and the first without a silence
	// established: it took part when it was heard first.
	established bool
	// wants are the shards that it should own by what it knows.
	wants map[uint32]bool
}

// doubtful reports whether the member may be gone.
func (x *member) doubtful(now lease.Instant) bool { return now.Sub(x.heard) >= doubtLimit }

func (x *member) take(a *peer.Announcement, now lease.Instant) {
	if x.Announcement == nil || !slices.Equal(x.GetWanted(), a.GetWanted()) {
		x.wants = make(map[uint32]bool, len(a.GetWanted()))
		for _, shard := range a.GetWanted() {
			x.wants[shard] = true
		}
	}
	x.Announcement, x.heard = a, now
}

func (x *member) compare(y *member) int {
	return cmp.Or(cmp.Compare(x.GetNode(), y.GetNode()), cmp.Compare(x.GetIncarnation(), y.GetIncarnation()))
}

// membership is who is alive, as far as one node hears, with that node's own clock. It decides nothing
// by itself and is not safe for concurrent use.
type membership struct {
	of map[uint64]*member
	// sorted has all members by name.
	sorted []*member
}

func newMembership() *membership { return &membership{of: make(map[uint64]*member)} }

// hear takes an announcement in. It returns the one before, nil if there was none; not ok if there is no
// room for more.
func (m *membership) hear(a *peer.Announcement, now lease.Instant) (before *peer.Announcement, ok bool) {
	x := m.of[a.GetIncarnation()]
	switch {
	case x == nil && len(m.of) == maxMembers:
		return nil, false
	case x != nil && x.GetNode() == a.GetNode():
		before = x.Announcement
		x.take(a, now)
		return before, true
	case x != nil:
		before = x.Announcement
		m.forget(a.GetIncarnation())
	}
	x = &member{since: now, established: !a.GetJoining()}
	x.take(a, now)
	at, _ := slices.BinarySearchFunc(m.sorted, x, (*member).compare)
	m.of[a.GetIncarnation()], m.sorted = x, slices.Insert(m.sorted, at, x)
	return before, true
}

// forget removes a member, if it is one.
func (m *membership) forget(incarnation uint64) {
	x := m.of[incarnation]
	if x == nil {
		return
	}
	delete(m.of, incarnation)
	m.sorted = slices.DeleteFunc(m.sorted, func(y *member) bool { return y == x })
}

// expire forgets those that have been silent, and returns them.
func (m *membership) expire(now lease.Instant) []*member {
	var gone []*member
	m.sorted = slices.DeleteFunc(m.sorted, func(x *member) bool {
		silent := now.Sub(x.heard) >= silenceLimit
		if silent {
			gone = append(gone, x)
			delete(m.of, x.GetIncarnation())
		}
		return silent
	})
	return gone
}

// next returns when the next of them is to be doubted, or forgotten, if nothing is heard until then; in an
// hour if there is nobody.
func (m *membership) next(now lease.Instant) lease.Instant {
	next := now.Add(time.Hour)
	for _, x := range m.sorted {
		for _, limit := range []time.Duration{doubtLimit, silenceLimit} {
			if at := x.heard.Add(limit); at > now && at < next {
				next = at
			}
		}
	}
	return next
}

// excuse starts everybody's silence anew: it was the listener who did not listen.
func (m *membership) excuse(now lease.Instant) {
	for _, x := range m.sorted {
		x.heard = now
	}
}

// claim is what the other members say of one shard.
type claim struct {
	// owner says that it owns the shard, the latest of them; nil if none does.
	owner *member
	epoch uint64
	// opening are those that are opening it.
	opening []*member
}

// claims returns what the others say of each shard, in the room that it is given. It reads every
// announcement once.
func (m *membership) claims(self uint64, room []claim) []claim {
	clear(room)
	for _, x := range m.sorted {
		if x.GetIncarnation() == self {
			continue
		}
		for _, o := range x.GetOwned() {
			if c := &room[o.GetShard()]; c.owner == nil || o.GetEpoch() > c.epoch {
				c.owner, c.epoch = x, o.GetEpoch()
			}
		}
		for _, shard := range x.GetOpening() {
			room[shard].opening = append(room[shard].opening, x)
		}
	}
	return room
}

// candidates are those that can own shards, in the order of their names. Of two with one name it is the
// one that stays, see [yields].
func (m *membership) candidates() []*peer.Announcement {
	all := make([]*peer.Announcement, 0, len(m.sorted))
	for _, x := range m.sorted {
		switch last := len(all) - 1; {
		case x.GetJoining(), x.GetLeaving():
		case last >= 0 && all[last].GetNode() == x.GetNode():
		default:
			all = append(all, x.Announcement)
		}
	}
	return all
}

// yields reports whether a process has to give way to another of its name: one that has just come to
// one that is there, else the one with the higher incarnation. One that leaves is in nobody's way.
func yields(self, other *peer.Announcement) bool {
	switch {
	case self.GetNode() != other.GetNode() || self.GetIncarnation() == other.GetIncarnation() || other.GetLeaving():
		return false
	case self.GetJoining() != other.GetJoining():
		return self.GetJoining()
	default:
		return self.GetIncarnation() > other.GetIncarnation()
	}
}
