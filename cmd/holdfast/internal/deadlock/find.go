// Package deadlock finds owners of locks that wait for one another.
package deadlock

import (
	"slices"
	"time"

	"github.com/holdfast-io/holdfast/messages"
)

// Find returns the cycles that existed at one moment, of resources from a listing. The pages of a listing are of different
// moments, so a cycle in them is only a suspicion. look returns the present answer to a get with waiters; it is called for
// the resources of suspected cycles only, and its error ends the search.
func Find(listed []Contended, look func(resource string) (*messages.Reply, error)) ([]Cycle, error) {
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
		reply, err := look(c.Resource)
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
	then := Contended{Resource: c.Resource}
	for _, l := range r.GetHolders() {
		if slices.ContainsFunc(c.Leases, func(before *messages.Lease) bool { return before.GetToken() == l.GetToken() }) {
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
