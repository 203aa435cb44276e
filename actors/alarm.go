package actors

import (
	"container/heap"

	"github.com/holdfast-io/holdfast/actors/lease"
)

// alarms wake resources at their next instant, in order. A heap with one timer for all costs a
// tenth of the memory of a timer for each, and a held resource needs no actor to be woken.
type alarms struct{ heap alarmHeap }

// set lets s be woken at the instant, instead of when it was to be before; never to not at all.
func (a *alarms) set(s *seat, at lease.Instant) {
	switch {
	case at == lease.Never && s.alarm == 0:
	case at == lease.Never:
		heap.Remove(&a.heap, s.alarm-1)
	case s.alarm == 0:
		s.wake = at
		heap.Push(&a.heap, s)
	case s.wake != at:
		s.wake = at
		heap.Fix(&a.heap, s.alarm-1)
	}
}

// next returns when the first alarm is due.
func (a *alarms) next() lease.Instant {
	if len(a.heap) == 0 {
		return lease.Never
	}
	return a.heap[0].wake
}

// due takes one seat whose time has come, or returns nil.
func (a *alarms) due(now lease.Instant) *seat {
	if a.next() > now {
		return nil
	}
	return heap.Pop(&a.heap).(*seat)
}

// alarmHeap implements heap.Interface. A seat knows its place, counted from 1.
type alarmHeap []*seat

func (h alarmHeap) Len() int           { return len(h) }
func (h alarmHeap) Less(i, j int) bool { return h[i].wake < h[j].wake }

func (h alarmHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].alarm, h[j].alarm = i+1, j+1
}

// Push implements heap.Interface.
func (h *alarmHeap) Push(x any) {
	s := x.(*seat)
	*h = append(*h, s)
	s.alarm = len(*h)
}

// Pop implements heap.Interface.
func (h *alarmHeap) Pop() any {
	last := len(*h) - 1
	s := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	s.alarm = 0
	return s
}
