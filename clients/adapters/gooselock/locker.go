package gooselock

import (
	"context"
	"database/sql"
	"fmt"
	"sync"

	"github.com/pressly/goose/v3/lock"

	"github.com/holdfast-io/holdfast/clients/adapters/internal/run"
	"github.com/holdfast-io/holdfast/clients/holdfast"
)

var _ lock.SessionLocker = (*Locker)(nil)

// Locker is a [lock.SessionLocker]. It is safe for concurrent use.
type Locker struct {
	client   *holdfast.Client
	resource string
	opts     []holdfast.AcquireOption

	mu    sync.Mutex
	locks map[*sql.Conn]*holdfast.Lock
}

// New returns a locker of the resource. All that migrate one database use the same.
func New(c *holdfast.Client, resource string, opts ...holdfast.AcquireOption) *Locker {
	return &Locker{client: c, resource: resource, opts: opts, locks: make(map[*sql.Conn]*holdfast.Lock)}
}

// SessionLock implements [lock.SessionLocker]: it waits while another process migrates, until the context ends or for
// [holdfast.MaxWait]. The errors are those of [holdfast.Client.Acquire].
func (l *Locker) SessionLock(ctx context.Context, conn *sql.Conn) error {
	acquired, err := l.client.Acquire(ctx, l.resource, l.opts...)
	if err != nil {
		return err
	}
	run.Under(ctx, runKey{}, acquired)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.locks[conn] = acquired
	return nil
}

// SessionUnlock implements [lock.SessionLocker]. The errors are those of [holdfast.Lock.Release]: [holdfast.ErrLost] if
// the lock was not held to the end, so that another process may have migrated at the same time.
func (l *Locker) SessionUnlock(ctx context.Context, conn *sql.Conn) error {
	l.mu.Lock()
	acquired := l.locks[conn]
	delete(l.locks, conn)
	l.mu.Unlock()
	if acquired == nil {
		return fmt.Errorf("gooselock: this connection is not locked: %w", holdfast.ErrNotHeld)
	}
	return acquired.Release(ctx)
}
