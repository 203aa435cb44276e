package holdfast

import (
	"context"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/holdfast-io/holdfast/messages"
)

// limits are those of the contract.
var limits = messages.DefaultLimits()

// checkContext returns an [ErrInvalid] for a nil context. Every call checks that.
func checkContext(ctx context.Context, op messages.Operation, resource string) error {
	if ctx == nil {
		return invalid(op, resource, rule("context", "not nil: pass context.Background() if the call has no limit",
			"nil"))
	}
	return nil
}

// noWork is why Do and DoAll take no lock.
var noWork = rule("work", "not nil: the function to run under the lock", "nil")

// checkTTL refuses a TTL that no deployment allows, as the caller gave it: the message could not carry every
// duration.
func checkTTL(ttl time.Duration) error {
	if shortest, longest := millis(limits.GetMinTtlMs()),
		millis(limits.GetMaxTtlMs()); ttl < shortest || ttl > longest {
		return rule("ttl_ms", shortest.String()+" to "+longest.String(), ttl.String())
	}
	return nil
}

// checkMaxHold refuses a longest hold that no lease could have.
func (o *acquireOptions) checkMaxHold() error {
	shortest := millis(limits.GetMinTtlMs())
	switch {
	case o.maxHold == 0:
		return nil
	case o.maxHold < shortest:
		return rule("MaxHold", "at least "+shortest.String()+", the shortest TTL; 0: none", o.maxHold.String())
	case o.reentrant:
		return rule("MaxHold", "none beside Reentrant: others may extend the lease", o.maxHold.String())
	}
	return nil
}

// check returns the normalised resource and its key, or why the request may not be sent. It checks the
// context first.
func check(ctx context.Context, op messages.Operation, resource string, m proto.Message) (name, key string, err error) {
	if err := checkContext(ctx, op, resource); err != nil {
		return "", "", err
	}
	name = messages.NormalizeResource(resource)
	if key, err = messages.EncodeKey(name); err == nil {
		err = limits.Check(m)
	}
	if err != nil {
		return "", "", invalid(op, name, err)
	}
	return name, key, nil
}
