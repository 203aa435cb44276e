package holdfast

import "time"

// keeper prolongs leases: [extensions] prolong the one that they belong to, a [session] prolongs many. A lease has one
// keeper at a time, and is held for as long as that says.
type keeper interface {
	// until returns when the lease must be considered over, as far as this keeper prolongs it.
	until(l kept) time.Time
	// add has the keeper prolong a lease that ends then unless it is prolonged. It returns false if the keeper does not
	// begin to. What at means is the keeper's.
	add(l kept, end, at time.Time) bool
	// remove has the keeper prolong the lease no more.
	remove(l kept)
}

// kept is a lease as its keeper sees it: a [handle]. A session, which has a mutex of its own, calls these methods
// without it.
type kept interface {
	// keeperLost receives that the keeper prolongs the lease no more. The lease keeps the end that it has there.
	keeperLost(k keeper)
	// keeperFails receives that the keeper has begun or ceased to fail. failure returns the last state: why the latest
	// attempt had no effect, nil if it had.
	keeperFails(k keeper, failure func() error)
	// wantedOf receives the names of resources that others want.
	wantedOf(names map[string]struct{})
}
