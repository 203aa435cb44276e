package lease

import (
	"cmp"
	"math"
	"slices"

	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/journal"
)

// Holding is a lease that is held.
type Holding struct {
	// Grant is never modified, only replaced, so that images, records and answers may share it.
	Grant *journal.Grant
	// Deadline is when it ends; [Never] if it is in a session: see [Sessions.Deadline].
	Deadline Instant
}

// token is what identifies the lease.
func (h Holding) token() messages.Token { return messages.Token(h.Grant.GetToken()) }

// ephemeral reports whether the lease is in memory only.
func (h Holding) ephemeral() bool { return h.Grant.GetDurability() == messages.Durability_EPHEMERAL }

// leases are some of the leases of a resource: those that are held besides the last one granted, or those that are lost.
// nil: there are none, as is always so of the former of a mutex. What decides whether a request fits is kept beside the
// grants, so that no step reads a thousand of them.
type leases struct {
	// list has the oldest first, so in the order of the tokens.
	list []listed
	// sessions counts those in a session.
	sessions int
}

// listed is one of them.
type listed struct {
	Holding
	// How is how it ended if it is lost: EXPIRED or BROKEN. Deadline is when its delay is over then, [Never] if it has none.
	How     messages.Event_Kind
	permits uint32
	limit   uint32
	weight  uint32
}

func newListed(h Holding, how messages.Event_Kind) listed {
	return listed{
		Holding: h, How: how, permits: uint32(permitsHeld(h.Grant)), limit: uint32(limitOf(h.Grant.GetLimit())),
		weight: uint32(weightOf(h.Grant)),
	}
}

// clone returns a copy that shares nothing but the grants.
func (l *leases) clone() *leases {
	if l == nil {
		return nil
	}
	return &leases{slices.Clone(l.list), l.sessions}
}

func (l *leases) len() int { return len(l.all()) }

// all returns the leases; the caller does not modify them.
func (l *leases) all() []listed {
	if l == nil {
		return nil
	}
	return l.list
}

// place returns the place of the lease with this token; not found, where it would be.
func (l *leases) place(token messages.Token) (int, bool) {
	return slices.BinarySearchFunc(l.all(), token, func(x listed, token messages.Token) int {
		return cmp.Compare(x.token(), token)
	})
}

// with returns the leases and one more.
func (l *leases) with(h Holding, how messages.Event_Kind) *leases {
	if l == nil {
		l = new(leases)
	}
	place, _ := l.place(h.token())
	l.list = slices.Insert(l.list, place, newListed(h, how))
	l.count(h, 1)
	return l
}

// replace puts a lease that is held in the place of one with the same token.
func (l *leases) replace(place int, h Holding) {
	l.count(l.list[place].Holding, -1)
	l.count(h, 1)
	l.list[place] = newListed(h, 0)
}

// without returns the leases but the one with this token, if it is one of them.
func (l *leases) without(token messages.Token) *leases {
	place, ok := l.place(token)
	switch {
	case !ok:
		return l
	case len(l.list) == 1:
		return nil
	}
	l.count(l.list[place].Holding, -1)
	l.list = slices.Delete(l.list, place, place+1)
	return l
}

// count counts a lease that comes, or goes if n is negative.
func (l *leases) count(h Holding, n int) {
	if len(h.Grant.GetSession()) > 0 {
		l.sessions += n
	}
}

// inSession reports whether a lease belongs to a session.
func (l *leases) inSession() bool { return l != nil && l.sessions > 0 }

func (l *leases) permits() (n uint64) {
	for _, x := range l.all() {
		n += uint64(x.permits)
	}
	return n
}

// tightest returns the lowest limit; without a lease there is none, and it is the highest number.
func (l *leases) tightest() uint64 {
	least := uint64(math.MaxUint64)
	for _, x := range l.all() {
		least = min(least, uint64(x.limit))
	}
	return least
}

// slots returns a new list of the numbers of all permits.
func (l *leases) slots() (all []uint32) {
	for _, x := range l.all() {
		all = append(all, slotsOf(x.Grant)...)
	}
	return all
}

// weight estimates the stored bytes of the leases.
func (l *leases) weight() (n int) {
	for _, x := range l.all() {
		n += int(x.weight)
	}
	return n
}

// soonest returns the earliest deadline, [Never] without a lease.
func (l *leases) soonest() Instant {
	soonest := Never
	for _, x := range l.all() {
		soonest = min(soonest, x.Deadline)
	}
	return soonest
}

// weightOf estimates the stored bytes of a lease from above. One that may hold its resource back counts twice: its loss
// and the end of the hold may be in one commit, and a page has it twice if it was the last one granted.
func weightOf(g *journal.Grant) int {
	if g.HoldsBack() {
		return 2 * g.Weight()
	}
	return g.Weight()
}
