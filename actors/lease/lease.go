package lease

import (
	"time"

	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/journal"
)

// Lease is a lease of a resource, as the owner of the resource knows it.
type Lease struct {
	// Grant is never modified, only replaced, so that images, records and answers may share it.
	Grant *journal.Grant
	// Deadline is when a lease that is held ends, [Never] if it is in a session: see [Sessions.Deadline]. Of a lost
	// lease that holds its resource back it is when the delay is over, [Never] if there is no delay; if the resource
	// rests, when that is over, the later of both. 0 of any other lease.
	Deadline Instant
	// How is ACQUIRED while the lease is held, else how it ended: CONFIRMED if it was lost and held the resource back
	// until that was over.
	How messages.Event_Kind
	// RestMs is what was left of the shortest hold in milliseconds when the lease ended, as it is recorded; 0: nothing,
	// or the rest is over.
	RestMs uint32
	// Rest is when the shortest hold is over, also of a lease that has ended; 0: it has none.
	Rest Instant
}

// changed returns the lease after a change at now. before is the lease before the change, nil if it was not known.
func changed(c *journal.Change, before *Lease, now Instant) Lease {
	l := Lease{Grant: c.GetGrant(), How: c.GetKind()}
	switch {
	case !isHeld(c.GetKind()):
		l.RestMs = c.GetRestingMs()
		l.restart(now)
		if c.GetKind() == messages.Event_CONFIRMED && before != nil && before.How == messages.Event_RELEASED {
			l.How = before.How // its release can be repeated
		}
	// mutant: SetRestartsTheLease
	case c.GetKind() == messages.Event_UPDATED && before != nil: // new metadata leave the times as they were
		l.How, l.Deadline, l.Rest = messages.Event_ACQUIRED, before.Deadline, before.Rest
	default:
		l.How = messages.Event_ACQUIRED
		l.restart(now)
		if before != nil && before.isHeld() {
			l.Rest = before.Rest // an extension does not begin it anew
		}
	}
	return l
}

// restart lets all times of the lease run from now.
func (l *Lease) restart(now Instant) {
	left := l.RestMs
	if l.isHeld() {
		left = l.Grant.GetMinHoldMs()
	}
	if l.Rest = 0; left > 0 {
		l.Rest = now.Add(ttl(left))
	}
	l.Deadline = l.fullTime(now)
}

// isHeld reports whether a lease is held after a change of this kind.
func isHeld(kind messages.Event_Kind) bool {
	return kind == messages.Event_ACQUIRED || kind == messages.Event_EXTENDED || kind == messages.Event_UPDATED
}

// token identifies the lease.
func (l *Lease) token() messages.Token { return messages.Token(l.Grant.GetToken()) }

// isHeld reports whether the lease has not ended.
func (l *Lease) isHeld() bool { return l.How == messages.Event_ACQUIRED }

// isLost reports whether the lease was lost and holds its resource back.
func (l *Lease) isLost() bool {
	return (l.How == messages.Event_EXPIRED || l.How == messages.Event_BROKEN) && l.Grant.HoldsBack()
}

// rests reports whether the lease has ended and its shortest hold is not over.
func (l *Lease) rests() bool { return l.RestMs > 0 }

// holdsBack reports whether the lease has ended and nothing is granted because of it.
func (l *Lease) holdsBack() bool { return l.rests() || l.isLost() }

// isOver reports whether nothing is left of the lease, neither held nor held back.
func (l *Lease) isOver() bool { return !l.isHeld() && !l.holdsBack() }

// isEphemeral reports whether the lease is in memory only.
func (l *Lease) isEphemeral() bool { return l.Grant.GetDurability() == messages.Durability_EPHEMERAL }

// fullTime returns the deadline of a lease whose TTL, or whose delay if it is lost, begins now.
func (l *Lease) fullTime(now Instant) Instant {
	switch g := l.Grant; {
	case l.isHeld():
		return end(g, now)
	case !l.isLost():
		return l.Rest
	case g.GetDelayMs() == 0:
		return Never
	default:
		return max(l.Rest, now.Add(ttl(g.GetDelayMs())))
	}
}

// restLeft returns how many milliseconds of its shortest hold a held lease has left, rounded up; 0: none.
func (l *Lease) restLeft(now Instant) uint32 {
	if l.Rest <= now {
		return 0
	}
	return millis(l.Rest.Sub(now) + time.Millisecond - 1)
}

// end returns when a lease ends that runs from now; [Never] for a lease of a session.
func end(g *journal.Grant, now Instant) Instant {
	if len(g.GetSession()) > 0 {
		return Never
	}
	return now.Add(ttl(g.GetTtlMs())) // mutant: ExpiryEarly
}

func ttl(millis uint32) time.Duration { return time.Duration(millis) * time.Millisecond }

// Loss is the public view of a lost lease at now. Its remaining time is what is left of the delay; 0: the loss is to be
// confirmed.
func (l *Lease) Loss(now Instant) *messages.Lease {
	shown := l.Grant.Lease(0)
	shown.RemainingMs = l.delayLeft(now)
	return shown
}

// delayLeft returns how many milliseconds are left of the delay, rounded up so that it never reads 0 while a delay
// runs; 0: there is no delay.
func (l *Lease) delayLeft(now Instant) uint32 {
	if l.Deadline == Never {
		return 0
	}
	return max(1, millis(l.Deadline.Sub(now)+time.Millisecond-1))
}

func millis(d time.Duration) uint32 { return uint32(max(d.Milliseconds(), 0)) }
