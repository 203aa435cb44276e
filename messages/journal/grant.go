package journal

import (
	"time"

	"github.com/holdfast-io/holdfast/messages"
)

// Lease returns the grant as clients see it, with so much of its time remaining. That is rounded down
// to whole milliseconds, is never above the TTL and never below 0: a client may believe in less than
// it has, not in more. The request's id stays private. The metadata is shared, not copied. A nil grant
// has no lease.
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

// wholeMillis compares before it converts: a Duration has more milliseconds than a uint32.
func wholeMillis(d time.Duration, most uint32) uint32 {
	return uint32(min(max(d.Milliseconds(), 0), int64(most)))
}
