package lease

import (
	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/journal"
)

// Outcome is what an event led to. None of it may be seen before the journal has
// confirmed the changes of this outcome and of all earlier ones.
type Outcome struct {
	Changes []*journal.Change
	// Broken is the end of an ephemeral lease that was broken, nil if none was. It is not recorded, so it is not one of
	// Changes.
	Broken  *journal.Change
	Answers []Answer
	// Ephemeral says that the answers are about an ephemeral lease that was held when the event came, or is
	// now, and that nothing is to be recorded: they need to wait for earlier changes of this resource
	// only. What is said when that lease has ended has to be proved like anything else.
	Ephemeral bool
	// InMemory are the ephemeral leases of the resource after the event.
	InMemory []Lease
	// Surrendered are the requests that a [Surrender] has taken out of the queue, in their order: the
	// requests as they came, but for a wait that is what is left of it. Nothing was decided about
	// them, so they need not wait for the journal.
	Surrendered []Acquire
	// beginnings has, by the index of a change, since when the TTL of its lease counts, if that is not since the event.
	beginnings map[int]Instant
}

// Answer is a reply to one request.
type Answer struct {
	To    messages.ReplyTo
	Reply *messages.Reply
	// InDoubt marks a grant that may reach no client, and that an [Undeliverable] then takes back: one to a
	// request out of the queue, or in a batch.
	InDoubt bool
	// Stale marks an answer that was asked for unconfirmed.
	Stale bool
	// Waited marks an answer to a request out of the queue.
	Waited bool
	// Committed is when the journal had confirmed the answer, which is noted by its shard; 0: it need not.
	Committed Instant
}

// Began returns since when the TTL of the lease of a change counts, which is usually at, the time of the event.
func (o *Outcome) Began(change int, at Instant) Instant {
	if began, ok := o.beginnings[change]; ok {
		return began
	}
	return at
}

// began says so of the next change.
func (o *Outcome) began(at Instant) {
	if o.beginnings == nil {
		o.beginnings = make(map[int]Instant)
	}
	o.beginnings[len(o.Changes)] = at
}
