package lease

import (
	"time"

	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/journal"
)

// Lost is a lease that was lost and that holds its resource back.
type Lost = listed

// Lease is the public view of the lease at now. Its remaining time is what is left of the delay; 0: the loss is to be
// confirmed.
func (l Lost) Lease(now Instant) *messages.Lease {
	shown := l.Grant.Lease(0)
	shown.RemainingMs = l.left(now)
	return shown
}

// left returns how many milliseconds are left of the delay, rounded up so that it never reads 0 while a delay runs; 0:
// there is none.
func (l Lost) left(now Instant) uint32 {
	if l.Deadline == Never {
		return 0
	}
	return max(1, millis(l.Deadline.Sub(now)+time.Millisecond-1))
}

// delayEnd returns when the delay of a lease is over that was lost now.
func delayEnd(g *journal.Grant, now Instant) Instant {
	if g.GetDelayMs() == 0 {
		return Never
	}
	return now.Add(ttl(g.GetDelayMs()))
}
