package lease

import (
	"google.golang.org/protobuf/proto"

	"github.com/holdfast-io/holdfast/messages"
)

// Event is something that happens to a resource.
//
//sumtype:decl
type Event interface{ event() }

// ClientEvent is an event that a client has asked for.
type ClientEvent interface {
	Event
	// Asked returns the request, and where its answer goes.
	Asked() (proto.Message, messages.ReplyTo)
}

// Request is an event that is a client's request and nothing else.
type Request[R proto.Message] struct {
	Request R
	From    messages.ReplyTo
}

// The events. Requests have been checked against the limits.
type (
	// Acquire asks for the lease.
	Acquire struct {
		Request *messages.AcquireRequest
		From    messages.ReplyTo
		// MaxWaiting bounds the queue: the request is refused when as many wait already.
		MaxWaiting int
		// NoGrant and NoWait say which limit of the node keeps the request from being granted, or
		// from being queued; empty if none does.
		NoGrant, NoWait string
	}
	// Release gives the lease back, or takes a waiting request out of the queue.
	Release = Request[*messages.ReleaseRequest]
	// Extend lets the lease run from now again.
	Extend = Request[*messages.ExtendRequest]
	// Get asks who holds the resource.
	Get = Request[*messages.GetRequest]
	// Set replaces the metadata of the lease.
	Set = Request[*messages.SetRequest]
	// Break takes the lease away from its holder.
	Break = Request[*messages.BreakRequest]
	// Confirm says that the holder of a lost lease can do no more harm.
	Confirm = Request[*messages.ConfirmRequest]
	// Keep lets a session run from now. It is an event of its [Session], not of a resource.
	Keep struct {
		Request *messages.KeepRequest
		From    messages.ReplyTo
		// MaxWanted bounds the wanted resources in the answer.
		MaxWanted int
	}
	// EndSession ends a session. It is an event of its [Session], not of a resource.
	EndSession = Request[*messages.EndRequest]
	// Undeliverable says that the grant of this token, to a queued request, reached no client. It takes the
	// lease back, unless a later request of its owner has shown that it knows of the lease.
	Undeliverable struct{ Token messages.Token }
	// Dismiss refuses all queued requests, because the owner can no longer serve them.
	Dismiss struct{ Why string }
	// Surrender takes all requests out of the queue, so that another owner can go on with it.
	Surrender struct{}
	// Tick says that time has passed. One that comes late, early or twice does no harm.
	Tick struct{}
)

func (Acquire) event()       {}
func (Request[R]) event()    {}
func (Keep) event()          {}
func (Undeliverable) event() {}
func (Dismiss) event()       {}
func (Surrender) event()     {}
func (Tick) event()          {}

// Asked implements ClientEvent.
func (e Acquire) Asked() (proto.Message, messages.ReplyTo) { return e.Request, e.From }

// Asked implements ClientEvent.
func (e Request[R]) Asked() (proto.Message, messages.ReplyTo) { return e.Request, e.From }

// Asked implements ClientEvent.
func (e Keep) Asked() (proto.Message, messages.ReplyTo) { return e.Request, e.From }
