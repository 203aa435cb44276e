package actors

import (
	"github.com/holdfast-io/holdfast/actors/lease"
	"github.com/holdfast-io/holdfast/messages"
)

// Request is one event on its way to its resource.
type Request struct {
	// Resource is the decoded name.
	Resource string
	// Event is what the client asks for, checked against the limits.
	Event lease.Event
}

// replyTo returns where the answer goes; false for an event that is no client's request.
func (r *Request) replyTo() (messages.ReplyTo, bool) {
	switch e := r.Event.(type) {
	case lease.Acquire:
		return e.From, true
	case lease.Release:
		return e.From, true
	case lease.Extend:
		return e.From, true
	case lease.Get:
		return e.From, true
	case lease.Break:
		return e.From, true
	case lease.Confirm:
		return e.From, true
	default:
		return messages.ReplyTo{}, false
	}
}
