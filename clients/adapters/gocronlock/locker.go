package gocronlock

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/go-co-op/gocron/v2"

	"github.com/holdfast-io/holdfast/clients/holdfast"
)

// Locker is a [gocron.Locker]. It is safe for concurrent use. The scheduler that locks a job first runs it; the others
// pass over this run.
type Locker struct {
	client *holdfast.Client
	prefix string
	opts   []holdfast.AcquireOption

	mu   sync.Mutex
	runs map[string]*run // by the name of the job
}

// NewLocker returns a locker of the resources whose names are prefix and the name of a job.
//
// shortest is how long a job stays locked at least, also if it ends at once, so that a scheduler whose clock or ticker
// is behind does not run it again. It is more than their difference, and less than the interval of the job; 0: the job
// is locked while it runs. See [holdfast.MinHold] for its bounds.
func NewLocker(c *holdfast.Client, prefix string, shortest time.Duration, opts ...holdfast.AcquireOption) *Locker {
	opts = append([]holdfast.AcquireOption{holdfast.MinHold(shortest)}, opts...)
	return &Locker{client: c, prefix: prefix, opts: opts, runs: make(map[string]*run)}
}

// Lock implements [gocron.Locker]. The errors are those of [holdfast.Client.TryAcquire]: [holdfast.ErrHeld] if another
// scheduler runs the job, or has run it within the shortest hold. gocron passes them to AfterLockError.
func (l *Locker) Lock(ctx context.Context, job string) (gocron.Lock, error) {
	lock, err := l.client.TryAcquire(ctx, l.prefix+job, l.opts...)
	if err != nil {
		return nil, err
	}
	r := &run{locker: l, job: job, lock: lock}
	r.ctx, _ = join(ctx, lock.Context()) // the release ends it
	l.mu.Lock()
	defer l.mu.Unlock()
	l.runs[job] = r
	return r, nil
}

// Context returns the context of the job's present run. It has the values of the job's own context and ends with it,
// when the run is over, and when the lock is lost: then its cause is [holdfast.ErrLost]. It carries the token for guards.
// If this scheduler does not run the job, it has ended, with [holdfast.ErrNotHeld].
func (l *Locker) Context(job string) context.Context {
	l.mu.Lock()
	defer l.mu.Unlock()
	if r := l.runs[job]; r != nil {
		return r.ctx
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(fmt.Errorf("gocronlock: %q: %w", job, holdfast.ErrNotHeld))
	return ctx
}

// run is a [gocron.Lock].
type run struct {
	locker *Locker
	job    string
	lock   *holdfast.Lock
	ctx    context.Context
}

// Unlock implements [gocron.Lock]. The errors are those of [holdfast.Lock.Release].
func (r *run) Unlock(ctx context.Context) error {
	r.locker.mu.Lock()
	if r.locker.runs[r.job] == r {
		delete(r.locker.runs, r.job)
	}
	r.locker.mu.Unlock()
	return r.lock.Release(ctx)
}

// join returns a context that ends with the lock's, and with the caller's, whose end the lock's does not know.
func join(ctx, lock context.Context) (context.Context, context.CancelFunc) {
	joined, cancel := context.WithCancelCause(lock)
	stop := context.AfterFunc(ctx, func() { cancel(context.Cause(ctx)) })
	context.AfterFunc(joined, func() { stop() })
	return joined, func() { cancel(context.Canceled) }
}
