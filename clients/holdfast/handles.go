package holdfast

import (
	"errors"
	"maps"
	"slices"
	"sync"

	"github.com/holdfast-io/holdfast/messages"
)

// handles are the leases that a client holds, and tombstones of those that it has released. The zero
// handles has none.
type handles struct {
	mu      sync.Mutex
	closed  bool
	byClaim map[messages.Claim]*handle
	// shared are the handles that further locks may share.
	shared     map[lockKey]*handle
	tombstones map[lockKey]tombstone
}

// lockKey says which locks may share a lease: those of one owner on one resource.
type lockKey struct{ resource, owner string }

// tombstone marks the leases of a lock key that have been released, or are about to be. An answer that
// grants one of them once more, because it was on its way beside the release, grants nothing. A tombstone
// is retained while a request or a release of its key is under way.
type tombstone struct {
	upTo  Token
	users int
}

// errReleased refuses a lease that has been released.
var errReleased = errors.New("released already")

// close lets no new handle in.
func (s *handles) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
}

func (s *handles) all() []*handle {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Values(s.byClaim))
}

// add registers a handle, so that a late answer about its lease is not taken for an orphan, and returns it,
// or the handle that has its claim already. It is [ErrClosed] if the client has been closed, and
// errReleased if the lease has been released.
func (s *handles) add(h *handle) (known *handle, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, ErrClosed
	}
	if other := s.byClaim[h.claim]; other != nil {
		return other, nil
	}
	if h.claim.Token <= s.tombstones[h.lockKey()].upTo {
		return nil, errReleased
	}
	put(&s.byClaim, h.claim, h)
	if h.terms.reentrant {
		put(&s.shared, h.lockKey(), h)
	}
	return h, nil
}

func (s *handles) remove(h *handle) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drop(h)
}

// drop is called with mu held.
func (s *handles) drop(h *handle) {
	if s.byClaim[h.claim] == h {
		delete(s.byClaim, h.claim)
	}
	if s.shared[h.lockKey()] == h {
		delete(s.shared, h.lockKey())
	}
}

// has reports whether the lease has a handle.
func (s *handles) has(l *messages.Lease) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.byClaim[claimOf(l)] != nil
}

// sharedBy returns the handle that a further lock may share, nil if there is none.
func (s *handles) sharedBy(k lockKey) *handle {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.shared[k]
}

// retain keeps the tombstone of a key until [handles.release].
func (s *handles) retain(k lockKey) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bury(k, 0)
}

func (s *handles) release(k lockKey) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.tombstones[k]
	if t.users--; t.users == 0 {
		delete(s.tombstones, k)
	} else {
		s.tombstones[k] = t
	}
}

// releasing notes that a lease is about to be released, with its handle if it had one. It returns false if
// another handle has the lease, or if the release is under way already: of two concurrent releases one
// would find another holder, and take the lock for lost. If it returns true, the caller releases the
// lease and calls [handles.release].
func (s *handles) releasing(claim messages.Claim, owner string, h *handle) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if other := s.byClaim[claim]; other != nil && other != h {
		return false
	}
	k := lockKey{claim.Resource, owner}
	if h == nil && claim.Token <= s.tombstones[k].upTo {
		return false
	}
	if h != nil {
		s.drop(h)
	}
	s.bury(k, claim.Token)
	return true
}

// bury is called with mu held.
func (s *handles) bury(k lockKey, upTo Token) {
	t := s.tombstones[k]
	put(&s.tombstones, k, tombstone{upTo: max(t.upTo, upTo), users: t.users + 1})
}

func put[K comparable, V any](m *map[K]V, k K, v V) {
	if *m == nil {
		*m = make(map[K]V)
	}
	(*m)[k] = v
}
