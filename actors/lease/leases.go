package lease

import (
	"cmp"
	"math"
	"slices"

	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/journal"
)

// leases are the leases of a resource in the order of their tokens: those that are held, those that have ended and hold
// the resource back, and the last one granted, however it ended. The last one stands by itself, so that a mutex needs
// no memory for a list. A copy shares the list with its original: see [leases.clone].
type leases struct {
	// last has no grant if nothing was granted.
	last Lease
	// earlier are the other ones; nil: none.
	earlier *earlier
}

// earlier are the leases before the last one, all of them held or lost.
type earlier struct {
	list  []earlierLease
	tally tally
}

// earlierLease keeps what decides whether a request fits beside the grant, so that no step reads a thousand grants.
type earlierLease struct {
	Lease
	limit  uint32
	weight uint32
}

// tally counts leases.
type tally struct {
	// held, shared and sessions are how many are held, held and shared, and held in a session; ended how many hold the
	// resource back.
	held, shared, sessions, ended uint32
	// permits are those of the leases that are held.
	permits uint64
}

func tallyOf(l *Lease) (t tally) {
	switch {
	case l.isHeld():
		t.held, t.permits = 1, 1
		if slots := len(l.Grant.GetSlots()); slots > 0 {
			t.shared, t.permits = 1, uint64(slots)
		}
		if len(l.Grant.GetSession()) > 0 {
			t.sessions = 1
		}
	case l.holdsBack():
		t.ended = 1
	}
	return t
}

func (t tally) plus(u tally) tally {
	return tally{
		t.held + u.held, t.shared + u.shared, t.sessions + u.sessions, t.ended + u.ended, t.permits + u.permits,
	}
}

func (t tally) minus(u tally) tally {
	return tally{
		t.held - u.held, t.shared - u.shared, t.sessions - u.sessions, t.ended - u.ended, t.permits - u.permits,
	}
}

// tally counts all leases.
func (l *leases) tally() tally { return tallyOf(&l.last).plus(*l.earlier.counts()) }

// clone returns a copy that shares nothing but the grants.
func (l *leases) clone() leases {
	if l.earlier == nil {
		return *l
	}
	return leases{l.last, &earlier{slices.Clone(l.earlier.list), l.earlier.tally}}
}

// len returns how many leases there are.
func (l *leases) len() int {
	n := l.earlier.len()
	if l.last.Grant != nil {
		n++
	}
	return n
}

// at returns the lease at a place, the oldest at 0. Its deadline may be changed, and nothing else. A change of the list
// makes it invalid.
func (l *leases) at(place int) *Lease {
	if place < l.earlier.len() {
		return &l.earlier.list[place].Lease
	}
	return &l.last
}

// find returns the lease with this token, nil if there is none. A change of the list makes it invalid.
func (l *leases) find(token messages.Token) *Lease {
	if l.last.Grant.Has(token) { // only the last lease can have a block, since it is held alone
		return &l.last
	}
	if place, ok := l.earlier.place(token); ok {
		return &l.earlier.list[place].Lease
	}
	return nil
}

func (l *leases) isLast(token messages.Token) bool {
	return l.last.Grant != nil && l.last.token() == token
}

// grant adds the lease that is granted next.
func (l *leases) grant(next Lease) {
	if !l.last.isOver() {
		l.putEarlier(l.last)
	}
	l.last = next
}

// putEarlier puts a lease, which is not the last one, into its place, or takes it out if it is neither held nor lost.
func (l *leases) putEarlier(x Lease) {
	place, known := l.earlier.place(x.token())
	if x.isOver() {
		if known {
			l.removeEarlier(place)
		}
		return
	}
	if l.earlier == nil {
		l.earlier = new(earlier)
	}
	e := l.earlier
	if known {
		e.tally = e.tally.minus(tallyOf(&e.list[place].Lease))
		e.list[place] = newEarlierLease(x)
	} else {
		e.list = slices.Insert(e.list, place, newEarlierLease(x))
	}
	e.tally = e.tally.plus(tallyOf(&x))
}

func (l *leases) removeEarlier(place int) {
	e := l.earlier
	if len(e.list) == 1 {
		l.earlier = nil
		return
	}
	e.tally = e.tally.minus(tallyOf(&e.list[place].Lease))
	e.list = slices.Delete(e.list, place, place+1)
}

func newEarlierLease(x Lease) earlierLease {
	return earlierLease{x, uint32(limitOf(x.Grant.GetLimit())), uint32(weightOf(x.Grant))}
}

func (e *earlier) len() int { return len(e.all()) }

// all returns the leases; the caller changes nothing but their deadlines.
func (e *earlier) all() []earlierLease {
	if e == nil {
		return nil
	}
	return e.list
}

// counts returns the tally of the leases, for reading.
func (e *earlier) counts() *tally {
	if e == nil {
		return &nothing
	}
	return &e.tally
}

var nothing tally

// place returns the place of the lease with this token; not found, where it would be.
func (e *earlier) place(token messages.Token) (int, bool) {
	if e == nil {
		return 0, false
	}
	return slices.BinarySearchFunc(e.list, token, func(x earlierLease, token messages.Token) int {
		return cmp.Compare(x.token(), token)
	})
}

// minLimit returns the lowest limit of the leases that are held, the highest number if none is held.
func (l *leases) minLimit() uint64 {
	limit := uint32(math.MaxUint32)
	for place := range l.earlier.all() {
		if x := &l.earlier.list[place]; x.isHeld() {
			limit = min(limit, x.limit)
		}
	}
	if l.last.isHeld() {
		return min(uint64(limit), limitOf(l.last.Grant.GetLimit()))
	}
	return uint64(limit)
}

// weight estimates the stored bytes of the leases from above.
func (l *leases) weight() (n int) {
	if l.last.Grant != nil {
		n = weightOf(l.last.Grant)
	}
	for place := range l.earlier.all() {
		n += int(l.earlier.list[place].weight)
	}
	return n
}

// weightOf estimates the stored bytes of a lease from above. One that may hold its resource back counts twice: its loss
// and the end of the hold may be in one commit, and a page has it twice if it was the last one granted.
func weightOf(g *journal.Grant) int {
	if g.HoldsBack() || g.GetMinHoldMs() > 0 {
		return 2 * g.Weight()
	}
	return g.Weight()
}
