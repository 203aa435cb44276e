// Package tusdlock lets several processes of tusd receive uploads, each upload in one of them at a time, by Holdfast. A
// client that comes back takes its upload over from the request that still has it.
//
//	composer := handler.NewStoreComposer()
//	filestore.New("/mnt/shared").UseIn(composer)
//	tusdlock.New(client, "uploads/").UseIn(composer)
package tusdlock

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/tus/tusd/v2/pkg/handler"

	"github.com/holdfast-io/holdfast/clients/holdfast"
)

var _ handler.Locker = (*Locker)(nil)

// Locker is a [handler.Locker]. It is safe for concurrent use.
type Locker struct {
	client *holdfast.Client
	prefix string
	opts   []holdfast.AcquireOption

	mu    sync.Mutex
	locks map[string]*holdfast.Lock // by the id of the upload
}

// New returns a locker of the resources whose names are prefix and the id of an upload.
func New(c *holdfast.Client, prefix string, opts ...holdfast.AcquireOption) *Locker {
	return &Locker{client: c, prefix: prefix, opts: opts, locks: make(map[string]*holdfast.Lock)}
}

// UseIn has the composer use the locker.
func (l *Locker) UseIn(c *handler.StoreComposer) { c.UseLocker(l) }

// NewLock implements [handler.Locker].
func (l *Locker) NewLock(id string) (handler.Lock, error) {
	return &lock{locker: l, id: id, over: make(chan struct{})}, nil
}

// Claim returns what the process that receives the upload shows to guards, such as those of a data store. It is
// [holdfast.ErrNotHeld] if no request of this process has the upload.
func (l *Locker) Claim(id string) (holdfast.Claim, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if held := l.locks[id]; held != nil && held.Valid() {
		return held.Claim(), nil
	}
	return holdfast.Claim{}, fmt.Errorf("tusdlock: %q: %w", l.prefix+id, holdfast.ErrNotHeld)
}

// lock is a [handler.Lock], which tusd locks once.
type lock struct {
	locker *Locker
	id     string
	over   chan struct{} // closed by Unlock
	held   *holdfast.Lock
}

// Lock implements [handler.Lock]: requestUnlock is called when others want the upload, and when the lock is lost. The
// errors are those of [holdfast.Client.Acquire]; [handler.ErrLockTimeout] if the context ends before.
func (k *lock) Lock(ctx context.Context, requestUnlock func()) error {
	l := k.locker
	held, err := l.client.Acquire(ctx, l.prefix+k.id, l.opts...)
	if err != nil && (ctx.Err() != nil || errors.Is(err, holdfast.ErrTimeout)) {
		return handler.ErrLockTimeout
	}
	if err != nil {
		return err
	}
	k.held = held
	l.mu.Lock()
	l.locks[k.id] = held
	l.mu.Unlock()
	go k.watch(requestUnlock)
	return nil
}

// watch calls requestUnlock once, if it is time to end before the upload does.
func (k *lock) watch(requestUnlock func()) {
	select {
	case <-k.held.Wanted():
	case <-k.held.Lost():
	case <-k.over:
		return
	}
	k.locker.mu.Lock()
	asks := k.locker.locks[k.id] == k.held
	k.locker.mu.Unlock()
	if asks {
		requestUnlock()
	}
}

// Unlock implements [handler.Lock]. The errors are those of [holdfast.Lock.Release]: [holdfast.ErrLost] if the lock was
// not held to the end.
func (k *lock) Unlock() error {
	l := k.locker
	l.mu.Lock()
	if l.locks[k.id] == k.held {
		delete(l.locks, k.id)
	}
	l.mu.Unlock()
	close(k.over)
	return k.held.Release(context.Background())
}
