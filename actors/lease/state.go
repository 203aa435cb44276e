package lease

import (
	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/journal"
)

// State is everything that the owner knows of one resource: its image and its queue.
// The queue is empty while the resource is free. A State belongs to one goroutine.
type State struct {
	resource string
	image    Image
	queue    queue
	// doubted is the token of a grant to a waiter of whom nothing has been heard since: only that
	// one may a [Undeliverable] take back. A new State doubts none; there the lease runs out by itself.
	doubted messages.Token
	// reserved is the highest token that ephemeral leases may have without being recorded.
	reserved messages.Token
	// past knows the requests that have ended since the shard was opened; the image knows the last grant's
	// also if that was before.
	past *EndedRequests
	// ended is when this State told past of the end of the last grant; 0: it has not.
	ended Instant
}

// New returns the state of a resource as its image has it, with an empty queue. The memory of ended
// requests is the shard's.
func New(resource string, image Image, past *EndedRequests) *State {
	return &State{resource: resource, image: image, past: past}
}

// Image returns what the owner remembers: what is recorded once everything decided so far is
// confirmed, and an ephemeral lease if that is the last one.
func (s *State) Image() Image { return s.image }

// Ephemeral returns the present lease if it is ephemeral: only this State knows of it.
func (s *State) Ephemeral() (Image, bool) {
	return s.image, s.image.Held() && s.image.ephemeral()
}

// Waiting returns how many requests are queued.
func (s *State) Waiting() int { return len(s.queue.waiters) }

// Wake returns when the next [Tick] is due, or [Never]. It may be before the next instant at which
// one changes something, and is never after it.
func (s *State) Wake() Instant {
	if !s.image.Held() {
		return Never
	}
	return min(s.image.Deadline, s.queue.soonest())
}

// Step takes the state over an event at now, and returns what it led to. Time must not go back.
func (s *State) Step(now Time, e Event) Outcome {
	var o Outcome
	s.settle(now, &o)
	held := s.image.Held()
	switch e := e.(type) {
	case Acquire:
		s.acquire(now, e, &o)
	case Release:
		s.release(now, e, &o)
	case Extend:
		s.extend(now, e, &o)
	case Get:
		s.get(now, e, &o)
	case Break:
		s.breakLease(now, e, &o)
	case Undeliverable:
		s.takeBack(now, e, &o)
	case Dismiss:
		s.dismiss(e, &o)
	case Surrender:
		s.surrender(now, &o)
	case Tick:
	}
	o.Ephemeral = len(o.Changes) == 0 && s.image.ephemeral() && (held || s.image.Held())
	return o
}

// settle does what is due: waits that have run out, then the lease if its time has passed.
func (s *State) settle(now Time, o *Outcome) {
	s.timeOut(now, o)
	if s.image.Held() && s.image.Deadline <= now.Instant {
		s.end(now, messages.Event_EXPIRED, "", o)
	}
}

// end lets the present lease end and hands the resource on to the first waiting request.
func (s *State) end(now Time, kind messages.Event_Kind, reason string, o *Outcome) {
	s.apply(now, &journal.Change{Kind: kind, Grant: s.image.Grant, Reason: reason}, o)
	s.past.End(now.Instant, s.image.Grant, kind)
	s.ended = now.Instant
	for !s.image.Held() {
		w, ok := s.queue.pop()
		if !ok {
			return
		}
		if over := s.over(w.request.GetOwner(), w.request.GetRequestId()); over != nil {
			o.answer(w.from, over) // reentrant, it had shared the lease
			continue
		}
		s.grant(now, w.request, w.from, true, o)
	}
}

// apply takes the image over a change, and has it recorded unless it is of an ephemeral lease.
func (s *State) apply(now Time, c *journal.Change, o *Outcome) {
	s.image.Apply(c, now.Instant)
	if !s.image.ephemeral() {
		s.reserved = 0 // a persistent grant ends a reservation
		o.change(c)
	}
}

// reply is an answer with nothing but a status, and with how many wait.
func (s *State) reply(status messages.Status) *messages.Reply {
	return &messages.Reply{Status: status, Waiting: uint32(s.Waiting())}
}

// replyHeld is an answer that shows the present lease.
func (s *State) replyHeld(now Time, status messages.Status) *messages.Reply {
	r := s.reply(status)
	r.Lease = s.image.Lease(now.Instant)
	return r
}
