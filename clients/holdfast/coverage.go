package holdfast

import (
	"maps"
	"slices"
	"sync"
	"time"
)

// coverage is the leases that the keeps of a session are known to prolong: since it began, the session has lost none. It
// is over when that cannot be told any more, and another one begins.
type coverage struct {
	// began is before the sending of each request that put a lease of it into the session.
	began time.Time
	// label is what answers show of the session.
	label string

	mu      sync.Mutex
	handles map[*handle]struct{}
	// until is when its leases must be considered over.
	until time.Time
	over  bool
}

func newCoverage(label string, began, until time.Time) *coverage {
	return &coverage{label: label, began: began, until: until, handles: make(map[*handle]struct{})}
}

// add reports whether the lease is in it from now on: not if it is over.
func (v *coverage) add(h *handle) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.over {
		return false
	}
	v.handles[h] = struct{}{}
	return true
}

func (v *coverage) remove(h *handle) {
	v.mu.Lock()
	defer v.mu.Unlock()
	delete(v.handles, h)
}

// end returns until when its leases last.
func (v *coverage) end() time.Time {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.until
}

// prolong takes in that its leases last until then, unless it is over.
func (v *coverage) prolong(until time.Time) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if !v.over {
		v.until = until
	}
}

func (v *coverage) count() int {
	v.mu.Lock()
	defer v.mu.Unlock()
	return len(v.handles)
}

func (v *coverage) all() []*handle {
	v.mu.Lock()
	defer v.mu.Unlock()
	return slices.Collect(maps.Keys(v.handles))
}

// finish ends it, and has its leases renewed one by one. No mutex of a handle is held.
func (v *coverage) finish() {
	v.mu.Lock()
	v.over = true
	v.mu.Unlock()
	for _, h := range v.all() {
		h.uncovered(v)
	}
}
