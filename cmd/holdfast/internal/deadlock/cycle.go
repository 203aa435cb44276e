package deadlock

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/holdfast-io/holdfast/messages"
)

// Contended is a resource with its leases and with the requests that wait for it, in their order.
type Contended struct {
	// Tenant is the account whose resource it is; empty: it is of none. An owner is one within a tenant.
	Tenant   string
	Resource string
	Leases   []*messages.Lease
	Waiters  []*messages.Waiter
}

// Link is a part of a cycle: the waiter waits for a resource of which the next link's owner has the lease.
type Link struct {
	Tenant   string
	Resource string
	Waiter   *messages.Waiter
	Lease    *messages.Lease
}

// Cycle is owners of which each waits for the next, and the last for the first. It begins with the smallest owner.
type Cycle []Link

// Cycles returns, for each owner that is in a cycle of owners that can never go on, the shortest such cycle, and each
// cycle once. The result is sorted. All resources are of one tenant, or of none.
func Cycles(all []Contended) []Cycle {
	owners := stuck(all)
	links := make(map[string][]Link)
	for _, c := range all {
		for _, w := range c.blocked(owners) {
			for _, l := range c.Leases {
				if owners[l.GetOwner()] {
					links[w.GetOwner()] = append(links[w.GetOwner()], Link{c.Tenant, c.Resource, w, l})
				}
			}
		}
	}
	var found []Cycle
	for owner := range links {
		if c := shortest(links, owner); c != nil {
			found = append(found, c)
		}
	}
	slices.SortFunc(found, Cycle.compare)
	return slices.CompactFunc(found, func(a, b Cycle) bool { return a.compare(b) == 0 })
}

// stuck returns the owners that wait, and would wait for ever if no wait ended: they are blocked even if all other
// owners release all they hold. An owner that waits for several resources goes on when it has all of them.
func stuck(all []Contended) map[string]bool {
	owners := make(map[string]bool)
	for _, c := range all {
		for _, w := range c.Waiters {
			owners[w.GetOwner()] = true
		}
	}
	for {
		blocked := make(map[string]bool)
		for _, c := range all {
			for _, w := range c.blocked(owners) {
				blocked[w.GetOwner()] = true
			}
		}
		if len(blocked) == len(owners) {
			return owners
		}
		owners = blocked
	}
}

// blocked returns the requests that are not granted while these owners keep what they have. The queue is
// served in its order: nothing behind a request that does not fit is granted.
func (c *Contended) blocked(owners map[string]bool) []*messages.Waiter {
	held, limit := uint64(0), uint64(math.MaxUint32)
	take := func(permits int, of uint32) {
		held += uint64(max(permits, 1))
		limit = min(limit, uint64(max(of, 1)))
	}
	for _, l := range c.Leases {
		if owners[l.GetOwner()] {
			take(len(l.GetSlots()), l.GetLimit())
		}
	}
	for i, w := range c.Waiters {
		if !owners[w.GetOwner()] {
			continue // it is granted, and released
		}
		take(int(w.GetPermits()), w.GetLimit())
		if held > limit {
			return c.Waiters[i:]
		}
	}
	return nil
}

// shortest returns the shortest cycle through the owner; nil without one.
func shortest(links map[string][]Link, owner string) Cycle {
	reached := map[string]Cycle{owner: nil}
	for next := []string{owner}; len(next) > 0; next = next[1:] {
		path := reached[next[0]]
		for _, l := range links[next[0]] {
			to := l.Lease.GetOwner()
			if to == owner {
				return append(slices.Clone(path), l).normal()
			}
			if _, seen := reached[to]; !seen {
				reached[to] = append(slices.Clone(path), l)
				next = append(next, to)
			}
		}
	}
	return nil
}

// normal returns the cycle with the smallest owner first.
func (c Cycle) normal() Cycle {
	first := 0
	for i, l := range c {
		if l.Waiter.GetOwner() < c[first].Waiter.GetOwner() {
			first = i
		}
	}
	return slices.Concat(c[first:], c[:first])
}

func (c Cycle) compare(d Cycle) int {
	return slices.CompareFunc(c, d, func(a, b Link) int {
		return cmp.Or(
			strings.Compare(a.Waiter.GetOwner(), b.Waiter.GetOwner()),
			strings.Compare(a.Resource, b.Resource),
			cmp.Compare(a.Lease.GetToken(), b.Lease.GetToken()),
		)
	})
}
