package holdfast

import (
	"context"

	"github.com/holdfast-io/holdfast/messages"
)

// State is what is known of a resource.
type State struct {
	// Held tells whether the resource is held. If not, Lease has only the resource and the last token that
	// was issued, 0 if none is remembered.
	Held bool
	Lease
	// Waiting is how many requests are queued.
	Waiting int
}

// Get returns the holder of the resource, linearizably: it is the state at some moment between call and
// return. It is [ErrUnavailable] if no node can decide in time.
func (c *Client) Get(ctx context.Context, resource string) (*State, error) {
	return c.get(ctx, resource, &messages.GetRequest{})
}

// GetStale is [Client.Get] from the memory of the node that answers, which may have been replaced and
// not know yet. It is cheaper, and good enough to look at.
func (c *Client) GetStale(ctx context.Context, resource string) (*State, error) {
	return c.get(ctx, resource, &messages.GetRequest{Stale: true})
}

func (c *Client) get(ctx context.Context, resource string, m *messages.GetRequest) (*State, error) {
	a, err := c.calls.ask(ctx, messages.OpGet, resource, m)
	if err != nil {
		return nil, err
	}
	r, err := a.Reply()
	if err != nil {
		return nil, &Error{Op: string(messages.OpGet), Resource: resource, Err: ErrUnavailable, Cause: err}
	}
	switch r.GetStatus() {
	case messages.Status_HELD, messages.Status_FREE:
		s := &State{Held: r.GetStatus() == messages.Status_HELD, Waiting: int(r.GetWaiting())}
		s.Lease = *newLease(r.GetLease())
		s.Resource = messages.NormalizeResource(resource)
		return s, nil
	}
	return nil, refused(messages.OpGet, resource, r)
}

// Break takes a lock away from its holder, as an operator does. The token must be the holder's, so that
// no later lease is broken; the reason is shown in events and logs. Broken, the resource is free, and
// the context of the holder's lock ends within a second if its NATS user may subscribe to
// holdfast.event.<key>, else at its next renewal. What the holder does until then is not stopped: only a
// check of its token does that.
//
// It is [ErrStaleToken] with the [Error.Holder] if another lease holds the lock by now, [ErrNotHeld] if
// none does.
func (c *Client) Break(ctx context.Context, resource string, token Token, reason string) error {
	a, err := c.calls.ask(ctx, messages.OpBreak, resource, &messages.BreakRequest{Token: uint64(token), Reason: reason})
	if err != nil {
		return err
	}
	r, err := a.Reply()
	switch {
	case err != nil:
		return &Error{Op: string(messages.OpBreak), Resource: resource, Err: ErrUnknown, Cause: err}
	case r.GetStatus() == messages.Status_RELEASED:
		return nil
	}
	return refused(messages.OpBreak, resource, r)
}
