package holdfast

import "time"

// coverage is the leases that the keeps of a session are known to prolong: since it began, the session has lost none. It
// is over when that cannot be told any more, and another one begins. It is guarded by the mutex of its session.
type coverage struct {
	session *session
	// began is before the sending of each request that put a lease of it into the session.
	began time.Time
	// until is when its leases must be considered over.
	until   time.Time
	handles map[*handle]struct{}
}

// remove takes a lease away.
func (v *coverage) remove(h *handle) {
	v.session.mu.Lock()
	defer v.session.mu.Unlock()
	delete(v.handles, h)
}

// end returns until when its leases last.
func (v *coverage) end() time.Time {
	v.session.mu.Lock()
	defer v.session.mu.Unlock()
	return v.until
}
