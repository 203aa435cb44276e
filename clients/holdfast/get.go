package holdfast

import (
	"context"

	"github.com/holdfast-io/holdfast/messages"
)

// State is what is known of a resource.
type State struct {
	// Held reports whether the resource is held. If not, Lease has only the resource and the last token that
	// was issued, 0 if none is remembered; it has the resource only if the resource is held back.
	Held bool
	Lease
	// Lost is a lease that was lost and holds the resource back; nil: none does. The resource may be held, too, by
	// others that shared it.
	Lost *Loss
	// Waiting is how many requests are queued.
	Waiting int
	// Holders are the leases that are held, the oldest first: at most the first 100. Lease above is the first of them.
	Holders []Lease
	// Permits is how many permits are held, by all holders; 1 if the holder is exclusive.
	Permits int
	// Waiters are the queued requests in their order, at most the first 100, if they were asked for: see [WithWaiters].
	Waiters []Waiter
}

// GetOption is what an answer to [Client.Get] is to have beside the holders.
type GetOption func(*messages.GetRequest)

// WithWaiters asks for who waits.
func WithWaiters() GetOption { return func(r *messages.GetRequest) { r.Waiters = true } }

// Get returns the holders of the resource, linearizably: it is the state at some moment between call and
// return. It is [ErrUnavailable] if no node can decide in time.
func (c *Client) Get(ctx context.Context, resource string, opts ...GetOption) (*State, error) {
	return c.get(ctx, resource, &messages.GetRequest{}, opts)
}

// GetStale is [Client.Get] from the memory of the node that answers, which may have been replaced and
// not know yet. It is cheaper, and good enough to look at.
func (c *Client) GetStale(ctx context.Context, resource string, opts ...GetOption) (*State, error) {
	return c.get(ctx, resource, &messages.GetRequest{Stale: true}, opts)
}

func (c *Client) get(ctx context.Context, resource string, m *messages.GetRequest, opts []GetOption) (*State, error) {
	for _, o := range opts {
		if o == nil {
			return nil, invalid(messages.OpGet, resource, rule("option", "not nil", "nil"))
		}
		o(m)
	}
	if m.GetWaiters() {
		if err := c.deployment.need(ctx, messages.OpGet, resource, sharingFeature); err != nil {
			return nil, err
		}
	}
	a, err := c.calls.ask(ctx, messages.OpGet, resource, m)
	if err != nil {
		return nil, err
	}
	r, err := a.Reply()
	if err != nil {
		return nil, &Error{Op: string(messages.OpGet), Resource: resource, Err: ErrUnavailable, Cause: err}
	}
	switch r.GetStatus() {
	case messages.Status_HELD, messages.Status_FREE, messages.Status_HELD_BACK:
		return newState(messages.NormalizeResource(resource), r), nil
	}
	return nil, refused(messages.OpGet, resource, r)
}

func newState(resource string, r *messages.Reply) *State {
	s := &State{Waiting: int(r.GetWaiting()), Waiters: newWaiters(r.GetWaiters())}
	var all []*messages.Lease
	if r.GetStatus() == messages.Status_FREE {
		s.Lease = *newLease(r.GetLease())
	} else {
		all, s.Permits = holders(r)
	}
	if r.GetStatus() == messages.Status_HELD_BACK {
		s.Lost = newLoss(r)
	}
	for _, l := range all {
		s.Holders = append(s.Holders, *newLease(l))
	}
	if s.Held = len(all) > 0; s.Held {
		s.Lease = s.Holders[0]
	}
	s.Resource = resource
	return s
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
	return c.calls.end(ctx, messages.OpBreak, resource, &messages.BreakRequest{Token: uint64(token), Reason: reason})
}

// Confirm says that the holder of a lost lease can do no more harm: its process was killed, or its access was taken
// away. The lease then no longer holds its resource back, and requests that wait are granted. by names who confirms, at
// most 256 bytes, and how says how the holder was stopped, at most 512; both may be empty, and are shown in events and
// logs.
//
// The token is that of the lost lease. It is [ErrStaleToken] if another lease holds the resource or holds it back,
// [ErrNotHeld] if none does. A repeated confirmation succeeds as long as the resource has not been granted since.
func (c *Client) Confirm(ctx context.Context, resource string, token Token, by, how string) error {
	if err := c.deployment.need(ctx, messages.OpConfirm, resource, delayFeature); err != nil {
		return err
	}
	m := &messages.ConfirmRequest{Token: uint64(token), By: by, How: how}
	return c.calls.end(ctx, messages.OpConfirm, resource, m)
}
