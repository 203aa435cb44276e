package holdfast

import (
	"context"
	"fmt"
	"iter"
	"time"

	"github.com/holdfast-io/holdfast/messages"
)

// Loss is a lease that was lost, and that holds its resource back: the resource is granted to no other owner until the
// delay of the lease is over or the loss is confirmed.
type Loss struct {
	// Lease is the lease as it ended; nothing remains of it.
	Lease
	// Left is what was left of the delay at the time of the answer. In a listing it is that of this lease; otherwise that of
	// all lost leases of the resource. 0: the loss has to be confirmed, see [Client.Confirm].
	Left time.Duration
}

// until says how long the resource is held back.
func (l *Loss) until() string {
	if l.Left == 0 {
		return "until the loss is confirmed"
	}
	return fmt.Sprintf("for %v", l.Left)
}

func newLoss(r *messages.Reply) *Loss {
	return &Loss{Lease: *newLease(r.GetLease()), Left: millis(r.GetLeftMs())}
}

// listedLoss returns a loss as a listing has it, with what is left of the delay in the place of what remains.
func listedLoss(l *messages.Lease) *Loss {
	loss := &Loss{Lease: *newLease(l)}
	loss.Left, loss.Remaining = loss.Remaining, 0
	return loss
}

// Lost returns the lost leases that hold back resources whose key the pattern selects, as in [Client.List]. Each page is as
// of when it was asked for. An error is the last thing that it yields: [ErrInvalid] also if the deployment holds nothing
// back.
func (c *Client) Lost(ctx context.Context, pattern string) iter.Seq2[*Loss, error] {
	pages := c.pages(ctx, &messages.ListRequest{Pattern: pattern, HeldBack: true}, delayFeature)
	return items(pages, (*messages.ListReply).GetLeases, listedLoss)
}

// Confirm says that the holder of a lost lease can do no more harm: its process was killed, or its access was taken away.
// The lease then no longer holds its resource back, and requests that wait are granted. by names who confirms, at most 256
// bytes, and how says how the holder was stopped, at most 512; both may be empty, and are shown in events and logs.
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
