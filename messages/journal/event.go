package journal

import (
	"time"

	"github.com/holdfast-io/holdfast/messages"
)

// Events returns the events of a shard's commit that stands at the position, in their order. A change
// that is no step of a lease, a reservation, is none, but counts for the index of those behind it.
func Events(shard uint32, position uint64, c *Commit) []*messages.Event {
	events := make([]*messages.Event, 0, len(c.GetChanges()))
	for i, change := range c.GetChanges() {
		if change.GetKind() == messages.Event_KIND_UNSPECIFIED {
			continue
		}
		events = append(events, &messages.Event{
			Kind:     change.GetKind(),
			Lease:    change.GetGrant().Lease(change.remaining()),
			Shard:    shard,
			Position: position,
			Index:    uint32(i),
			AtMs:     c.GetAtMs(),
			Reason:   change.GetReason(),
		})
	}
	return events
}

// remaining is all of its time for a lease that has begun afresh, and none for one that has ended.
func (x *Change) remaining() time.Duration {
	switch x.GetKind() {
	case messages.Event_ACQUIRED, messages.Event_EXTENDED:
		return time.Duration(x.GetGrant().GetTtlMs()) * time.Millisecond
	default:
		return 0
	}
}
