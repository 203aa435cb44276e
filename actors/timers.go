package actors

import (
	"container/heap"

	"github.com/holdfast-io/holdfast/actors/lease"
)

// timer is the next deadline of a resource or of a session, or the time of the next probe of a session's client or of
// the next notice to it.
type timer struct {
	resource string
	session  *lease.Session
	ofLink   bool
	at       lease.Instant
	// index is its place in the heap, from 1; 0: it is not set.
	index int
}

// timersDue says that the first deadline is due.
type timersDue struct{}

// timers are the deadlines of a term's resources and sessions. A heap with one timeout for all costs a tenth of the
// memory of a timeout for each, and a held resource needs no actor to be woken.
type timers struct {
	mailbox *mailbox
	heap    timerHeap
	// armed is when the timeout comes.
	armed   lease.Instant
	timeout timeout
}

func newTimers(m *mailbox) timers { return timers{mailbox: m, armed: lease.Never} }

// set sets the timer to the instant, in the place of an earlier one; never: it stops the timer. The timeout
// stays as it is until arm.
func (t *timers) set(x *timer, at lease.Instant) {
	switch {
	case at == lease.Never && x.index == 0:
	case at == lease.Never:
		heap.Remove(&t.heap, x.index-1)
	case x.index == 0:
		x.at = at
		heap.Push(&t.heap, x)
	case x.at != at:
		x.at = at
		heap.Fix(&t.heap, x.index-1)
	}
}

// arm sets the timeout to the first deadline, unless it comes before that anyway.
func (t *timers) arm() {
	first := t.first()
	if first >= t.armed {
		return
	}
	t.armed = first
	t.timeout.set(t.mailbox, max(first.Sub(t.mailbox.clock.Now().Instant), 0), timersDue{})
}

// fired notes that the timeout has come. It is not set again until arm.
func (t *timers) fired() {
	t.timeout.clear()
	t.armed = lease.Never
}

// due takes timers out whose deadline has come, at most limit, and returns them.
func (t *timers) due(now lease.Instant, limit int) (due []*timer) {
	for len(due) < limit && t.first() <= now {
		due = append(due, heap.Pop(&t.heap).(*timer))
	}
	return due
}

func (t *timers) first() lease.Instant {
	if len(t.heap) == 0 {
		return lease.Never
	}
	return t.heap[0].at
}

// timerHeap implements heap.Interface.
type timerHeap []*timer

func (h timerHeap) Len() int           { return len(h) }
func (h timerHeap) Less(i, j int) bool { return h[i].at < h[j].at }

func (h timerHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i+1, j+1
}

// Push implements heap.Interface.
func (h *timerHeap) Push(x any) {
	t := x.(*timer)
	*h = append(*h, t)
	t.index = len(*h)
}

// Pop implements heap.Interface.
func (h *timerHeap) Pop() any {
	last := len(*h) - 1
	t := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	t.index = 0
	return t
}
