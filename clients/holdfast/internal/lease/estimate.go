// Package lease computes, for the holder of a lease, when it must be considered over. It is pure: the caller
// passes the time, and it sends nothing.
package lease

import (
	"slices"
	"time"
)

// MaxOrder is the highest order of the contract.
const MaxOrder uint64 = 1<<53 - 1

// Estimate is the end of a lease as its holder knows it: never later than the service's, whichever of the
// attempts to extend the lease have arrived, in whichever order, and in whichever order their answers come.
//
// If the service compares the order of attempts, each answer shows the highest order that was decided. Earlier orders
// change nothing any more, and attempts of the same order ask for the same, so they only lengthen. Later orders may
// still cut the lease short. Without orders it is assumed that an attempt arrives within the time that it asks for, or
// never.
//
// The holder counts from the moment when a request was sent. The service counts from a later one, so the
// lease ends here first (Gray and Cheriton, Leases, 1989, section 2).
type Estimate struct {
	// asked is what the next attempt asks for, agreed what the last answer granted.
	asked, agreed time.Duration
	until         time.Time
	// order is that of the next attempt, 0 if the service compares none. decided is the highest that an answer has
	// shown.
	order, decided uint64
	// open are the attempts that the service may have granted last, or may grant yet, the oldest first.
	open []attempt
}

// attempt is one request for more time.
type attempt struct {
	id   uint64
	sent time.Time
	ttl  time.Duration
	// order is that of what it asks for.
	order uint64
	// settled: its answer has come, or does not matter any more. It may still cut a longer lease short.
	settled bool
	// before is the latest attempt that was sent before its answer came: later ones are decided behind it.
	// 0: no answer has come.
	before uint64
}

// Margin is how much earlier than the service the holder considers a lease over: room for a late timer
// and for clocks that run at different speeds, by a thousandth: twice as much as NTP corrects them by.
func Margin(ttl time.Duration) time.Duration {
	return max(min(max(ttl/8, 15*time.Millisecond), time.Second), ttl/1000)
}

// New returns the estimate of a lease of which so much remained in the answer to a request sent then.
func New(sent time.Time, remaining, ttl time.Duration) Estimate {
	return Estimate{asked: ttl, agreed: ttl, until: sent.Add(remaining - Margin(max(remaining, ttl)))}
}

// Above gives the attempts orders above one that the service has shown.
func (e *Estimate) Above(order uint64) {
	e.decided, e.order = order, min(order+1, MaxOrder)
}

// Order is that of the next attempt; 0: none.
func (e *Estimate) Order() uint64 { return e.order }

// Change gives the next attempts another order, because they ask for something else.
func (e *Estimate) Change() {
	if e.order > 0 {
		e.order = min(e.order+1, MaxOrder)
	}
}

// Until is when the lease must be considered over.
func (e *Estimate) Until() time.Time { return e.until }

// End is when the service considers the lease over, unless an attempt was delayed on its way.
func (e *Estimate) End() time.Time {
	end := e.until.Add(Margin(e.agreed))
	for _, a := range e.open {
		end = Later(end, a.sent.Add(a.ttl))
	}
	return end
}

// Asked is the TTL that the next attempt asks for.
func (e *Estimate) Asked() time.Duration { return e.asked }

// Agreed is the TTL that the last answer granted.
func (e *Estimate) Agreed() time.Duration { return e.agreed }

// Ask sets what the next attempts ask for.
func (e *Estimate) Ask(ttl time.Duration) { e.asked = ttl }

// Sent takes in that an attempt was sent. Attempts have growing ids. One that asks for less than is left
// makes the lease shorter at once, because the service may have granted it.
func (e *Estimate) Sent(id uint64, at time.Time) {
	a := attempt{id: id, sent: at, ttl: e.asked, order: e.order}
	e.open = append(e.open, a)
	e.until = Earlier(e.until, a.ends(a.sent)) // mutant: ShorterLeaseNotBelieved
}

// Earlier returns the earlier of two moments.
func Earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// Later returns the later of two moments.
func Later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// Granted takes in that the service granted an attempt, when so much remained, and order was the highest that it had
// decided; 0: it compares none, and then no more than was asked for counts. Open attempts that it may decide later can
// cut the lease short. Granted returns when the attempt was sent, and the attempts whose answers do not matter any
// more; not ok if the attempt is not open. An order above that of all attempts is another client's: the next attempt is
// above it.
func (e *Estimate) Granted(id uint64, remaining time.Duration, order uint64) (sent time.Time, settled []uint64,
	ok bool) {
	i := slices.IndexFunc(e.open, func(a attempt) bool { return a.id == id && !a.settled })
	if i < 0 {
		return time.Time{}, nil, false
	}
	e.open[i].before = e.open[len(e.open)-1].id
	by := e.open[i]
	if by.order == 0 {
		order, remaining = 0, min(remaining, by.ttl)
	}
	if order == by.order {
		e.agreed = by.ttl
	}
	until := by.sent.Add(remaining - Margin(max(remaining, by.ttl)))
	left := e.open[:0]
	for _, a := range e.open {
		over, answered := a.precedes(by, order)
		if !a.settled && answered { // mutant: AnswersBelievedInOrder
			a.settled = true
			settled = append(settled, a.id)
		}
		if over && answered {
			continue
		}
		left = append(left, a)
		if !over {
			until = Earlier(until, a.ends(by.sent)) // mutant: AnswersInTheOrderOfTheirArrival
		}
	}
	e.open = left
	if order == 0 || order > e.decided || until.After(e.until) { // mutant: AnswersInTheOrderOfTheirArrival
		e.until = until
	}
	if e.decided = max(e.decided, order); order > e.order {
		e.Above(order)
	}
	return by.sent, settled, true
}

// Drop takes in that an attempt had no effect.
func (e *Estimate) Drop(id uint64) {
	e.open = slices.DeleteFunc(e.open, func(a attempt) bool { return a.id == id })
}

// DropAll forgets the open attempts and returns them.
func (e *Estimate) DropAll() []uint64 {
	ids := make([]uint64, len(e.open))
	for i, a := range e.open {
		ids[i] = a.id
	}
	e.open = nil
	return ids
}

// HasOpen reports whether the answer to an attempt matters that is later than the one of this id; 0: to any.
func (e *Estimate) HasOpen(behind uint64) bool {
	return slices.ContainsFunc(e.open, func(a attempt) bool { return a.id > behind && !a.settled })
}

// IsOpenBefore reports whether the service may yet decide on an attempt that is older than the one of this id.
func (e *Estimate) IsOpenBefore(id uint64) bool {
	return slices.ContainsFunc(e.open, func(a attempt) bool { return a.id < id })
}

// precedes reports about the attempt, when another one was granted and the service had decided this order: over that it
// cannot cut the lease short any more, answered that its own answer does not matter.
func (a attempt) precedes(by attempt, order uint64) (over, answered bool) {
	if order > 0 {
		over = a.order < order || a.order == by.order // else the order may be another client's
		return over, a.order < order || a.id <= by.id // mutant: AnswersInTheOrderOfTheirArrival
	}
	over = a.id < by.id && (a.before != 0 && a.before < by.id || !by.sent.Before(a.ends(a.sent)))
	return over, over || a.id <= by.id && a.ttl >= by.ttl // mutant: AnswersInTheOrderOfTheirArrival
}

// ends is when the lease may be over if the service granted the attempt, after what was asked for at sent.
func (a attempt) ends(sent time.Time) time.Time {
	if sent.Before(a.sent) {
		sent = a.sent
	}
	return sent.Add(a.ttl - Margin(a.ttl))
}
