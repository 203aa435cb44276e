package holdfast

import (
	"fmt"
	"time"

	"github.com/holdfast-io/holdfast/clients/holdfast/internal/watch"
	"github.com/holdfast-io/holdfast/messages"
)

// EventKind is what an [Event] reports.
type EventKind uint8

// The kinds of events. The first seven are changes, each of which is reported once. The last two are none:
// nothing has happened when they come, and only a watch that asks for them gets any.
const (
	// EventAcquired: the lease was granted.
	EventAcquired EventKind = 1 + iota
	// EventExtended: the lease begins afresh, under the same token.
	EventExtended
	// EventReleased: the holder gave the lease back.
	EventReleased
	// EventExpired: the lease has run out.
	EventExpired
	// EventBroken: an operator took the lease away; the event has the reason.
	EventBroken
	// EventConfirmed: the lease had ended, and no longer holds the resource back, but for [Event.Resting]; the event has
	// the reason.
	EventConfirmed
	// EventUpdated: the holder replaced the metadata of the lease, which otherwise is as it was.
	EventUpdated
	// EventPresent: the lease was held when the watch began; see [Present].
	EventPresent
	// EventBookmark is about no lease. It has a position that is worth saving; see [Bookmarks].
	EventBookmark
)

var eventNames = [...]string{
	EventAcquired: "ACQUIRED", EventExtended: "EXTENDED", EventReleased: "RELEASED", EventExpired: "EXPIRED",
	EventBroken: "BROKEN", EventConfirmed: "CONFIRMED", EventUpdated: "UPDATED", EventPresent: "PRESENT",
	EventBookmark: "BOOKMARK",
}

// String returns the kind in the words of the contract: ACQUIRED.
func (k EventKind) String() string {
	if k == 0 || int(k) >= len(eventNames) {
		return fmt.Sprintf("EventKind(%d)", uint8(k))
	}
	return eventNames[k]
}

// Ends reports whether the lease has ended with the event. As far as that goes, the next in the queue may have the
// resource at once, unless [Event.HeldBack] or [Event.Resting].
func (k EventKind) Ends() bool { return k >= EventReleased && k <= EventBroken }

// Event is one thing that a [Client.Watch] yields.
type Event struct {
	Kind EventKind
	// Lease as it stood after the change; on the three kinds that end it and on [EventConfirmed], the lease that ended.
	// What remains of a lease was counted at the time of the event; of one that was there already, or whose metadata
	// were replaced, it is not known, and is 0. On a bookmark all of it is zero.
	Lease Lease
	// Time of the change by the clock of the node that made it, for people. It may go back where the
	// owner of the shard changes. Zero on what was there already and on bookmarks.
	Time time.Time
	// Reason of a break and of [EventConfirmed], and of another end that the owner did not ask for.
	Reason string
	// HeldBack: the lease was lost, and its resource is granted to no other owner before [EventConfirmed].
	HeldBack bool
	// Resting is how long the resource is granted to nobody, because the shortest hold of the lease is not over; 0: it
	// has none, or it is. [EventConfirmed] follows.
	Resting time.Duration
	// ID identifies the change in the deployment. It is the same in every report of it, and stands in the
	// header Nats-Msg-Id of a published event. Zero on what is no change.
	ID messages.EventID

	before Position
	after  watch.Cursor
}

// Position returns where to go on when this event has been dealt with, and with it all before it. It is
// zero while the present holders are yielded: those come from the beginning again.
func (e Event) Position() Position {
	if e.before.IsZero() || e.Kind == EventBookmark {
		return e.before
	}
	return watch.Advance(e.before, e.after)
}

// Held returns for how long the lease that the event ends had been held, by the clocks of the nodes, and never less
// than 0. It is 0 on the kinds that end no lease.
func (e Event) Held() time.Duration {
	if !e.Kind.Ends() || e.Time.IsZero() || e.Lease.AcquiredAt.IsZero() {
		return 0
	}
	return max(e.Time.Sub(e.Lease.AcquiredAt), 0)
}

// String returns one line for logs: "ACQUIRED "orders.42" by "worker-7", token 000000000000012". A tenant follows the
// name.
func (e Event) String() string {
	if e.Kind == EventBookmark {
		return e.Kind.String()
	}
	name := messages.QuoteResource(messages.Qualify(e.Lease.Tenant, e.Lease.Resource))
	return fmt.Sprintf("%s %s by %q, token %v", e.Kind, name, e.Lease.Owner, e.Lease.Token)
}

func newEvent(s watch.Step) Event {
	m := s.Change
	switch {
	case s.Present != nil:
		return Event{Kind: EventPresent, Lease: *newLease(s.Present)}
	case m == nil:
		return Event{Kind: EventBookmark, before: s.Before}
	}
	return Event{
		Kind:     EventKind(m.GetKind()),
		Lease:    *newLease(m.GetLease()),
		Time:     time.UnixMilli(m.GetAtMs()),
		Reason:   m.GetReason(),
		HeldBack: m.GetHeldBack(),
		Resting:  millis(m.GetRestingMs()),
		ID:       m.ID(),
		before:   s.Before,
		after:    s.After,
	}
}
