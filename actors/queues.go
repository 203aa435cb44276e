package actors

import (
	"github.com/holdfast-io/holdfast/actors/lease"
)

// queue is what waits for a resource, as its actor has decided last.
type queue struct {
	activation *activation
	// waiting is how many requests wait, at least 1; since when the oldest of them does.
	waiting int
	since   lease.Instant
	// place is its index in [queues.all].
	place int
}

// lengths returns how many requests wait, and how long the oldest of them has waited at now.
func (q *queue) lengths(now lease.Instant) (waiting, oldestMs uint32) {
	return uint32(q.waiting), uint32(max(now.Sub(q.since).Milliseconds(), 0))
}

// queues are those of a term in which requests wait, in any order.
type queues struct {
	all []*queue
	lengths
}

// set notes what waits for the resource of an activation.
func (s *queues) set(a *activation, waiting int, since lease.Instant) {
	before := a.waiting()
	switch {
	case before == waiting && waiting == 0:
		return
	case before == 0:
		a.queue = &queue{activation: a, place: len(s.all)}
		s.all = append(s.all, a.queue)
	case waiting == 0:
		s.remove(a.queue)
	}
	s.change(before, waiting)
	a.queue.waiting, a.queue.since = waiting, since
	if waiting == 0 {
		a.queue = nil
	}
}

// remove puts the last queue in the place of another one.
func (s *queues) remove(q *queue) {
	end := len(s.all) - 1
	last := s.all[end]
	s.all[q.place], last.place = last, q.place
	s.all[end] = nil
	s.all = s.all[:end]
}
