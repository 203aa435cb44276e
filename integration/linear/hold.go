package linear

import (
	"time"

	"github.com/holdfast-io/holdfast/messages"
)

// isOver reports whether the delay of the lost lease can have been over when the operation was answered.
func (m model) isOver(s state, o *Operation) bool {
	return s.delay > 0 && (o.Return == Never || o.Return >= s.bound+s.delay-m.slack)
}

// isRested reports whether the shortest hold of the last lease can have been over when the operation was answered, if
// the resource rests.
func (m model) isRested(s state, o *Operation) bool {
	return !s.rests || o.Return == Never || o.Return >= s.rest-m.slack
}

// lapse lets a delay and a shortest hold be over that can have been over when the operation was answered.
func (m model) lapse(s state, o *Operation) state {
	if !m.isRested(s, o) {
		return s // a delay is over with it
	}
	switch {
	case s.hold == heldBack && m.isOver(s, o):
		s.hold, s.bound = holdOver, s.bound+s.delay
	case s.hold == heldBack:
		return s
	}
	if s.rests {
		s.rests, s.bound = false, max(s.bound, s.rest)
	}
	return s
}

// withdrawn is the state when the lease of a token was given back by a release of its request, or reached no client:
// nothing is left of its shortest hold.
func (s state) withdrawn(token uint64, bound time.Duration) state {
	s = s.without(token, released, bound)
	s.rests = s.rests && s.token != token
	return s
}

// takesBack reports whether an acquire takes back what its owner has lost.
func (s state) takesBack(o *Operation) bool {
	return s.hold == heldBack && o.Owner == s.owner && !s.confirm
}

// back is an answer that the resource is held back, by the last lease: it was lost, or its shortest hold is not over.
func (m model) back(s state, o *Operation) (bool, state) {
	s = m.settle(s, o)
	ok := (s.hold == heldBack || s.rests) && s.holder.shows(o.Shown) && len(o.Holders) == 0
	return ok && o.Endless == (s.hold == heldBack && s.delay == 0), s
}

// confirm is a confirmation of a loss, or the end of a rest. Repeated, it has the same answer until the next grant, and
// also when the delay or the shortest hold was over before. Whether a lease with a shortest hold has rested is not seen.
func (m model) confirm(s state, o *Operation) (bool, state) {
	lost := m.settle(s, o)
	last := s.end != unused && s.has(o.Token)
	switch o.Status {
	case messages.Status_RELEASED:
		rested := lost.minHold > 0 && lost.end != held
		return last && (lost.hold != noHold || rested), lost.confirmed(o)
	case messages.Status_STALE_TOKEN:
		if held, after := m.refused(s, o, func(holder) bool { return false }); held {
			return true, after // a lease that may have run out need not have
		}
		return !last && (lost.hold == heldBack || lost.rests) && lost.holder.shows(o.Shown), lost
	case messages.Status_NOT_HELD:
		after := m.lapse(lost, o)
		return after.free() && (!last || after.hold == noHold || after.minHold > 0), after
	case messages.Status_STATUS_UNSPECIFIED:
		if last {
			return true, lost.confirmed(o)
		}
		return true, s
	default:
		return false, s
	}
}

// confirmed is the state when the operation has confirmed the loss, if the resource was held back for that. What is left
// of the shortest hold then, only time ends; else the operation has ended it.
func (s state) confirmed(o *Operation) state {
	switch {
	case s.hold == heldBack:
		s.hold, s.bound = holdOver, max(s.bound, o.Call)
	case s.hold == noHold && s.rests:
		s.rests, s.bound = false, max(s.bound, o.Call)
	}
	return s
}
