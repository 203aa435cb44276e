package actors

import (
	"github.com/holdfast-io/holdfast/actors/lease"
	"github.com/holdfast-io/holdfast/messages"
)

// Request is one event on its way to its resource.
type Request struct {
	// Resource is the decoded name; of a [lease.Keep] and a [lease.EndSession] the session's id.
	Resource string
	// Event is what the client asks for, checked against the limits.
	Event lease.Event
	// Share is that of the client's tenant, in which the request counts as long as it is on its way; nil: it has no
	// tenant.
	Share *Share
	// counted: the request counts as on its way. Others are the shard's own.
	counted bool
}

// endsSession reports whether the request is for the end of a session, which takes several commits: it may have had an
// effect before it is answered.
func endsSession(r *Request) bool {
	if r == nil {
		return false
	}
	_, ok := r.Event.(lease.EndSession)
	return ok
}

// replyTo returns where the answer goes; false for an event that is no client's request.
func (r *Request) replyTo() (messages.ReplyTo, bool) {
	e, ok := r.Event.(lease.ClientEvent)
	if !ok {
		return messages.ReplyTo{}, false
	}
	_, to := e.Asked()
	return to, true
}
