package actors

import (
	"github.com/holdfast-io/holdfast/actors/lease"
	"github.com/holdfast-io/holdfast/messages"
)

// Witness sees what one term of a shard decides, before anything of it is confirmed, for traces. It is called on the
// goroutine of the shard: it must not block, and must not modify or keep what a decision refers to, but for the origins
// of requests.
type Witness interface {
	// Decided shows a decision. A request about a session that has to wait is shown twice: when the wait begins,
	// without an answer, and with its answer.
	Decided(d Decision)
}

// Decision is what an event has led to.
type Decision struct {
	// Resource is the qualified name of the resource; empty if the event is about a session.
	Resource string
	// From is where the answer to the event goes; zero if the event is no client's request.
	From messages.ReplyTo
	// At is when the event was looked at.
	At lease.Instant
	// Outcome has the answers and changes, which are not confirmed yet.
	Outcome lease.Outcome
}
