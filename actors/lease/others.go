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

// others are the leases of a resource that are held besides the last one granted. nil: there are none, as is always so
// of a mutex. What decides whether a request fits is kept beside the grants, so that no step reads a thousand of them.
type others struct {
	// list has the oldest first, so in the order of the tokens.
	list []other
	// sessions counts those in a session.
	sessions int
}

// other is one of them.
type other struct {
	Holding
	permits uint32
	limit   uint32
	weight  int
}

// clone returns a copy that shares nothing but the grants.
func (o *others) clone() *others {
	if o == nil {
		return nil
	}
	return &others{slices.Clone(o.list), o.sessions}
}

func (o *others) len() int {
	if o == nil {
		return 0
	}
	return len(o.list)
}

// all returns the leases; the caller does not modify them.
func (o *others) all() []other {
	if o == nil {
		return nil
	}
	return o.list
}

// with returns the leases and one more, the latest.
func (o *others) with(h Holding) *others {
	if o == nil {
		o = new(others)
	}
	o.list = append(o.list, newOther(h))
	o.count(h, 1)
	return o
}

// replace puts a lease in the place of one with the same token.
func (o *others) replace(place int, h Holding) {
	o.count(o.list[place].Holding, -1)
	o.count(h, 1)
	o.list[place] = newOther(h)
}

// count counts a lease that comes, or goes if n is negative.
func (o *others) count(h Holding, n int) {
	if len(h.Grant.GetSession()) > 0 {
		o.sessions += n
	}
}

// inSession reports whether a lease belongs to a session.
func (o *others) inSession() bool { return o != nil && o.sessions > 0 }

func newOther(h Holding) other {
	return other{
		Holding: h, permits: uint32(permitsHeld(h.Grant)), limit: uint32(limitOf(h.Grant.GetLimit())), weight: weightOf(h.Grant),
	}
}

// without returns the leases but the one at the place.
func (o *others) without(place int) *others {
	if len(o.list) == 1 {
		return nil
	}
	o.count(o.list[place].Holding, -1)
	o.list = slices.Delete(o.list, place, place+1)
	return o
}

// find returns the place of the lease with this token, -1 if there is none.
func (o *others) find(token messages.Token) int {
	place, ok := slices.BinarySearchFunc(o.all(), token, func(x other, token messages.Token) int {
		return cmp.Compare(x.token(), token)
	})
	if !ok {
		return -1
	}
	return place
}

func (o *others) permits() (n uint64) {
	for _, x := range o.all() {
		n += uint64(x.permits)
	}
	return n
}

// tightest returns the lowest limit; without a lease there is none, and it is the highest number.
func (o *others) tightest() uint64 {
	least := uint64(math.MaxUint64)
	for _, x := range o.all() {
		least = min(least, uint64(x.limit))
	}
	return least
}

// slots returns a new list of the numbers of all permits.
func (o *others) slots() (all []uint32) {
	for _, x := range o.all() {
		all = append(all, slotsOf(x.Grant)...)
	}
	return all
}

// weight estimates the stored bytes of the leases.
func (o *others) weight() (n int) {
	for _, x := range o.all() {
		n += x.weight
	}
	return n
}

// soonest returns the earliest deadline, [Never] without a lease.
func (o *others) soonest() Instant {
	soonest := Never
	for _, x := range o.all() {
		soonest = min(soonest, x.Deadline)
	}
	return soonest
}
