package holdfast

import (
	"sync"
	"time"
)

// timers is a timer wheel: alarms that are due at the same moment share one timer and one goroutine. The
// zero timers has no alarm.
type timers struct {
	// begun is the moment from which all others are counted. It is set once, before the first alarm.
	begun time.Time

	mu    sync.Mutex
	slots map[time.Duration]*slot
}

// alarm is called when it is due. Its other field belongs to the timers.
type alarm struct {
	wake func()
	slot *slot
}

// slot is the alarms that are due at one moment.
type slot struct {
	at     time.Duration
	timer  *time.Timer
	alarms map[*alarm]struct{}
}

// set has an alarm due at a moment, and not at one that was set before.
func (t *timers) set(a *alarm, moment time.Time) {
	at := moment.Sub(t.begun)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.remove(a)
	s := t.slots[at]
	if s == nil {
		if t.slots == nil {
			t.slots = make(map[time.Duration]*slot)
		}
		s = &slot{at: at, alarms: make(map[*alarm]struct{}, 1)}
		s.timer = time.AfterFunc(time.Until(moment), func() { t.fire(s) })
		t.slots[at] = s
	}
	s.alarms[a] = struct{}{}
	a.slot = s
}

// stop has an alarm due no more.
func (t *timers) stop(a *alarm) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.remove(a)
}

// remove is called with mu held.
func (t *timers) remove(a *alarm) {
	s := a.slot
	if s == nil {
		return
	}
	a.slot = nil
	delete(s.alarms, a)
	if len(s.alarms) == 0 {
		s.timer.Stop()
		delete(t.slots, s.at)
	}
}

func (t *timers) fire(s *slot) {
	for a := range t.take(s) {
		a.wake()
	}
}

// take removes a slot, and returns the alarms that are still in it.
func (t *timers) take(s *slot) map[*alarm]struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.slots[s.at] != s {
		return nil
	}
	delete(t.slots, s.at)
	for a := range s.alarms {
		a.slot = nil
	}
	return s.alarms
}
