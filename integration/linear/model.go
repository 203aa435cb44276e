package linear

import (
	"fmt"
	"time"

	"github.com/holdfast-io/holdfast/messages"
)

// state is a resource between two operations, as a lock that does one thing at a time would have it.
type state struct {
	// owner, request and token are those of the last grant.
	owner, request string
	token          uint64
	end            ending
	// bound: while held, the earliest moment at which the lease may run out; after that, the earliest
	// at which it ended.
	bound time.Duration
}

// ending is how the last lease ended, if it has.
type ending uint8

const (
	unused ending = iota
	held
	released
	expired
	broken
)

var endings = [...]string{"never held", "held", "released", "expired", "broken"}

func (s state) String() string {
	if s.end == unused {
		return endings[unused]
	}
	return fmt.Sprintf("%s by %s, token %d, not before %v", endings[s.end], s.owner, s.token, s.bound)
}

// model is the lock that a history is held against.
//
// A lease ends by itself no earlier than its TTL after its request was sent, and an operation that finds it ended
// says so no earlier. That it has ended is inferred when it is observed. Where the contract leaves
// nothing open the model leaves nothing open either: it allows exactly what docs/wire.md and decision
// 0009 do.
type model struct {
	// slack is by how much times may be wrong.
	slack time.Duration
	// ephemeral: tokens may be left out, and how a lease ended may be forgotten.
	ephemeral bool
}

// step tells whether the operation may have its answer where the resource stands, and where it stands
// then. An operation without an answer may have had its effect, unless that is impossible there.
func (m model) step(s state, o *Operation) (bool, state) {
	switch o.Kind {
	case messages.OpAcquire:
		return m.acquire(s, o)
	case messages.OpRelease, messages.OpExtend:
		return m.use(s, o)
	case messages.OpBreak:
		return m.breakLease(s, o)
	default:
		return m.get(s, o)
	}
}

// settle lets the lease run out if its time can have passed when the operation was answered.
func (m model) settle(s state, o *Operation) state {
	if s.end == held && (o.Return == Never || o.Return >= s.bound-m.slack) {
		s.end = expired
	}
	return s
}

func (m model) acquire(s state, o *Operation) (bool, state) {
	switch after := m.settle(s, o); o.Status {
	case messages.Status_GRANTED:
		if s.shows(o.Shown) && s.again(o) {
			if o.Reentrant {
				s.bound = max(s.bound, o.Call+millis(o.TTL))
			}
			return true, s
		}
		fresh := !s.granted(o) || m.ephemeral && o.Shown.Token > s.token+1 // the owner may have changed
		return after.end != held && fresh && m.next(s, o.Shown.Token) && o.Shown.Owner == o.Owner, after.grant(o, o.Shown.Token)
	case messages.Status_HELD:
		return s.shows(o.Shown) && o.Wait == 0 && !s.again(o), s
	case messages.Status_TIMEOUT:
		return s.end == held && o.Wait > 0, s
	case messages.Status_CANCELLED:
		return true, s // that it was withdrawn, the check of the answers knows
	case messages.Status_RELEASED, messages.Status_EXPIRED:
		return m.late(s, after, o)
	case messages.Status_STATUS_UNSPECIFIED:
		if after.end == held || s.granted(o) {
			return true, s
		}
		taken := after.grant(o, s.token+1)
		taken.bound = o.Call // it may have been taken back at once
		return true, taken
	default:
		return false, s
	}
}

// late is an acquire that was told how its lease had ended. Of an earlier lease than the last one the model
// knows no more than that it has ended.
func (m model) late(s, after state, o *Operation) (bool, state) {
	if o.Shown.Owner != o.Owner || o.Shown.Token == 0 || o.Shown.Token > s.token {
		return false, s
	}
	if o.Shown.Token < s.token {
		return true, s
	}
	if !s.granted(o) && !o.Reentrant {
		return false, s
	}
	if o.Status == messages.Status_RELEASED {
		return s.end == released, s
	}
	return after.end == expired || after.end == broken, after
}

// release is a release of one request. What the model does not know of an earlier one than the last, the
// check of the answers does.
func (m model) release(s state, o *Operation) (bool, state) {
	after := m.settle(s, o)
	last := s.granted(o)
	switch o.Status {
	case messages.Status_CANCELLED:
		return s.end == held, s
	case messages.Status_RELEASED:
		if last && s.end == held {
			return true, s.ended(released, o)
		}
		return s.end != unused && (!last || s.end == released), s
	case messages.Status_EXPIRED:
		if last {
			return after.end == expired || after.end == broken, after
		}
		return s.end != unused, s
	case messages.Status_NOT_HELD:
		return !last || m.ephemeral && after.end != held, s
	case messages.Status_STATUS_UNSPECIFIED:
		if last && s.end == held {
			return true, s.ended(released, o)
		}
		return true, s
	default:
		return false, s
	}
}

