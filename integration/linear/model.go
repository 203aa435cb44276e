package linear

import (
	"slices"
	"time"

	"github.com/holdfast-io/holdfast/messages"
)

// model is the lock that a history is held against.
//
// A lease ends by itself no earlier than its TTL after its request was sent, and an operation that finds it ended
// says so no earlier. That it has ended is inferred when it is observed: where several leases are held, from the
// permits that others get and from who is said to hold. Where the contract leaves nothing open the model leaves nothing
// open either: it allows exactly what docs/wire.md and docs/decisions/sharing.md do.
//
// The queue is no part of it: that a request waits which would fit is allowed if others wait, and [checkTurns] looks at
// the others.
type model struct {
	// slack is by how much times may be wrong.
	slack time.Duration
	// ephemeral: tokens may be left out, and how a lease ended may be forgotten.
	ephemeral bool
	// full: nodes may have reached their limit of leases, so an owner may not take back what it has lost.
	full bool
	// shared are the tokens of shared leases, and those before a downgrade: the end of such a lease is remembered by
	// its token while others hold.
	shared map[uint64]bool
}

// newModel returns the model of the resource that the steps are of.
func newModel(t Terms, ephemeral bool, steps []Operation) model {
	m := model{t.Slack, ephemeral, t.Full, make(map[uint64]bool)}
	for i := range steps {
		if o := &steps[i]; o.Shown.shared() {
			m.shared[o.Shown.Token] = true
			for token := o.Token; o.downgrades() && token < o.Shown.Token; token++ {
				m.shared[token] = true
			}
		}
	}
	return m
}

// step reports whether the operation may have its answer where the resource stands, and where it stands
// then. An operation without an answer may have had its effect, unless that is impossible there.
func (m model) step(s state, o *Operation) (bool, state) {
	switch o.Kind {
	case messages.OpAcquire:
		return m.acquire(s, o)
	case messages.OpRelease, messages.OpExtend, messages.OpSet:
		return m.use(s, o)
	case messages.OpKeep, messages.OpEnd:
		return m.session(s, o)
	case messages.OpBreak:
		return m.breakLease(s, o)
	case messages.OpConfirm:
		return m.confirm(s, o)
	default:
		return m.get(s, o)
	}
}

// isDue reports whether the time of the lease can have passed when the operation was answered.
func (m model) isDue(h holder, o *Operation) bool {
	return o.Return == Never || o.Return >= h.bound-m.slack
}

// settle lets the leases run out whose time can have passed when the operation was answered.
func (m model) settle(s state, o *Operation) state {
	for _, h := range s.holders() {
		if m.isDue(h, o) {
			s = s.without(h.token, expired, h.bound)
		}
	}
	return s
}

func (m model) acquire(s state, o *Operation) (bool, state) {
	switch after := m.settle(s, o); o.Status {
	case messages.Status_GRANTED:
		if h, ok := s.find(o.Shown.Token); ok && h.shows(o.Shown) && h.again(o) && h.highest(o) {
			if o.Reentrant && h.session == "" && h.tokens == 0 { // a repetition returns one with a block as it is
				h.bound = max(h.bound, o.Call+millis(o.TTL))
			}
			return true, s.with(h)
		}
		fresh := !m.remembers(s, o) || m.ephemeral && o.Shown.Token > s.last()+1 // the owner may have changed
		if !fresh || !m.next(s, o.Shown.Token) || o.Shown.Owner != o.Owner {
			return false, s
		}
		return m.enter(s, o)
	case messages.Status_HELD:
		ok, s := m.listed(s, o)
		return ok && o.Wait == 0 && !s.again(o) && (o.Waiting > 0 || !fits(s.holders(), o.most(), o.permits())), s
	case messages.Status_HELD_BACK:
		ok, s := m.back(s, o)
		return ok && o.Wait == 0 && (m.full || s.rests || !s.takesBack(o)), s
	case messages.Status_TIMEOUT:
		return !s.free() && o.Wait > 0, s
	case messages.Status_CANCELLED:
		return true, s // that it was withdrawn, the check of the answers knows
	case messages.Status_RELEASED, messages.Status_EXPIRED:
		return m.late(s, after, o)
	case messages.Status_STATUS_UNSPECIFIED:
		return true, m.maybe(s, after, o)
	default:
		return false, s
	}
}

