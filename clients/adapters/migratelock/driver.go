// Package migratelock lets one process at a time run the migrations of golang-migrate, by Holdfast. It works with each
// database, also with those whose driver has no lock.
//
//	driver := migratelock.New(driver, client, "migrations.shop")
//	m, err := migrate.NewWithInstance("iofs", source, "sqlite", driver)
package migratelock

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/golang-migrate/migrate/v4/database"

	"github.com/holdfast-io/holdfast/clients/holdfast"
)

// maxWait is how long [Driver.Lock] waits: less than migrate does by default, which gives a lock that comes later to
// nobody, and would leave it locked.
const maxWait = 10 * time.Second

// Driver is a [database.Driver] that is locked by Holdfast, and not by the driver that it wraps.
//
// When the lock is lost, it refuses the next step: [Driver.Run], [Driver.SetVersion] and [Driver.Drop] return
// [holdfast.ErrLost]. What the wrapped driver runs at this moment is not stopped, because it has no context; the version
// stays dirty, so that a person looks.
type Driver struct {
	database.Driver
	client   *holdfast.Client
	resource string
	opts     []holdfast.AcquireOption

	mu   sync.Mutex
	lock *holdfast.Lock // nil: not locked
}

// New wraps a driver. All that migrate one database use the same resource. The wait for the lock is 10 s, or as
// [holdfast.MaxWait] says, which has to be less than the LockTimeout of migrate.
func New(d database.Driver, c *holdfast.Client, resource string, opts ...holdfast.AcquireOption) *Driver {
	opts = append([]holdfast.AcquireOption{holdfast.MaxWait(maxWait)}, opts...)
	return &Driver{Driver: d, client: c, resource: resource, opts: opts}
}

// Open implements [database.Driver]: it opens the wrapped driver, and wraps it.
func (d *Driver) Open(url string) (database.Driver, error) {
	opened, err := d.Driver.Open(url)
	if err != nil {
		return nil, err
	}
	return &Driver{Driver: opened, client: d.client, resource: d.resource, opts: d.opts}, nil
}

// Lock implements [database.Driver]. It waits while another process migrates. The errors are those of
// [holdfast.Client.Acquire], that of a wait in vain is also [database.ErrLocked].
func (d *Driver) Lock() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.lock != nil {
		return database.ErrLocked
	}
	lock, err := d.client.Acquire(context.Background(), d.resource, d.opts...)
	if errors.Is(err, holdfast.ErrTimeout) {
		return fmt.Errorf("%w: %w", database.ErrLocked, err)
	}
	if err == nil {
		d.lock = lock
	}
	return err
}

// Unlock implements [database.Driver]. The errors are [database.ErrNotLocked], and those of [holdfast.Lock.Release]:
// [holdfast.ErrLost] if the lock was not held to the end, so that another process may have migrated at the same time.
func (d *Driver) Unlock() error {
	d.mu.Lock()
	lock := d.lock
	d.lock = nil
	d.mu.Unlock()
	if lock == nil {
		return database.ErrNotLocked
	}
	return lock.Release(context.Background())
}

// Context returns the context of the present lock: it ends when the lock is lost, with a cause that is
// [holdfast.ErrLost], and when it is released, and carries the token for guards. Without a lock it has ended, with
// [database.ErrNotLocked].
func (d *Driver) Context() context.Context {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.lock != nil {
		return d.lock.Context()
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(database.ErrNotLocked)
	return ctx
}

// check returns why a step may not be made.
func (d *Driver) check() error { return context.Cause(d.Context()) }

// Run implements [database.Driver].
func (d *Driver) Run(migration io.Reader) error {
	if err := d.check(); err != nil {
		return err
	}
	return d.Driver.Run(migration)
}

// SetVersion implements [database.Driver].
func (d *Driver) SetVersion(version int, dirty bool) error {
	if err := d.check(); err != nil {
		return err
	}
	return d.Driver.SetVersion(version, dirty)
}

// Drop implements [database.Driver].
func (d *Driver) Drop() error {
	if err := d.check(); err != nil {
		return err
	}
	return d.Driver.Drop()
}
