package gooselock

import (
	"context"
	"sync/atomic"

	"github.com/holdfast-io/holdfast/clients/holdfast"
)

// Context returns a context for one call of goose, such as Up. When the lock that goose acquires with it is lost, it ends
// with a cause that is [holdfast.ErrLost]: then database/sql interrupts the statement that runs, and rolls the
// transaction back. Under the lock it carries the token for guards, which migrations in Go receive.
//
// Without it the loss is known when goose unlocks.
func Context(ctx context.Context) (context.Context, context.CancelFunc) {
	under, cancel := context.WithCancelCause(ctx)
	return &run{Context: under, cancel: cancel}, func() { cancel(context.Canceled) }
}

// runKey is the key under which a context shows its run.
type runKey struct{}

// run is a context that has the values of a lock, as soon as there is one.
type run struct {
	context.Context
	cancel context.CancelCauseFunc
	lock   atomic.Value // the context of the lock
}

// locked ends the run with the lock. A release ends it, too: goose is done then.
func (r *run) locked(l *holdfast.Lock) {
	lock := l.Context()
	r.lock.Store(lock)
	stop := context.AfterFunc(lock, func() { r.cancel(context.Cause(lock)) })
	context.AfterFunc(r.Context, func() { stop() })
}

// Value implements [context.Context].
func (r *run) Value(key any) any {
	if key == (runKey{}) {
		return r
	}
	if v := r.Context.Value(key); v != nil {
		return v
	}
	if lock, ok := r.lock.Load().(context.Context); ok {
		return lock.Value(key)
	}
	return nil
}
