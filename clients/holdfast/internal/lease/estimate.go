// Package lease computes, for the holder of a lease, when it must be considered over. It is pure: it is
// told the time, and sends nothing.
package lease

import (
	"slices"
	"time"
)

// Estimate is the end of a lease as its holder knows it: never later than the service's, whichever of the
// attempts to extend the lease have arrived, in whichever order, and in whichever order their answers come. It
// assumes that an attempt arrives within the time that it asks for, or never.
//
// The holder counts from the moment when a request was sent. The service counts from a later one, so the
// lease ends here first (Gray and Cheriton, Leases, 1989, section 2).
type Estimate struct {
	// asked is what the next attempt asks for, agreed what the last answer granted.
	asked, agreed time.Duration
	until         time.Time
	// open are the attempts that the service may have granted last, or may grant yet, the oldest first.
	open []attempt
}

// attempt is one request for more time.
type attempt struct {
	id   uint64
	sent time.Time
	ttl  time.Duration
	// settled: its answer has come, or does not matter any more. It may still cut a longer lease short.
	settled bool
	// before is the latest attempt that was sent before its answer came: later ones are decided behind it.
	// 0: no answer has come.
	before uint64
}

// Margin is how much earlier than the service the holder considers a lease over: room for a late timer
// and for clocks that run at different speeds.
func Margin(ttl time.Duration) time.Duration {
	return min(max(ttl/8, 15*time.Millisecond), time.Second)
}

// New returns the estimate of a lease of which so much remained in the answer to a request sent then.
func New(sent time.Time, remaining, ttl time.Duration) Estimate {
	return Estimate{asked: ttl, agreed: ttl, until: sent.Add(remaining - Margin(ttl))}
}

// Until is when the lease must be considered over.
func (e *Estimate) Until() time.Time { return e.until }

// End is when the service considers the lease over, unless an attempt was delayed on its way.
func (e *Estimate) End() time.Time {
	end := e.until.Add(Margin(e.agreed))
	for _, a := range e.open {
		if ends := a.sent.Add(a.ttl); ends.After(end) {
			end = ends
		}
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
	a := attempt{id: id, sent: at, ttl: e.asked}
	e.open = append(e.open, a)
	e.bound(a.ends(a.sent))
}

func (e *Estimate) bound(until time.Time) {
	if until.Before(e.until) {
		e.until = until
	}
}

// Granted takes in that the service granted an attempt, when so much remained; no more than was asked for counts. Other open attempts may cut
// the lease short: older ones, which may take longer on another route, and those whose answer has overtaken this
// one. Granted returns when the attempt was sent, and the attempts whose answers do not matter any more; not ok
// if the attempt is not open.
func (e *Estimate) Granted(id uint64, remaining time.Duration) (sent time.Time, settled []uint64, ok bool) {
	i := slices.IndexFunc(e.open, func(a attempt) bool { return a.id == id && !a.settled })
	if i < 0 {
		return time.Time{}, nil, false
	}
	e.open[i].before = e.open[len(e.open)-1].id
	by := e.open[i]
	e.agreed = by.ttl
	e.until = by.sent.Add(min(remaining, by.ttl) - Margin(by.ttl))
	left := e.open[:0]
	for _, a := range e.open {
		over := a.precedes(by)
		if !a.settled && (over || a.id <= by.id && a.ttl >= by.ttl) {
			a.settled = true
			settled = append(settled, a.id)
		}
		if !over {
			left = append(left, a)
			e.bound(a.ends(by.sent))
		}
	}
	e.open = left
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

// precedes reports whether the service cannot have granted the attempt behind the other one.
func (a attempt) precedes(other attempt) bool {
	return a.id < other.id && (a.before != 0 && a.before < other.id || !other.sent.Before(a.ends(a.sent)))
}

// ends is when the lease may be over if the service granted the attempt, after what was asked for at sent.
func (a attempt) ends(sent time.Time) time.Time {
	if sent.Before(a.sent) {
		sent = a.sent
	}
	return sent.Add(a.ttl - Margin(a.ttl))
}