// remembers reports whether the service must know of a grant to the request: the last one, or one that is held for
// certain. An earlier one may have run out before another owner opened the shard.
func (m model) remembers(s state, o *Operation) bool {
	return s.lastGranted(o) || slices.ContainsFunc(s.others,
		func(h holder) bool { return h.isFor(o) && !m.isDue(h, o) })
}

// enter is a grant. What it shows says which leases have ended: all of another phase, and those whose permits it got.
func (m model) enter(s state, o *Operation) (bool, state) {
	how := o.Shown.sharing
	if o.Highest != 0 || o.Shown.Value != o.Value || o.Shown.Session != o.label() {
		return false, s
	}
	if how.Limit != o.Limit && how.most() != o.most() || how.permits() != o.permits() || o.Shown.Tokens != block(o.Tokens) {
		return false, s
	}
	slots := how.numbers()
	var sure []holder // those that have not ended
	after := s
	start := o.Call
	for _, h := range s.holders() {
		gone := !how.shared() || !h.shared() || h.Phase != how.Phase ||
			slices.ContainsFunc(h.numbers(), func(n uint32) bool { return slices.Contains(slots, n) })
		switch due := m.isDue(h, o); {
		case gone && !due:
			return false, s
		case gone:
			after, start = after.without(h.token, expired, h.bound), max(start, h.bound)
		case !due:
			sure = append(sure, h)
		}
	}
	beside := after.holders()
	if !m.isRested(after, o) {
		return false, s
	}
	if after.rests {
		start = max(start, after.rest)
	}
	switch {
	case after.hold != heldBack || after.takesBack(o):
	case m.isOver(after, o):
		start = max(start, after.bound+after.delay)
	default:
		return false, s
	}
	if !fits(sure, o.most(), how.permits()) || how.shared() && how.Phase != o.Shown.Token && len(beside) == 0 {
		return false, s
	}
	if how.shared() && !slices.Equal(slots, smallestFree(how.permits(), taken(beside))) {
		return false, s
	}
	after = after.grant(o, o.Shown.Token, how)
	if o.Session == "" {
		after.bound = max(after.bound, start+millis(o.TTL))
	}
	after.rest = max(after.rest, start+after.minHold)
	return true, after
}

// maybe is an acquire without an answer, which may have been granted.
func (m model) maybe(s, after state, o *Operation) state {
	if s.granted(o) {
		return s
	}
	for _, at := range []state{s, after} {
		if at.hold == heldBack && !at.takesBack(o) && !m.isOver(at, o) || !m.isRested(at, o) {
			continue
		}
		if all := at.holders(); fits(all, o.most(), o.permits()) {
			at = at.grant(o, s.last()+1, next(all, s.last()+1, o))
			at.bound, at.rest = o.Call, o.Call // it may have been taken back at once
			return at
		}
	}
	return s
}

// listed holds those that the answer says hold the resource against the state: what is left out has run out.
func (m model) listed(s state, o *Operation) (bool, state) {
	if !s.shows(o.Shown) {
		return false, s
	}
	if len(o.Holders) == 0 { // a script
		return true, s
	}
	all, permits := s.holders(), uint64(0)
	for _, l := range o.Holders {
		i := slices.IndexFunc(all, func(h holder) bool { return h.shows(l) })
		if i < 0 {
			return false, s
		}
		permits += l.permits()
	}
	if len(o.Holders) >= mostListed {
		return true, s
	}
	for _, h := range all {
		if slices.ContainsFunc(o.Holders, h.shows) {
			continue
		}
		if !m.isDue(h, o) {
			return false, s
		}
		s = s.without(h.token, expired, h.bound)
	}
	return uint64(o.Held) == permits && o.Holders[0] == o.Shown, s
}

// mostListed is how many holders an answer shows.
const mostListed = 100

