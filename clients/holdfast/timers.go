package holdfast

import (
	"sync"
	"time"
)

// timers is a timer wheel: handles that are due at the same moment share one timer and one goroutine. The
// zero timers has no handle.
type timers struct {
	// begun is the moment from which all others are counted. It is set once, before the first handle.
	begun time.Time

	mu    sync.Mutex
	slots map[time.Duration]*slot
}

// slot is the handles that are due at one moment.
type slot struct {
	at      time.Duration
	timer   *time.Timer
	handles map[*handle]struct{}
}

// now is the time since the wheel began.
func (t *timers) now() time.Duration { return time.Since(t.begun) }

// set wakes a handle at that moment, and not at one that was set before.
func (t *timers) set(h *handle, at time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.remove(h)
	s := t.slots[at]
	if s == nil {
		if t.slots == nil {
			t.slots = make(map[time.Duration]*slot)
		}
		s = &slot{at: at, handles: make(map[*handle]struct{}, 1)}
		s.timer = time.AfterFunc(at-t.now(), func() { t.fire(s) })
		t.slots[at] = s
	}
	s.handles[h] = struct{}{}
	h.slot = s
}

// stop does not wake the handle any more.
func (t *timers) stop(h *handle) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.remove(h)
}

// remove is called with mu held.
func (t *timers) remove(h *handle) {
	s := h.slot
	if s == nil {
		return
	}
	h.slot = nil
	delete(s.handles, h)
	if len(s.handles) == 0 {
		s.timer.Stop()
		delete(t.slots, s.at)
	}
}

func (t *timers) fire(s *slot) {
	for h := range t.take(s) {
		h.wake()
	}
}

// take removes a slot, and returns the handles that are still in it.
func (t *timers) take(s *slot) map[*handle]struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.slots[s.at] != s {
		return nil
	}
	delete(t.slots, s.at)
	for h := range s.handles {
		h.slot = nil
	}
	return s.handles
}
