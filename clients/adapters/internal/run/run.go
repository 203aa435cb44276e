// Package run has the context of work that the host of an adapter begins before it acquires the lock.
package run

import (
	"context"
	"sync/atomic"

	"github.com/holdfast-io/holdfast/clients/holdfast"
	"github.com/holdfast-io/holdfast/messages"
)

// Context returns a context that ends with ctx, by cancel, and with the lock that it is put under: then with the cause
// of the lock's context. From then on it carries the claim of the lock. Only an adapter that has the key puts it under
// one; the key is comparable.
func Context(ctx context.Context, key any) (context.Context, context.CancelFunc) {
	within, cancel := context.WithCancelCause(ctx)
	return &run{Context: within, key: key, cancel: cancel}, func() { cancel(context.Canceled) }
}

// Under puts the innermost context that ctx has under this key, if any, under the lock.
func Under(ctx context.Context, key any, l *holdfast.Lock) {
	r, ok := ctx.Value(contextKey{key}).(*run)
	if !ok {
		return
	}
	// The lock's own context is no source of values: its parent may be this one.
	claim := messages.WithClaim(context.Background(), l.Claim())
	r.claim.Store(&claim)
	lock := l.Context()
	stop := context.AfterFunc(lock, func() { r.cancel(context.Cause(lock)) })
	context.AfterFunc(r.Context, func() { stop() })
}

// contextKey is the key under which a context shows itself to an adapter.
type contextKey struct{ key any }

type run struct {
	context.Context
	key    any
	cancel context.CancelCauseFunc
	claim  atomic.Pointer[context.Context] // nil: there is no lock yet
}

// Value implements [context.Context]. Of nested locks the innermost counts.
func (r *run) Value(key any) any {
	if key == (contextKey{r.key}) {
		return r
	}
	if claim := r.claim.Load(); claim != nil {
		if v := (*claim).Value(key); v != nil {
			return v
		}
	}
	return r.Context.Value(key)
}
