// Package alarm wakes what is due.
package alarm

import (
	"container/heap"
	"slices"
	"sync"
	"time"

	"github.com/holdfast-io/holdfast/clients/internal/clock"
)

// maxSleep bounds how long the timer is set for. Timers stand still while the machine is suspended, so this is how
// late an alarm may be after a suspend.
const maxSleep = time.Second

// Heap wakes alarms when they are due: all with one timer, which is set for the first, or to look at the clock before.
// Moments are those of package clock. The zero Heap has no alarm. It is safe for concurrent use.
type Heap struct {
	mu     sync.Mutex
	alarms alarms
	// timer fires at next if it is armed. The alarm for which it was set may have been stopped since.
	timer *time.Timer
	next  time.Time
	armed bool
}

// Waker is woken by an [Alarm].
type Waker interface {
	// Wake is called on a goroutine that is shared with other alarms, so it must not block. It may also be called
	// shortly after the alarm was stopped.
	Wake()
}

// Alarm wakes a Waker when it is due. It belongs to one [Heap], as soon as it has been set.
type Alarm struct {
	Waker

	at time.Time
	// place is where it is in the heap, counted from 1; 0: it is not set.
	place int
}

// Set has an alarm due at a moment, and not at one that was set before.
func (h *Heap) Set(a *Alarm, at time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if a.at = at; a.place > 0 {
		heap.Fix(&h.alarms, a.place-1)
	} else {
		heap.Push(&h.alarms, a)
	}
	h.arm()
}

// Stop has an alarm due no more.
func (h *Heap) Stop(a *Alarm) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if a.place > 0 {
		heap.Remove(&h.alarms, a.place-1)
	}
}

// WakeAll wakes all alarms at once. They are due no more.
func (h *Heap) WakeAll() {
	h.mu.Lock()
	woken := slices.Clone(h.alarms)
	for _, a := range woken {
		a.place = 0
	}
	h.alarms = nil
	h.mu.Unlock()
	for _, a := range woken {
		a.Wake()
	}
}

// Close stops the timer if no alarm is set. Alarms that are set, before or after, are woken all the same.
func (h *Heap) Close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.timer != nil && len(h.alarms) == 0 {
		h.timer.Stop()
		h.armed = false
	}
}

// arm has the timer fire for the first alarm at the latest, unless the machine is suspended. It is called with mu held.
func (h *Heap) arm() {
	if len(h.alarms) == 0 || h.armed && !h.alarms[0].at.Before(h.next) {
		return
	}
	now := clock.Now()
	left := min(h.alarms[0].at.Sub(now), maxSleep)
	h.armed, h.next = true, now.Add(left)
	if h.timer == nil {
		h.timer = time.AfterFunc(left, h.fire)
	} else {
		h.timer.Reset(left)
	}
}

func (h *Heap) fire() {
	for _, a := range h.takeDue() {
		a.Wake()
	}
}

// takeDue removes the alarms that are due, and returns them.
func (h *Heap) takeDue() (due []*Alarm) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for now := clock.Now(); len(h.alarms) > 0 && !now.Before(h.alarms[0].at); {
		due = append(due, heap.Pop(&h.alarms).(*Alarm))
	}
	h.armed = false
	h.arm()
	return due
}

// alarms implements [heap.Interface]. The first alarm comes first.
type alarms []*Alarm

func (s alarms) Len() int           { return len(s) }
func (s alarms) Less(i, j int) bool { return s[i].at.Before(s[j].at) }

func (s alarms) Swap(i, j int) {
	s[i], s[j] = s[j], s[i]
	s[i].place, s[j].place = i+1, j+1
}

// Push implements [heap.Interface].
func (s *alarms) Push(x any) {
	a := x.(*Alarm)
	*s = append(*s, a)
	a.place = len(*s)
}

// Pop implements [heap.Interface].
func (s *alarms) Pop() any {
	last := len(*s) - 1
	a := (*s)[last]
	(*s)[last] = nil
	*s = (*s)[:last]
	a.place = 0
	return a
}
