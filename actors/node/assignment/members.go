package assignment

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
	// silenceLimit is the silence after which a node is considered lost: four announcements are missing.
	silenceLimit = 2 * time.Second
	// suspectAfter is the silence after which nothing is sent to a node any more: two announcements are missing.
	// Requests wait from then on, because NATS does not report that a node has died.
	suspectAfter = 1200 * time.Millisecond
	// maxMembers bounds the memory that announcements can take.
	maxMembers = 1000
)

// member is a process as its latest announcement describes it.
type member struct {
	*peer.Announcement
	latest, since lease.Instant // the latest announcement, and the first one without a silence
	// established: it took part when it was first received.
	established bool
	// assigned are the shards that are assigned to it by what it has received.
	assigned map[uint32]bool
}

// isSuspected reports whether the member may be lost.
func (m *member) isSuspected(now lease.Instant) bool { return now.Sub(m.latest) >= suspectAfter }

func (m *member) update(a *peer.Announcement, now lease.Instant) {
	if m.Announcement == nil || !slices.Equal(m.GetAssigned(), a.GetAssigned()) {
		m.assigned = make(map[uint32]bool, len(a.GetAssigned()))
		for _, shard := range a.GetAssigned() {
			m.assigned[shard] = true
		}
	}
	m.Announcement, m.latest = a, now
}

func (m *member) compare(other *member) int {
	return cmp.Or(cmp.Compare(m.GetNode(), other.GetNode()), cmp.Compare(m.GetIncarnation(), other.GetIncarnation()))
}

// members are the processes that are alive as far as one node receives, by that node's own clock. It decides nothing
// and is not safe for concurrent use.
type members struct {
	of map[uint64]*member
	// sorted has all members by name.
	sorted []*member
}

func newMembers() *members { return &members{of: make(map[uint64]*member)} }

// update takes an announcement. It returns the previous one, nil if there was none; it is not ok if there is no room
// for another member.
func (m *members) update(a *peer.Announcement, now lease.Instant) (before *peer.Announcement, ok bool) {
	x := m.of[a.GetIncarnation()]
	switch {
	case x == nil && len(m.of) == maxMembers:
		return nil, false
	case x != nil && x.GetNode() == a.GetNode():
		before = x.Announcement
		x.update(a, now)
		return before, true
	case x != nil:
		before = x.Announcement
		m.remove(a.GetIncarnation())
	}
	x = &member{since: now, established: !a.GetJoining()}
	x.update(a, now)
	at, _ := slices.BinarySearchFunc(m.sorted, x, (*member).compare)
	m.of[a.GetIncarnation()], m.sorted = x, slices.Insert(m.sorted, at, x)
	return before, true
}

// remove forgets a member. It reports whether there was one.
func (m *members) remove(incarnation uint64) bool {
	x := m.of[incarnation]
	if x == nil {
		return false
	}
	delete(m.of, incarnation)
	m.sorted = slices.DeleteFunc(m.sorted, func(other *member) bool { return other == x })
	return true
}

// expire removes the members that have been silent for [silenceLimit], and returns them.
func (m *members) expire(now lease.Instant) []*member {
	var lost []*member
	m.sorted = slices.DeleteFunc(m.sorted, func(x *member) bool {
		silent := now.Sub(x.latest) >= silenceLimit
		if silent {
			lost = append(lost, x)
			delete(m.of, x.GetIncarnation())
		}
		return silent
	})
	return lost
}

// next returns when the next member becomes suspected or lost if nothing is received until then; in an hour if there is
// none.
func (m *members) next(now lease.Instant) lease.Instant {
	next := now.Add(time.Hour)
	for _, x := range m.sorted {
		for _, limit := range []time.Duration{suspectAfter, silenceLimit} {
			if at := x.latest.Add(limit); at > now && at < next {
				next = at
			}
		}
	}
	return next
}

// restartSilence restarts the silence of all members: this process did not listen.
func (m *members) restartSilence(now lease.Instant) {
	for _, x := range m.sorted {
		x.latest = now
	}
}

// claim is what the other members announce of one shard.
type claim struct {
	// owner announces that it owns the shard since epoch, the highest one announced; nil if no member does.
	owner *member
	epoch uint64
	// opening are the members that are opening the shard.
	opening []*member
}

// claims returns the claims of all members but self on each shard, in the given slice. It reads each announcement
// once.
func (m *members) claims(self uint64, all []claim) []claim {
	clear(all)
	for _, x := range m.sorted {
		if x.GetIncarnation() == self {
			continue
		}
		for _, o := range x.GetOwned() {
			if c := &all[o.GetShard()]; c.owner == nil || o.GetEpoch() > c.epoch {
				c.owner, c.epoch = x, o.GetEpoch()
			}
		}
		for _, shard := range x.GetOpening() {
			all[shard].opening = append(all[shard].opening, x)
		}
	}
	return all
}

// candidates returns the members that can own shards, or will when they participate, by name. Of two with one name it
// is the one that stays, see [yields].
func (m *members) candidates() []*peer.Announcement {
	all := make([]*peer.Announcement, 0, len(m.sorted))
	for _, x := range m.sorted {
		switch last := len(all) - 1; {
		case x.GetLeaving(): // mutant: ListenersDoNotCount
		case last < 0 || all[last].GetNode() != x.GetNode():
			all = append(all, x.Announcement)
		case yields(all[last], x.Announcement):
			all[last] = x.Announcement
		}
	}
	return all
}

// others reports whether it is so of a member but self.
func (m *members) others(self uint64, is func(*member) bool) bool {
	return slices.ContainsFunc(m.sorted, func(x *member) bool { return x.GetIncarnation() != self && is(x) })
}

// announcements returns the latest one of each member, by name.
func (m *members) announcements() []*peer.Announcement {
	all := make([]*peer.Announcement, 0, len(m.sorted))
	for _, x := range m.sorted {
		all = append(all, x.Announcement)
	}
	return all
}

// yields reports whether a process must give way to another one of its name: the one that joins, else the one with
// the higher incarnation. A process that leaves is in the way of none.
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
