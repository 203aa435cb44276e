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
// up to five times each, and its error ends the search. The owners of one tenant have nothing to do with those of
// another.
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

// maxLooks bounds how often a suspicion is looked at.
const maxLooks = 5

// find returns the cycles of one tenant. A look that took longer than a request has waited proves nothing about it: it
// is repeated, because the request has waited for longer then.
func find(listed []Contended, look Look) (found []Cycle, err error) {
	if len(Cycles(listed)) == 0 {
		return nil, nil
	}
	owners := stuck(listed)
	suspected := slices.DeleteFunc(slices.Clone(listed), func(c Contended) bool { return len(c.blocked(owners)) == 0 })
	for range maxLooks {
		var certain, possible []Contended
		moment := time.Now()
		for _, c := range suspected {
			reply, err := look(c.Tenant, c.Resource)
			if err != nil {
				return nil, err
			}
			certain = append(certain, c.at(reply, time.Since(moment)))
			possible = append(possible, c.at(reply, 0))
		}
		if found = Cycles(certain); len(found) == len(Cycles(possible)) {
			break
		}
	}
	return found, nil
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
