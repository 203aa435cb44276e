package holdfast

import (
	"context"
	"maps"
	"sync"

	"github.com/holdfast-io/holdfast/messages"
)

// Leadership is the time for which this client leads an election: see [Client.Campaign]. It is safe for concurrent use.
// It ends with [Leadership.Resign], or when its lock is lost; what the leader does must stop then.
type Leadership struct {
	lock *Lock
	// proclaiming is held while the value changes.
	proclaiming sync.Mutex
}

// Name returns the name of the election, in Unicode NFC.
func (l *Leadership) Name() string { return l.lock.Resource() }

// Context returns the context of the leadership, as [Lock.Context] does: it ends with [ErrLost] when the client leads
// no more, and with [ErrReleased] after [Leadership.Resign]. It carries the token.
func (l *Leadership) Context() context.Context { return l.lock.Context() }

// Token returns the fencing token, which is higher than that of each earlier leadership.
func (l *Leadership) Token() Token { return l.lock.Token() }

// Claim returns the name of the election and the token, as the guards below clients/fence take them.
func (l *Leadership) Claim() Claim { return l.lock.Claim() }

// Valid reports whether the client leads at this moment: see [Lock.Valid].
func (l *Leadership) Valid() bool { return l.lock.Valid() }

// Value returns what was last published.
func (l *Leadership) Value() string { return l.lock.Metadata()[messages.MetadataValue] }

// Proclaim publishes another value; observers see it once, in the order of the calls. The errors are those of
// [Lock.Set].
func (l *Leadership) Proclaim(ctx context.Context, value string) error {
	l.proclaiming.Lock()
	defer l.proclaiming.Unlock()
	return l.lock.Set(ctx, withValue(l.lock.Metadata(), value))
}

// Resign ends the leadership. The next candidate leads at once. It returns what [Lock.Release] does.
func (l *Leadership) Resign(ctx context.Context) error { return l.lock.Release(ctx) }

// String returns name and token.
func (l *Leadership) String() string { return l.lock.String() }

// withValue returns the metadata of a leader with this value.
func withValue(metadata map[string]string, value string) map[string]string {
	all := maps.Clone(metadata)
	put(&all, messages.MetadataValue, value)
	return all
}
