package holdfast

import (
	"context"
	"sync"

	"github.com/holdfast-io/holdfast/messages"
)

// Term is the time for which this client leads an election: see [Client.Campaign]. It is safe for concurrent use. It ends
// with [Term.Resign], or when its lock is lost; what the leader does must stop then.
type Term struct {
	lock *Lock
	// proclaiming is held while the value changes.
	proclaiming sync.Mutex
}

// Name returns the name of the election, in Unicode NFC.
func (t *Term) Name() string { return t.lock.Resource() }

// Context returns the context of the term, as [Lock.Context] does: it ends with [ErrLost] when the client leads no more,
// and with [ErrReleased] after [Term.Resign]. It carries the token.
func (t *Term) Context() context.Context { return t.lock.Context() }

// Token returns the fencing token, which is higher than that of each earlier term.
func (t *Term) Token() Token { return t.lock.Token() }

// Claim returns the name of the election and the token, as the guards below clients/fence take them.
func (t *Term) Claim() Claim { return t.lock.Claim() }

// Valid reports whether the client leads at this moment: see [Lock.Valid].
func (t *Term) Valid() bool { return t.lock.Valid() }

// Value returns what was last published.
func (t *Term) Value() string { return t.lock.Metadata()[messages.MetadataValue] }

// Proclaim publishes another value; observers see it once, in the order of the calls. The errors are those of [Lock.Set].
func (t *Term) Proclaim(ctx context.Context, value string) error {
	t.proclaiming.Lock()
	defer t.proclaiming.Unlock()
	return t.lock.Set(ctx, withValue(t.lock.Metadata(), value))
}

// Resign ends the term. The next candidate leads at once. It returns what [Lock.Release] does.
func (t *Term) Resign(ctx context.Context) error { return t.lock.Release(ctx) }

// String returns name and token.
func (t *Term) String() string { return t.lock.String() }
