package holdfast

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/holdfast-io/holdfast/messages"
)

// Locks is a set of locks that is held as a whole, in the order of their keys. It is safe for concurrent use.
//
// The loss of one lock is the loss of all: the context of the set ends. The other locks are kept until
// [Locks.Release], and at most for what is left of the shortest lease, so that no other holder gets one of
// them while the work stops.
type Locks struct {
	c     *Client
	locks []*Lock

	ctx    context.Context
	cancel context.CancelCauseFunc
	lost   chan struct{}
	// ended guards the end of the context.
	ended sync.Once

	// released is closed by the first Release.
	released chan struct{}
	release  sync.Once
}

// newLocks returns the set of locks that were acquired with a context.
func newLocks(ctx context.Context, c *Client, locks []*Lock) *Locks {
	s := &Locks{c: c, locks: locks, lost: make(chan struct{}), released: make(chan struct{})}
	s.ctx, s.cancel = detached(ctx)
	s.alsoCancel(s.end)
	return s
}

// alsoCancel ends another context with the first of the locks.
func (s *Locks) alsoCancel(cancel context.CancelCauseFunc) {
	for _, l := range s.locks {
		l.alsoCancel(cancel)
	}
}

// All returns the locks, in the order of their keys. They are released with the set. If one of them is released before,
// the set is not held any more, and its context ends.
func (s *Locks) All() []*Lock { return slices.Clone(s.locks) }

// Claims returns the claims of all locks, in the order of [Locks.All].
func (s *Locks) Claims() []Claim {
	claims := make([]Claim, len(s.locks))
	for i, l := range s.locks {
		claims[i] = l.Claim()
	}
	return claims
}

// Claim returns the claim of the lock of a resource, to be shown to what it protects. It is not ok if the set has no
// such lock.
func (s *Locks) Claim(resource string) (c Claim, ok bool) {
	name := messages.NormalizeResource(resource)
	i := slices.IndexFunc(s.locks, func(l *Lock) bool { return l.Resource() == name })
	if i < 0 {
		return Claim{}, false
	}
	return s.locks[i].Claim(), true
}

// String returns the locks as [Lock.String], separated by commas.
func (s *Locks) String() string {
	texts := make([]string, len(s.locks))
	for i, l := range s.locks {
		texts[i] = l.String()
	}
	return strings.Join(texts, ", ")
}

// Context returns a context that ends when the first of the locks is lost, with a cause that is [ErrLost], or with
// [ErrReleased] when one is released. It has the values and the deadline of the context that the locks were acquired
// with, and does not end when that is cancelled, as [Lock.Context]. It carries no token of these locks.
func (s *Locks) Context() context.Context { return s.ctx }

// Lost returns a channel that is closed when the first of the locks is lost, and not when they are released.
func (s *Locks) Lost() <-chan struct{} { return s.lost }

// Valid reports whether all locks are held at this moment, as [Lock.Valid].
func (s *Locks) Valid() bool {
	return !slices.ContainsFunc(s.locks, func(l *Lock) bool { return !l.Valid() })
}

// Deadline returns when the first of the locks is lost unless it is renewed before, as [Lock.Deadline].
func (s *Locks) Deadline() time.Time {
	return slices.MinFunc(s.locks, func(a, b *Lock) int { return a.Deadline().Compare(b.Deadline()) }).Deadline()
}

// Extend makes each of the leases last ttl from now, as [Lock.Extend]. It returns nil when the service has agreed to
// all of them. Otherwise it returns the errors of all that failed, and the others are extended.
func (s *Locks) Extend(ctx context.Context, ttl time.Duration) error {
	return each(s.locks, func(l *Lock) error { return l.Extend(ctx, ttl) })
}

// Release gives all locks back, in the reverse order, without waiting for each answer before the next. The context ends
// at once. It returns nil if all of them were held to the end, and otherwise the errors of those that were not, as
// [Lock.Release]. Later calls return the same.
func (s *Locks) Release(ctx context.Context) error {
	if err := checkContext(ctx, messages.OpRelease, ""); err != nil {
		return err
	}
	s.release.Do(func() { close(s.released) })
	s.end(ErrReleased)
	return each(s.locks, func(l *Lock) error { return l.Release(ctx) })
}

// end receives that a lock is not held any more. It may be called with the mutex of a handle held.
func (s *Locks) end(cause error) {
	s.ended.Do(func() {
		s.cancel(cause)
		if errors.Is(cause, ErrLost) {
			close(s.lost)
			s.c.goroutines.Go(s.releaseLate)
		}
	})
}

// releaseLate releases a set of which one lock is lost, when the first of its leases would have ended unless it was
// renewed. Close releases the locks too.
func (s *Locks) releaseLate() {
	late := time.NewTimer(s.left())
	defer late.Stop()
	select {
	case <-late.C:
		_ = s.Release(s.c.duty) // the application knows already that the set is lost
	case <-s.released:
	case <-s.c.life.Done():
	}
}

// left returns how long the locks that are held yet will be so without a renewal.
func (s *Locks) left() time.Duration {
	var first time.Time
	for _, l := range s.locks {
		if until := l.Deadline(); l.Valid() && (first.IsZero() || until.Before(first)) {
			first = until
		}
	}
	return time.Until(first)
}
