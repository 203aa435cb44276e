package lease

import (
	"time"

	"github.com/holdfast-io/holdfast/messages/journal"
)

// leftBytes is what an entry of [Left] takes at most when it is stored.
const leftBytes = 17

// Left is what is left of leases, delays and sessions in milliseconds, as [journal.HandOver] has it. A key that two of
// them have stands for the longer one.
type Left map[uint64]uint32

func (l Left) put(key uint64, deadline, now Instant) {
	if deadline != Never {
		l[key] = max(l[key], millis(deadline.Sub(now)+time.Millisecond-1)) // mutant: RestIsRoundedDown
	}
}

// IsFull reports whether the entries take that many bytes when they are stored.
func (l Left) IsFull(bytes int) bool { return len(l) >= bytes/leftBytes }

// shorten returns the earlier one of a deadline and of when the rest of it is over that counts from now.
func (l Left) shorten(key uint64, deadline, now Instant) Instant {
	left, ok := l[key]
	if !ok || deadline == Never {
		return deadline
	}
	return min(deadline, now.Add(ttl(left)))
}

// ofLease is [Left.shorten] for a lease or a delay.
func (l Left) ofLease(g *journal.Grant, deadline, now Instant) Instant {
	if len(l) == 0 {
		return deadline // a shard may have a million leases, and most have nothing that was handed over
	}
	return l.shorten(keyOfLease(g), deadline, now)
}

func keyOfLease(g *journal.Grant) uint64 { return journal.LeaseKey(g.GetResource(), g.GetToken()) }
