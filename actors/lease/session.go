package lease

import (
	"container/list"
	"slices"

	"github.com/holdfast-io/holdfast/messages"
)

// Session is a session of one shard: leases that run as long as it does. It belongs to the goroutine of its [Sessions].
type Session struct {
	Key SessionKey

	group *group
	// idle is the place among the sessions of the group without leases, nil if it has some. Since used it runs for a
	// minute there: that is the latest request, the end of the latest lease, or the end of the latest wait.
	idle *list.Element
	used Instant

	deadline Instant
	// lastRequest is when the latest request that named it was taken.
	lastRequest Instant
	// ttl is the highest TTL that was promised, in milliseconds. Each lease has it, or is about to: a new owner knows
	// the recorded TTLs only, and must not let the session end before the promise.
	ttl uint32
	// secretHash is that of the first request.
	secretHash []byte
	// leases has the recorded TTL of each lease; low counts those below ttl.
	leases map[leaseKey]uint32
	low    int
	// awaited has the resources of the leases for which other requests wait.
	awaited map[string]struct{}
	// wanted is nil unless the latest keep asks for notices.
	wanted *wanted
	// ending is the kind of the event of each lease when the session has ended, KIND_UNSPECIFIED while it runs; reason
	// is that of the event.
	ending messages.Event_Kind
	reason string
	losses uint64
}

// IsRunning reports whether the session has not ended.
func (x *Session) IsRunning() bool { return x.ending == messages.Event_KIND_UNSPECIFIED }

// Ending returns the kind of the event with which the leases of an ended session end; EXTENDED: they go on by
// themselves.
func (x *Session) Ending() messages.Event_Kind { return x.ending }

// IsSettled reports whether all leases are in line with the session: they have its TTL, and those of an ended session
// have left it.
func (x *Session) IsSettled() bool {
	if x.IsRunning() {
		return x.low == 0
	}
	return len(x.leases) == 0
}

// Deadline returns when the session ends.
func (x *Session) Deadline() Instant {
	if x.idle != nil {
		return min(x.deadline, x.used.Add(idleFor))
	}
	return x.deadline
}

// LastRequest returns when the latest request that named the session was taken: its client was connected shortly
// before.
func (x *Session) LastRequest() Instant { return x.lastRequest }

// IsAwaited reports whether another request waits for a lease of the session.
func (x *Session) IsAwaited() bool { return len(x.awaited) > 0 }

// AskNotices notes whether the latest keep asks for notices.
func (x *Session) AskNotices(asks bool) {
	switch {
	case !asks:
		x.wanted = nil
	case x.wanted == nil:
		x.wanted = newWanted()
		for lease := range x.leases {
			if _, waits := x.awaited[lease.resource]; waits {
				x.wanted.await(lease, true)
			}
		}
	}
}

// Notices returns the notices that may go out at now, at most limit, and when the next one may; [Never]: none is needed
// as far as is known. Without a keep that asks for them there are none.
func (x *Session) Notices(now Instant, limit int) (due []Notice, next Instant) {
	if x.wanted == nil {
		return nil, Never
	}
	return x.wanted.due(now, limit)
}

// Wanted returns resources of the session for which requests wait, or have begun to or were refused since it last named
// them, in the order of their names and without their tenant. It looks at no more leases than limit, and each call goes
// on behind the last one. Without a keep that asks for notices there are none.
func (x *Session) Wanted(limit int) []string {
	if x.wanted == nil {
		return nil
	}
	return x.wanted.name(limit)
}

// Opens reports whether a request with this secret may end the session.
func (x *Session) Opens(secret []byte) bool { return newCaller("", secret).opens(x.secretHash) }

// Resources returns the resources of its leases; one with several leases may be in it more than once.
func (x *Session) Resources() []string {
	all := make([]string, 0, len(x.leases))
	for lease := range x.leases {
		all = append(all, lease.resource)
	}
	slices.Sort(all)
	return all // mutant: SessionLeavesALease
}

// Kept is the answer to a keep.
func (x *Session) Kept() *messages.Reply {
	return &messages.Reply{Status: messages.Status_EXTENDED, Held: uint32(len(x.leases)), Losses: x.losses}
}

// raise makes sure that the session has this TTL at least.
func (x *Session) raise(ttlMillis uint32) {
	if ttlMillis > x.ttl {
		x.ttl, x.low = ttlMillis, len(x.leases)
	}
}

func (x *Session) add(lease leaseKey, ttlMillis uint32) {
	if x.leases == nil {
		x.leases = make(map[leaseKey]uint32)
	}
	x.remove(lease)
	x.leases[lease] = ttlMillis
	if ttlMillis < x.ttl {
		x.low++
	}
}

func (x *Session) remove(lease leaseKey) {
	if before, ok := x.leases[lease]; ok && before < x.ttl {
		x.low--
	}
	delete(x.leases, lease)
	delete(x.awaited, lease.resource)
}

// forget takes all leases of a resource out, and reports whether there were any.
func (x *Session) forget(resource string) (some bool) {
	for lease := range x.leases {
		if lease.resource == resource {
			x.remove(lease)
			x.unwant(lease)
			some = true
		}
	}
	return some
}

// unwant forgets that others want a lease that has left the session.
func (x *Session) unwant(lease leaseKey) {
	if x.wanted != nil {
		x.wanted.remove(lease)
	}
}
