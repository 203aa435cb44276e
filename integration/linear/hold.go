package linear

import "github.com/holdfast-io/holdfast/messages"

// isOver reports whether the delay of the lost lease can have been over when the operation was answered.
func (m model) isOver(s state, o *Operation) bool {
	return s.delay > 0 && (o.Return == Never || o.Return >= s.bound+s.delay-m.slack)
}

// lapse lets a delay be over that can have been over when the operation was answered.
func (m model) lapse(s state, o *Operation) state {
	if s.hold == heldBack && m.isOver(s, o) {
		s.hold, s.bound = holdOver, s.bound+s.delay
	}
	return s
}

// takesBack reports whether an acquire takes back what its owner has lost.
func (s state) takesBack(o *Operation) bool {
	return s.hold == heldBack && o.Owner == s.owner && !s.confirm
}

// back is an answer that the resource is held back, by the last lease.
func (m model) back(s state, o *Operation) (bool, state) {
	s = m.settle(s, o)
	ok := s.hold == heldBack && s.holder.shows(o.Shown) && len(o.Holders) == 0
	return ok && o.Endless == (s.delay == 0), s
}

// confirm is a confirmation of a loss. Repeated, it has the same answer until the next grant, and also when the delay
// was over before.
func (m model) confirm(s state, o *Operation) (bool, state) {
	lost := m.settle(s, o)
	last := s.end != unused && o.Token == s.token
	switch o.Status {
	case messages.Status_RELEASED:
		return last && lost.hold != noHold, lost.confirmed(o)
	case messages.Status_STALE_TOKEN:
		if held, after := m.refused(s, o, func(holder) bool { return false }); held {
			return true, after // a lease that may have run out need not have
		}
		return !last && lost.hold == heldBack && lost.holder.shows(o.Shown), lost
	case messages.Status_NOT_HELD:
		after := m.lapse(lost, o)
		return after.free() && (!last || after.hold == noHold), after
	case messages.Status_STATUS_UNSPECIFIED:
		if last {
			return true, lost.confirmed(o)
		}
		return true, s
	default:
		return false, s
	}
}

// confirmed is the state when the operation has confirmed the loss, if the resource was held back.
func (s state) confirmed(o *Operation) state {
	if s.hold == heldBack {
		s.hold, s.bound = holdOver, max(s.bound, o.Call)
	}
	return s
}