// use is a release or an extend.
func (m model) use(s state, o *Operation) (bool, state) {
	if o.named() {
		return m.release(s, o)
	}
	mine := s.isOf(o)
	after := m.settle(s, o)
	taken := after.end == expired || after.end == broken
	switch o.Status {
	case messages.Status_RELEASED, messages.Status_EXTENDED:
		if mine && s.end == held {
			return true, s.used(o)
		}
		return o.Status == messages.Status_RELEASED && mine && s.end == released, s
	case messages.Status_CANCELLED:
		return s.end == held && o.RequestID != "", s
	case messages.Status_EXPIRED:
		return mine && taken, after
	case messages.Status_NOT_HELD:
		told := mine && (taken || o.Kind == messages.OpRelease && after.end == released)
		return after.end != held && (!told || m.ephemeral), after
	case messages.Status_NOT_OWNER:
		return s.shows(o.Shown) && s.owner != o.Owner, s
	case messages.Status_STALE_TOKEN:
		return s.shows(o.Shown) && s.owner == o.Owner && !mine, s
	case messages.Status_STATUS_UNSPECIFIED:
		if mine && s.end == held {
			return true, s.used(o)
		}
		return true, s
	default:
		return false, s
	}
}

func (m model) breakLease(s state, o *Operation) (bool, state) {
	current := o.Token == s.token
	after := m.settle(s, o)
	switch o.Status {
	case messages.Status_RELEASED:
		if current && s.end == held {
			return true, s.ended(broken, o)
		}
		return current && s.end == broken, s
	case messages.Status_NOT_HELD:
		told := current && after.end == broken
		return after.end != held && (!told || m.ephemeral), after
	case messages.Status_STALE_TOKEN:
		return s.shows(o.Shown) && !current, s
	case messages.Status_STATUS_UNSPECIFIED:
		if current && s.end == held {
			return true, s.ended(broken, o)
		}
		return true, s
	default:
		return false, s
	}
}

func (m model) get(s state, o *Operation) (bool, state) {
	switch o.Status {
	case messages.Status_HELD:
		return s.shows(o.Shown), s
	case messages.Status_FREE:
		after := m.settle(s, o)
		last := o.Shown.Token == s.token || m.ephemeral && (o.Shown.Token > s.token || o.Shown.Token == 0)
		return after.end != held && last, after
	default:
		return o.Status == 0, s
	}
}

// next reports whether a grant may have this token.
func (m model) next(s state, token uint64) bool {
	return token == s.token+1 || m.ephemeral && token > s.token
}

// shows reports whether the resource is held, under this lease.
func (s state) shows(l Shown) bool {
	return s.end == held && l.Owner == s.owner && l.Token == s.token
}

// isOf reports whether the last lease was the asker's. Token 0 stands for whatever it was.
func (s state) isOf(o *Operation) bool {
	return s.end != unused && o.Owner == s.owner && (o.Token == 0 || o.Token == s.token)
}

// again reports whether the acquire gets the lease back that it has: as a repetition, or reentrantly.
func (s state) again(o *Operation) bool {
	return o.Owner == s.owner && (o.Reentrant || o.RequestID != "" && o.RequestID == s.request)
}

// granted reports whether the last lease was granted to the request that the operation names.
func (s state) granted(o *Operation) bool {
	return s.end != unused && o.Owner == s.owner && o.RequestID != "" && o.RequestID == s.request
}

// grant gives the resource to the owner of the request. Its lease begins no earlier than its request was sent,
// nor than the one before can have ended.
func (s state) grant(o *Operation, token uint64) state {
	start := max(o.Call, s.bound)
	return state{owner: o.Owner, request: o.RequestID, token: token, end: held, bound: start + millis(o.TTL)}
}

// used is the lease released or extended.
func (s state) used(o *Operation) state {
	if o.Kind == messages.OpRelease {
		return s.ended(released, o)
	}
	s.bound = o.Call + millis(o.TTL)
	return s
}

func (s state) ended(how ending, o *Operation) state {
	s.end, s.bound = how, o.Call
	return s
}
