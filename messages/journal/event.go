package journal

import (
	"time"

	"github.com/holdfast-io/holdfast/messages"
)

// Events returns the events of the commit at this position of a shard, in order. A reservation is a
// change without an event; it still counts in the index of the changes behind it.
func Events(shard uint32, position uint64, c *Commit) []*messages.Event {
	all := func(string) bool { return true }
	return AppendEvents(make([]*messages.Event, 0, len(c.GetChanges())), shard, position, c, all)
}

// AppendEvents appends the [Events] of the resources that are wanted, whose names are qualified.
func AppendEvents(events []*messages.Event, shard uint32, position uint64, c *Commit,
	wanted func(resource string) bool) []*messages.Event {
	for i, change := range c.GetChanges() {
		if change.GetKind() == messages.Event_KIND_UNSPECIFIED || !wanted(change.GetGrant().GetResource()) {
			continue
		}
		lease := change.GetGrant().Lease(change.remaining())
		lease.Tenant, _ = messages.Unqualify(change.GetGrant().GetResource())
		events = append(events, &messages.Event{
			Kind:     change.GetKind(),
			Lease:    lease,
			Shard:    shard,
			Position: position,
			Index:    uint32(i),
			AtMs:     c.GetAtMs(),
			Reason:   change.GetReason(),
			HeldBack: change.HoldsBack(), RestingMs: change.GetRestingMs(),
		})
	}
	return events
}

// HoldsBack reports whether the change is the loss of a lease that holds its resource back.
func (x *Change) HoldsBack() bool {
	lost := x.GetKind() == messages.Event_EXPIRED || x.GetKind() == messages.Event_BROKEN
	return lost && x.GetGrant().HoldsBack()
}

// remaining is the whole TTL after a grant or an extension, and 0 after the end of a lease.
func (x *Change) remaining() time.Duration {
	switch x.GetKind() {
	case messages.Event_ACQUIRED, messages.Event_EXTENDED:
		return time.Duration(x.GetGrant().GetTtlMs()) * time.Millisecond
	default:
		return 0
	}
}
