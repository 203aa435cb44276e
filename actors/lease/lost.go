package lease

import (
	"cmp"
	"slices"
	"time"

	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/journal"
)

// Lost is a lease that was lost and that holds its resource back.
type Lost struct {
	// Grant is never modified, only replaced, so that images, records and answers may share it.
	Grant *journal.Grant
	// How is how it ended: EXPIRED or BROKEN.
	How messages.Event_Kind
	// Deadline is when its delay is over, [Never] if it has none.
	Deadline Instant
}

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

func (l Lost) token() messages.Token { return messages.Token(l.Grant.GetToken()) }

// delayEnd returns when the delay of a lease is over that was lost now.
func delayEnd(g *journal.Grant, now Instant) Instant {
	if g.GetDelayMs() == 0 {
		return Never
	}
	return now.Add(ttl(g.GetDelayMs()))
}

// losses are the lost leases that hold a resource back. nil: there are none.
type losses struct {
	// list has the oldest first, so in the order of the tokens.
	list []Lost
	// weight estimates the stored bytes of the leases, see [weightOf].
	weight int
}

// clone returns a copy that shares nothing but the grants.
func (l *losses) clone() *losses {
	if l == nil {
		return nil
	}
	return &losses{slices.Clone(l.list), l.weight}
}

func (l *losses) len() int { return len(l.all()) }

// all returns the leases; the caller does not modify them.
func (l *losses) all() []Lost {
	if l == nil {
		return nil
	}
	return l.list
}

// place returns the place of the lease with this token; not found, where it would be.
func (l *losses) place(token messages.Token) (int, bool) {
	return slices.BinarySearchFunc(l.all(), token, func(x Lost, token messages.Token) int {
		return cmp.Compare(x.token(), token)
	})
}

// with returns the leases and one more.
func (l *losses) with(x Lost) *losses {
	if l == nil {
		l = new(losses)
	}
	place, _ := l.place(x.token())
	l.list = slices.Insert(l.list, place, x)
	l.weight += weightOf(x.Grant)
	return l
}

// without returns the leases but the one with this token.
func (l *losses) without(token messages.Token) *losses {
	place, ok := l.place(token)
	switch {
	case !ok:
		return l
	case len(l.list) == 1:
		return nil
	}
	l.weight -= weightOf(l.list[place].Grant)
	l.list = slices.Delete(l.list, place, place+1)
	return l
}

// heaviness returns the weight of the leases.
func (l *losses) heaviness() int {
	if l == nil {
		return 0
	}
	return l.weight
}

// soonest returns the earliest end of a delay, [Never] if none runs.
func (l *losses) soonest() Instant {
	soonest := Never
	for _, x := range l.all() {
		soonest = min(soonest, x.Deadline)
	}
	return soonest
}

// latest returns the lease that holds the resource back for longest; there must be one.
func (l *losses) latest() Lost {
	return slices.MaxFunc(l.list, func(x, y Lost) int { return cmp.Compare(x.Deadline, y.Deadline) })
}

// weightOf estimates the stored bytes of a lease from above. One that may hold its resource back counts twice: its loss
// and the end of the hold may be in one commit, and a page has it twice if it was the last one granted.
func weightOf(g *journal.Grant) int {
	if g.HoldsBack() {
		return 2 * g.Weight()
	}
	return g.Weight()
}
