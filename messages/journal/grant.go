package journal

import (
	"time"

	"github.com/holdfast-io/holdfast/messages"
)

// Lease returns the grant in the form that clients see. It rounds remaining down to whole milliseconds,
// between 0 and the TTL, so that a client never assumes more time than it has. The request id is left
// out. The metadata is shared, not copied. The lease of a nil grant is nil.
func (g *Grant) Lease(remaining time.Duration) *messages.Lease {
	if g == nil {
		return nil
	}
	return &messages.Lease{
		Resource:     g.GetResource(),
		Owner:        g.GetOwner(),
		Token:        g.GetToken(),
		Fence:        messages.Token(g.GetToken()).String(),
		TtlMs:        g.GetTtlMs(),
		RemainingMs:  wholeMillis(remaining, g.GetTtlMs()),
		AcquiredAtMs: g.GetAcquiredAtMs(),
		Durability:   g.GetDurability(),
		Metadata:     g.GetMetadata(),
	}
}

// wholeMillis clamps before it converts: a Duration can exceed the milliseconds of a uint32.
func wholeMillis(d time.Duration, most uint32) uint32 {
	return uint32(min(max(d.Milliseconds(), 0), int64(most)))
}