// late is an acquire whose answer says how its lease had ended. Of an earlier lease than the last one the model
// knows no more than that it has ended.
func (m model) late(s, after state, o *Operation) (bool, state) {
	if o.Shown.Owner != o.Owner || o.Shown.Token == 0 || o.Shown.Token > s.token {
		return false, s
	}
	if o.Shown.Token < s.token {
		return m.earlier(s, o, o.Shown.Token)
	}
	if !s.lastGranted(o) && !o.Reentrant {
		return false, s
	}
	if o.Status == messages.Status_RELEASED {
		return s.end == released, s
	}
	if after.end != expired && after.end != broken {
		return false, s
	}
	return true, m.over(s)
}

// over is the state when the last lease has ended.
func (m model) over(s state) state {
	if s.end == held {
		return s.without(s.token, expired, s.bound)
	}
	return s
}

// earlier is the end, as the answer shows, of a lease that is not the last one.
func (m model) earlier(s state, o *Operation, token uint64) (bool, state) {
	h, ok := s.find(token)
	if !ok {
		return true, s
	}
	return o.Status == messages.Status_EXPIRED && m.isDue(h, o), s.without(token, expired, h.bound)
}

// release is a release of one request. What the model does not know of an earlier one than the last, the
// check of the answers does.
func (m model) release(s state, o *Operation) (bool, state) {
	after := m.settle(s, o)
	last := s.lastGranted(o)
	for _, h := range s.holders() {
		if !h.isFor(o) {
			continue
		}
		switch o.Status {
		case messages.Status_RELEASED, messages.Status_STATUS_UNSPECIFIED:
			return true, s.withdrawn(h.token, o.Call)
		case messages.Status_EXPIRED:
			return m.isDue(h, o), s.without(h.token, expired, h.bound)
		}
	}
	switch o.Status {
	case messages.Status_CANCELLED:
		return !s.free(), s
	case messages.Status_RELEASED:
		return s.end != unused && (!last || s.end == released), s
	case messages.Status_EXPIRED:
		return s.end != unused && (!last || s.end == expired || s.end == broken), s
	case messages.Status_NOT_HELD:
		return !m.remembers(s, o) || m.ephemeral && after.free(), s
	case messages.Status_STATUS_UNSPECIFIED:
		return true, s
	default:
		return false, s
	}
}

// use is a release, an extend or a set.
func (m model) use(s state, o *Operation) (bool, state) {
	if o.named() {
		return m.release(s, o)
	}
	mine := s.isOf(o)
	after := m.settle(s, o)
	own, holds := s.own(o)
	if !holds { // some may have run out
		own, holds = after.own(o)
	}
	taken := after.end == expired || after.end == broken
	switch o.Status {
	case messages.Status_RELEASED, messages.Status_EXTENDED, messages.Status_UPDATED:
		if holds {
			return m.using(s, own, o)
		}
		return o.Status == messages.Status_RELEASED && (mine && s.end == released || m.ended(s, o)), s
	case messages.Status_CANCELLED:
		return !s.free() && o.RequestID != "", s
	case messages.Status_EXPIRED:
		if holds {
			return m.isDue(own, o), s.without(own.token, expired, own.bound)
		}
		return mine && taken || m.ended(s, o), s
	case messages.Status_NOT_HELD:
		if o.Kind != messages.OpRelease && !holds && m.ended(s, o) {
			return true, s // it was released
		}
		known := mine && (taken || o.Kind == messages.OpRelease && after.end == released)
		return after.unheld() && (!known || m.ephemeral), after
	case messages.Status_NOT_OWNER:
		return m.refused(s, o, func(h holder) bool { return h.owner == o.Owner })
	case messages.Status_STALE_TOKEN:
		ok, s := m.refused(s, o, func(h holder) bool { return h.token == own.token && holds && !h.needsPresent(o) })
		return ok && o.Shown.Owner == o.Owner && o.Token != 0, s
	case messages.Status_STATUS_UNSPECIFIED:
		if holds {
			if ok, next := m.using(s, own, o); ok {
				return true, next
			}
		}
		return true, s
	default:
		return false, s
	}
}

// ended reports whether the answer to the operation may say how the lease of its token ended: that of a shared one is
// remembered.
func (m model) ended(s state, o *Operation) bool { return m.shared[o.Token] && o.Token <= s.token }

