// Package certmagiclock lets several processes obtain and renew certificates with certmagic, one of them each, by
// Holdfast. The certificates are in any storage of certmagic.
//
//	storage := certmagiclock.New(&certmagic.FileStorage{Path: "/mnt/shared"}, client, "certs/")
//	config := certmagic.New(cache, certmagic.Config{Storage: storage})
package certmagiclock

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/caddyserver/certmagic"

	"github.com/holdfast-io/holdfast/clients/holdfast"
)

var (
	_ certmagic.TryLocker        = (*Storage)(nil)
	_ certmagic.LockLeaseRenewer = (*Storage)(nil)
)

// Storage is a [certmagic.Storage] that is locked by Holdfast, and not by the storage that it wraps. It is safe for
// concurrent use.
type Storage struct {
	certmagic.Storage
	client *holdfast.Client
	prefix string
	opts   []holdfast.AcquireOption

	mu    sync.Mutex
	locks map[string]*holdfast.Lock // by the name that certmagic gives
}

// New wraps a storage. The resources that it locks are prefix and the name of certmagic, such as issue_cert_example.com.
func New(s certmagic.Storage, c *holdfast.Client, prefix string, opts ...holdfast.AcquireOption) *Storage {
	return &Storage{Storage: s, client: c, prefix: prefix, opts: opts, locks: make(map[string]*holdfast.Lock)}
}

// Lock implements [certmagic.Locker]. It waits until the context ends. The errors are those of
// [holdfast.Client.Acquire].
func (s *Storage) Lock(ctx context.Context, name string) error {
	lock, err := s.client.Acquire(ctx, s.prefix+name, s.opts...)
	if err == nil {
		s.put(name, lock)
	}
	return err
}

// TryLock implements [certmagic.TryLocker]: false if another process has the lock. Other errors are those of
// [holdfast.Client.TryAcquire].
func (s *Storage) TryLock(ctx context.Context, name string) (bool, error) {
	lock, err := s.client.TryAcquire(ctx, s.prefix+name, s.opts...)
	if errors.Is(err, holdfast.ErrHeld) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	s.put(name, lock)
	return true, nil
}

func (s *Storage) put(name string, lock *holdfast.Lock) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.locks[name] = lock
}

// Unlock implements [certmagic.Locker]. The errors are those of [holdfast.Lock.Release]: [holdfast.ErrLost] if the lock
// was not held to the end. certmagic logs them.
func (s *Storage) Unlock(ctx context.Context, name string) error {
	s.mu.Lock()
	lock := s.locks[name]
	delete(s.locks, name)
	s.mu.Unlock()
	if lock == nil {
		return s.notHeld(name)
	}
	return lock.Release(ctx)
}

// RenewLockLease implements [certmagic.LockLeaseRenewer]. The client renews the lease, so nothing is asked: the error is
// [holdfast.ErrLost] if the lock is lost, and then certmagic does not try to obtain the certificate again.
func (s *Storage) RenewLockLease(_ context.Context, name string, _ time.Duration) error {
	return context.Cause(s.Context(name))
}

// Context returns the context of the lock of this name, for an issuer or an event handler: it ends with a cause that is
// [holdfast.ErrLost] when the lock is lost, and when it is released, and carries the token for guards. If it is not
// locked here, it has ended, with [holdfast.ErrNotHeld].
func (s *Storage) Context(name string) context.Context {
	s.mu.Lock()
	defer s.mu.Unlock()
	if lock := s.locks[name]; lock != nil {
		return lock.Context()
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(s.notHeld(name))
	return ctx
}

func (s *Storage) notHeld(name string) error {
	return fmt.Errorf("certmagiclock: %q: %w", s.prefix+name, holdfast.ErrNotHeld)
}
