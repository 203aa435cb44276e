package holdfast

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/clients/request"
	"github.com/holdfast-io/holdfast/messages"
)

const (
	// minCheck bounds how often one waiter asks, however fast a lock is handed on.
	minCheck = 20 * time.Millisecond
	// checkAgain is the pause after a question that was not answered.
	checkAgain = time.Second
)

// WaitFree returns nil when the resource is free of all holders and not held back after a loss: that was so at some
// moment between call and return, and may be over when it returns. It takes no place in the queue and does not keep
// others from locking the resource; to lock it, call [Client.Acquire].
//
// It waits for the event of the end of a lease, and asks again then, when the last lease would
// have run out, and when the connection was interrupted. So an early end of an ephemeral lease, which
// makes no event, may be noticed as late as the lease would have lasted; and so may every other one if the
// NATS user may not subscribe to holdfast.event.<key>.
//
// It waits through interruptions and restarts, until the context ends. The error is then [ErrTimeout] and
// the context's, or the context's alone if it was cancelled; else [ErrInvalid] or [ErrClosed].
func (c *Client) WaitFree(ctx context.Context, resource string) error {
	if err := checkContext(ctx, opWaitFree, resource); err != nil {
		return err
	}
	resource = messages.NormalizeResource(resource)
	key, err := messages.EncodeKey(resource)
	if err != nil {
		return invalid(opWaitFree, resource, err)
	}
	freed := make(chan struct{}, 1)
	events, err := c.nc.Subscribe(c.cfg.prefix.Event(key), func(m *nats.Msg) {
		if endsLease(m) || m.Header.Get(messages.HeaderEvent) == messages.Event_CONFIRMED.String() {
			select {
			case freed <- struct{}{}:
			default:
			}
		}
	})
	if err != nil {
		return &Error{Op: opWaitFree, Resource: resource, Err: ErrUnavailable, Cause: err}
	}
	defer func() { _ = events.Unsubscribe() }()
	for {
		reconnected := c.sender.Reconnected()
		wait, err := c.untilFree(ctx, resource)
		if wait == 0 || err != nil {
			return err
		}
		if err := c.pause(ctx, wait, freed, reconnected); err != nil {
			return waited(ctx, resource, err)
		}
	}
}

// opWaitFree stands in errors.
const opWaitFree = "wait free"

// untilFree returns when to ask again at the latest, 0 if the resource is free. If no node can decide, the
// wait goes on.
func (c *Client) untilFree(ctx context.Context, resource string) (time.Duration, error) {
	s, err := c.Get(ctx, resource)
	switch {
	case ctx.Err() != nil:
		return 0, waited(ctx, resource, ctx.Err())
	case errors.Is(err, ErrUnavailable), errors.Is(err, ErrOverloaded):
		return checkAgain, nil
	case err != nil || !s.Held && s.Lost == nil:
		return 0, err
	}
	last := minCheck
	if s.Lost != nil {
		last = max(last, cmp.Or(s.Lost.Left, checkAgain))
	}
	for _, l := range s.Holders {
		last = max(last, l.Remaining)
	}
	return last, nil
}

// pause waits until one of them comes, though not for less than a moment.
func (c *Client) pause(ctx context.Context, late time.Duration, one, other <-chan struct{}) error {
	early, last := time.After(minCheck), time.NewTimer(late)
	defer last.Stop()
	select {
	case <-one:
	case <-other:
	case <-last.C:
	case <-ctx.Done():
		return ctx.Err()
	case <-c.life.Done():
		return ErrClosed
	}
	select {
	case <-early:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// waited says why the wait is over.
func waited(ctx context.Context, resource string, err error) error {
	e := &Error{Op: opWaitFree, Resource: resource, Err: err}
	if errors.Is(err, context.DeadlineExceeded) {
		e.Err, e.Cause = ErrTimeout, request.ContextError(ctx)
	}
	return e
}
