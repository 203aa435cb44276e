package holdfast

import (
	"context"
	"fmt"

	"github.com/holdfast-io/holdfast/messages"
)

// TokenFromContext returns the token of the lock under which the context runs: that of [Lock.Context],
// of the function given to [Client.Do], and of all contexts derived from them. Of nested locks the
// innermost counts.
func TokenFromContext(ctx context.Context) (Token, bool) {
	c, ok := ClaimFromContext(ctx)
	return c.Token, ok
}

// ClaimFromContext is [TokenFromContext] with the resource.
func ClaimFromContext(ctx context.Context) (Claim, bool) {
	if ctx == nil {
		return Claim{}, false
	}
	return messages.ClaimFrom(ctx)
}

// SetHeader writes the claim of the lock under which the context runs into a nats.Header or an
// http.Header: Fencing-Token and Fencing-Resource. Without such a lock it is an [ErrNotHeld], so that a
// request which must be fenced never leaves without; a resource that no header can carry is
// [ErrInvalid].
func SetHeader(ctx context.Context, header map[string][]string) error {
	c, ok := ClaimFromContext(ctx)
	if !ok {
		return fmt.Errorf("holdfast: header: %w: the context is not a lock's", ErrNotHeld)
	}
	if err := c.SetHeader(header); err != nil {
		return fmt.Errorf("holdfast: header: %w", err)
	}
	return nil
}

// ClaimFromHeader reads what [SetHeader] writes; not ok if nothing is there, [ErrInvalid] if it is
// malformed. To refuse stale ones is the business of the packages below clients/fence.
func ClaimFromHeader(header map[string][]string) (c Claim, ok bool, err error) {
	if c, ok, err = messages.ClaimFromHeader(header); err != nil {
		err = fmt.Errorf("holdfast: header: %w", err)
	}
	return c, ok, err
}

// detached returns a context with the values and the deadline of ctx that ends by cancel, and not with ctx before.
func detached(ctx context.Context) (under context.Context, cancel context.CancelCauseFunc) {
	base, free := context.WithoutCancel(ctx), func() {}
	if deadline, ok := ctx.Deadline(); ok {
		base, free = context.WithDeadline(base, deadline)
	}
	under, end := context.WithCancelCause(base)
	return under, func(cause error) {
		end(cause)
		free()
	}
}
