package holdfast

import (
	"context"
	"time"

	"github.com/holdfast-io/holdfast/messages"
)

// given returns an [ErrInvalid] for a nil context. Every call looks at that before anything else.
func given(ctx context.Context, op messages.Operation, resource string) error {
	if ctx == nil {
		return invalid(op, resource, rule("context", "not nil: pass context.Background() if the call has no limit", "nil"))
	}
	return nil
}

// checkTTL refuses a TTL that no deployment allows, in the caller's own words: the message could not
// carry every duration.
func checkTTL(ttl time.Duration) error {
	l := messages.DefaultLimits()
	if least, most := millis(l.GetMinTtlMs()), millis(l.GetMaxTtlMs()); ttl < least || ttl > most {
		return rule("ttl_ms", least.String()+" to "+most.String(), ttl.String())
	}
	return nil
}
