package lease

import "github.com/holdfast-io/holdfast/messages"

// Event is something that happens to a resource.
//
//sumtype:decl
type Event interface{ event() }

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
	Release struct {
		Request *messages.ReleaseRequest
		From    messages.ReplyTo
	}
	// Extend lets the lease run from now again.
	Extend struct {
		Request *messages.ExtendRequest
		From    messages.ReplyTo
	}
	// Get asks who holds the resource.
	Get struct {
		Request *messages.GetRequest
		From    messages.ReplyTo
	}
	// Set replaces the metadata of the lease.
	Set struct {
		Request *messages.SetRequest
		From    messages.ReplyTo
	}
	// Break takes the lease away from its holder.
	Break struct {
		Request *messages.BreakRequest
		From    messages.ReplyTo
	}
	// Confirm says that the holder of a lost lease can do no more harm.
	Confirm struct {
		Request *messages.ConfirmRequest
		From    messages.ReplyTo
	}
	// Keep lets a session run from now. It is an event of its [Session], not of a resource.
	Keep struct {
		Request *messages.KeepRequest
		From    messages.ReplyTo
	}
	// EndSession ends a session. It is an event of its [Session], not of a resource.
	EndSession struct {
		Request *messages.EndRequest
		From    messages.ReplyTo
	}
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
func (Release) event()       {}
func (Extend) event()        {}
func (Get) event()           {}
func (Set) event()           {}
func (Break) event()         {}
func (Confirm) event()       {}
func (Keep) event()          {}
func (EndSession) event()    {}
func (Undeliverable) event() {}
func (Dismiss) event()       {}
func (Surrender) event()     {}
func (Tick) event()          {}
