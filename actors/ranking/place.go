package ranking

import (
	"cmp"

	"github.com/holdfast-io/holdfast/messages"
)

// Place is where an entry stands in a ranking: lower ones are first.
type Place struct {
	// First decides, and Second between those with the same First.
	First, Second int64
	// Tenant, Name and Token make the order total. The token is that of a lease, 0 of a queue.
	Tenant, Name string
	Token        uint64
}

// OfQueue returns the place of a queue by QUEUE or by WAIT.
func OfQueue(by messages.Ranking, q *messages.Queue) Place {
	p := OfLengths(by, q.GetWaiting(), q.GetOldestMs())
	p.Tenant, p.Name = q.GetTenant(), q.GetResource()
	return p
}

// OfLengths returns the place of a queue that has no name yet.
func OfLengths(by messages.Ranking, waiting, oldestMs uint32) Place {
	if by == messages.Ranking_WAIT {
		return Place{First: -int64(oldestMs), Second: -int64(waiting)}
	}
	return Place{First: -int64(waiting), Second: -int64(oldestMs)} // mutant: ShortestQueueFirst
}

// OfLease returns the place of a lease by HOLD.
func OfLease(l *messages.Lease) Place {
	return Place{First: l.GetAcquiredAtMs(), Tenant: l.GetTenant(), Name: l.GetResource(), Token: l.GetToken()}
}

// Compare returns a negative number if p is before q, and a positive one if it is behind it.
func (p Place) Compare(q Place) int {
	return cmp.Or(cmp.Compare(p.First, q.First), cmp.Compare(p.Second, q.Second), cmp.Compare(p.Tenant, q.Tenant),
		cmp.Compare(p.Name, q.Name), cmp.Compare(p.Token, q.Token))
}
