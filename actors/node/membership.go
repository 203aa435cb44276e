package node

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/holdfast-io/holdfast/actors/lease"
	"github.com/holdfast-io/holdfast/messages"
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
	*messages.Announcement
	heard, since lease.Instant // the latest announcement, and the first without a silence
}

// doubtful reports whether the member may be gone.
func (x *member) doubtful(now lease.Instant) bool { return now.Sub(x.heard) >= doubtLimit }

// membership is who is alive, as far as one node hears, with that node's own clock. It decides nothing
// by itself and is not safe for concurrent use.
type membership map[uint64]*member

// hear takes an announcement in. It returns the one before, nil if there was none; not ok if there is no
// room for more.
func (m membership) hear(a *messages.Announcement, now lease.Instant) (before *messages.Announcement, ok bool) {
	old := m[a.GetIncarnation()]
	switch {
	case old == nil && len(m) == maxMembers:
		return nil, false
	case old == nil:
		m[a.GetIncarnation()] = &member{Announcement: a, heard: now, since: now}
		return nil, true
	}
	before = old.Announcement
	old.Announcement, old.heard = a, now
	return before, true
}

// expire forgets those that have been silent, and returns them.
func (m membership) expire(now lease.Instant) []*member {
	var gone []*member
	for id, x := range m {
		if now.Sub(x.heard) >= silenceLimit {
			gone = append(gone, x)
			delete(m, id)
		}
	}
	return gone
}

// next returns when the next of them is to be doubted, or forgotten, if nothing is heard until then; in an
// hour if there is nobody.
func (m membership) next(now lease.Instant) lease.Instant {
	next := now.Add(time.Hour)
	for _, x := range m {
		for _, limit := range []time.Duration{doubtLimit, silenceLimit} {
			if at := x.heard.Add(limit); at > now && at < next {
				next = at
			}
		}
	}
	return next
}

// excuse starts everybody's silence anew: it was the listener who did not listen.
func (m membership) excuse(now lease.Instant) {
	for _, x := range m {
		x.heard = now
	}
}

// owner returns who else says that it owns the shard, the latest of them; nil if nobody does.
func (m membership) owner(self uint64, shard uint32) (owner *member, epoch uint64) {
	for id, x := range m {
		if e, ok := x.Owns(shard); ok && id != self && (owner == nil || e > epoch) {
			owner, epoch = x, e
		}
	}
	return owner, epoch
}

// opening reports whether somebody else is opening the shard.
func (m membership) opening(self uint64, shard uint32) bool {
	for id, x := range m {
		if id != self && slices.Contains(x.GetOpening(), shard) {
			return true
		}
	}
	return false
}

// candidates are those that can own shards, in the order of their names. Of two with one name it is the
// one that stays, see [yields].
func (m membership) candidates() []*messages.Announcement {
	var all []*messages.Announcement
	for _, x := range m {
		if !x.GetJoining() && !x.GetLeaving() {
			all = append(all, x.Announcement)
		}
	}
	slices.SortFunc(all, func(a, b *messages.Announcement) int {
		return cmp.Or(cmp.Compare(a.GetNode(), b.GetNode()), cmp.Compare(a.GetIncarnation(), b.GetIncarnation()))
	})
	return slices.CompactFunc(all, func(a, b *messages.Announcement) bool { return a.GetNode() == b.GetNode() })
}

// sorted returns all members by name.
func (m membership) sorted() []*member {
	return slices.SortedFunc(maps.Values(m), func(a, b *member) int {
		return cmp.Or(cmp.Compare(a.GetNode(), b.GetNode()), cmp.Compare(a.GetIncarnation(), b.GetIncarnation()))
	})
}

// yields reports whether a process has to give way to another of its name: one that has just come to
// one that is there, else the one with the higher incarnation. One that leaves is in nobody's way.
func yields(self, other *messages.Announcement) bool {
	switch {
	case self.GetNode() != other.GetNode() || self.GetIncarnation() == other.GetIncarnation() || other.GetLeaving():
		return false
	case self.GetJoining() != other.GetJoining():
		return self.GetJoining()
	default:
		return self.GetIncarnation() > other.GetIncarnation()
	}
}
