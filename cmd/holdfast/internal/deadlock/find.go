// Package deadlock finds owners of locks that wait for one another.
package deadlock

import (
	"maps"
	"slices"
	"time"

	"github.com/holdfast-io/holdfast/messages"
)

// Look returns the present answer to a get with waiters.
type Look func(tenant, resource string) (*messages.Reply, error)

// Find returns the cycles that existed at one moment, of resources from a listing. The pages of a listing are of
// different moments, so a cycle in them is only a suspicion. look is called for the resources of suspected cycles only,
// and its error ends the search. The owners of one tenant have nothing to do with those of another.
func Find(listed []Contended, look Look) (found []Cycle, err error) {
	tenants := make(map[string][]Contended)
	for _, c := range listed {
		tenants[c.Tenant] = append(tenants[c.Tenant], c)
	}
	for _, tenant := range slices.Sorted(maps.Keys(tenants)) {
		cycles, err := find(tenants[tenant], look)
		if err != nil {
			return nil, err
		}
		found = append(found, cycles...)
	}
	return found, nil
}

// find returns the cycles of one tenant.
func find(listed []Contended, look Look) ([]Cycle, error) {
	if len(Cycles(listed)) == 0 {
		return nil, nil
	}
	owners := stuck(listed)
	var confirmed []Contended
	moment := time.Now()
	for _, c := range listed {
		if len(c.blocked(owners)) == 0 {
			continue
		}
		reply, err := look(c.Tenant, c.Resource)
		if err != nil {
			return nil, err
		}
		confirmed = append(confirmed, c.at(reply, time.Since(moment)))
	}
	return Cycles(confirmed), nil
}

// at returns what certainly existed at a moment after the listing, by an answer that came so long after the moment:
// the leases of both, and the requests that have waited since before the moment.
func (c *Contended) at(r *messages.Reply, since time.Duration) Contended {
	then := Contended{Tenant: c.Tenant, Resource: c.Resource}
	for _, l := range r.GetHolders() {
		if slices.ContainsFunc(c.Leases, func(before *messages.Lease) bool {
			return before.GetToken() == l.GetToken()
		}) {
			then.Leases = append(then.Leases, l)
		}
	}
	for _, w := range r.GetWaiters() {
		if int64(w.GetWaitingMs()) >= since.Milliseconds() {
			then.Waiters = append(then.Waiters, w)
		}
	}
	return then
}
