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
	// lease that holds its resource back it is when the delay is over, [Never] if there is no delay. 0 of any other
	// lease.
	Deadline Instant
	// How is ACQUIRED while the lease is held, else how it ended: CONFIRMED if it was lost and held the resource back
	// until that was over.
	How messages.Event_Kind
}

// changed returns the lease after a change at now. before is its deadline before the change.
func changed(c *journal.Change, before, now Instant) Lease {
	l := Lease{Grant: c.GetGrant(), How: c.GetKind()}
	switch {
	case !isHeld(c.GetKind()):
		l.Deadline = l.fullTime(now)
	// mutant: SetRestartsTheLease
	case c.GetKind() == messages.Event_UPDATED: // new metadata leave the deadline as it was
		l.How, l.Deadline = messages.Event_ACQUIRED, before
	default:
		l.How = messages.Event_ACQUIRED
		l.Deadline = l.fullTime(now)
	}
	return l
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

// isOver reports whether nothing is left of the lease, neither held nor held back.
func (l *Lease) isOver() bool { return !l.isHeld() && !l.isLost() }

// isEphemeral reports whether the lease is in memory only.
func (l *Lease) isEphemeral() bool { return l.Grant.GetDurability() == messages.Durability_EPHEMERAL }

// fullTime returns the deadline of a lease whose TTL, or whose delay if it is lost, begins now.
func (l *Lease) fullTime(now Instant) Instant {
	switch g := l.Grant; {
	case l.isHeld():
		return end(g, now)
	case !l.isLost():
		return 0
	case g.GetDelayMs() == 0:
		return Never
	default:
		return now.Add(ttl(g.GetDelayMs()))
	}
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