// refused is an answer that shows another lease: those that it is not true of must have run out.
func (m model) refused(s state, o *Operation, contradicts func(holder) bool) (bool, state) {
	if !s.shows(o.Shown) {
		return false, s
	}
	for _, h := range s.holders() {
		if contradicts(h) {
			if h.token == o.Shown.Token || !m.isDue(h, o) {
				return false, s
			}
			s = s.without(h.token, expired, h.bound)
		}
	}
	return true, s
}

// using is a release, an extension or a set by the holder.
func (m model) using(s state, h holder, o *Operation) (bool, state) {
	if o.Kind == messages.OpExtend && o.Limit > 0 && o.most() != h.most() {
		return m.downgrade(s, h, o)
	}
	switch {
	case o.Kind == messages.OpRelease && o.withdraws:
		return true, s.withdrawn(h.token, o.Call)
	case o.Kind == messages.OpRelease:
		return true, s.without(h.token, released, o.Call)
	}
	h = h.used(o)
	same := o.Shown.Token == 0 || h.shows(o.Shown) && h.highest(o) || o.Status == messages.Status_STATUS_UNSPECIFIED
	return same, s.with(h)
}

// downgrade is an extension with a larger limit of a lease that is held alone.
func (m model) downgrade(s state, h holder, o *Operation) (bool, state) {
	if h.needsPresent(o) {
		return false, s
	}
	for _, other := range s.holders() {
		if other.token == h.token {
			continue
		}
		if !m.isDue(other, o) {
			return false, s
		}
		s = s.without(other.token, expired, other.bound)
	}
	token := s.last() + 1
	if o.Status != 0 {
		token = o.Shown.Token
	}
	if !m.next(s, token) || o.most() < h.most() || h.minHold > 0 {
		return false, s
	}
	h.tokens = 0
	h.former, h.token, h.bound = h.token, token, o.Call+millis(o.TTL)
	h.sharing = sharing{o.Limit, slotsText(h.numbers()), token}
	return o.Status == 0 || h.shows(o.Shown) && h.highest(o), state{holder: h, end: held}
}

func (m model) breakLease(s state, o *Operation) (bool, state) {
	h, holds := s.find(o.Token)
	last := s.has(o.Token)
	after := m.settle(s, o)
	switch o.Status {
	case messages.Status_RELEASED:
		if holds {
			return true, s.without(h.token, broken, m.brokenAt(h, o))
		}
		if last && s.end == broken {
			return true, s
		}
		after = m.lapse(after, o)
		return last && (after.hold == holdOver || after.end == expired && after.minHold > 0), after
	case messages.Status_NOT_HELD:
		known := last && (after.end == broken || s.hold == holdOver && s.minHold == 0)
		return after.unheld() && (!known || m.ephemeral), after
	case messages.Status_STALE_TOKEN:
		return m.refused(s, o, func(h holder) bool { return h.has(o.Token) })
	case messages.Status_STATUS_UNSPECIFIED:
		if holds {
			return true, s.without(h.token, broken, o.Call)
		}
		return true, s
	default:
		return false, s
	}
}

// brokenAt returns when a lease whose break was answered has ended at the earliest. The answer is the same if it had
// run out and its delay was over.
func (m model) brokenAt(h holder, o *Operation) time.Duration {
	if h.delay > 0 && o.Return >= h.bound+h.delay-m.slack {
		return min(h.bound, o.Call)
	}
	return o.Call
}

func (m model) get(s state, o *Operation) (bool, state) {
	switch o.Status {
	case messages.Status_HELD:
		return m.listed(s, o)
	case messages.Status_HELD_BACK:
		return m.back(s, o)
	case messages.Status_FREE:
		after := m.lapse(m.settle(s, o), o)
		last := o.Shown.Token == s.last() || m.ephemeral && (o.Shown.Token > s.last() || o.Shown.Token == 0)
		return after.free() && last, after
	default:
		return o.Status == 0, s
	}
}

// next reports whether a grant may have this token.
func (m model) next(s state, token uint64) bool {
	return token == s.last()+1 || m.ephemeral && token > s.last()
}
