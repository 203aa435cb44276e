package fence

import (
	"context"

	"github.com/holdfast-io/holdfast/messages"
)

// NewContext returns a copy of ctx that carries the claim, on its way from the receiver of a request to
// the guard of the store. The context of a lock, of package holdfast, carries its claim already.
func NewContext(ctx context.Context, c Claim) context.Context { return messages.WithClaim(ctx, c) }

// FromContext returns the claim that ctx carries; not ok if it carries none. A guard refuses the zero
// Claim, so a handler may pass it on without asking.
func FromContext(ctx context.Context) (c Claim, ok bool) { return messages.ClaimFrom(ctx) }
