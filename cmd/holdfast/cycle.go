package main

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/holdfast-io/holdfast/messages"
)

// contended is a resource with its leases and with the requests that wait for it, in their order.
type contended struct {
	resource string
	leases   []*messages.Lease
	waiters  []*messages.Waiter
}

// link is a part of a cycle: the waiter waits for a resource of which the next link's owner has the lease.
type link struct {
	resource string
	waiter   *messages.Waiter
	lease    *messages.Lease
}

// cycle is owners of which each waits for the next, and the last for the first. It begins with the smallest owner.
type cycle []link

// cycles returns, for each owner that is in a cycle of owners that can never go on, the shortest such cycle, and each
// cycle once. The result is sorted.
func cycles(all []contended) []cycle {
	owners := stuck(all)
	links := make(map[string][]link)
	for _, c := range all {
		for _, w := range c.blocked(owners) {
			for _, l := range c.leases {
				if owners[l.GetOwner()] {
					links[w.GetOwner()] = append(links[w.GetOwner()], link{c.resource, w, l})
				}
			}
		}
	}
	var found []cycle
	for owner := range links {
		if c := shortest(links, owner); c != nil {
			found = append(found, c)
		}
	}
	slices.SortFunc(found, cycle.compare)
	return slices.CompactFunc(found, func(a, b cycle) bool { return a.compare(b) == 0 })
}

// stuck returns the owners that wait, and would wait for ever if no wait ended: they are blocked even if all other
// owners release all they hold. An owner that waits for several resources goes on when it has all of them.
func stuck(all []contended) map[string]bool {
	owners := make(map[string]bool)
	for _, c := range all {
		for _, w := range c.waiters {
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
func (c *contended) blocked(owners map[string]bool) []*messages.Waiter {
	held, limit := uint64(0), uint64(math.MaxUint32)
	take := func(permits int, of uint32) {
		held += uint64(max(permits, 1))
		limit = min(limit, uint64(max(of, 1)))
	}
	for _, l := range c.leases {
		if owners[l.GetOwner()] {
			take(len(l.GetSlots()), l.GetLimit())
		}
	}
	for i, w := range c.waiters {
		if !owners[w.GetOwner()] {
			continue // it is granted, and released
		}
		take(int(w.GetPermits()), w.GetLimit())
		if held > limit {
			return c.waiters[i:]
		}
	}
	return nil
}

// shortest returns the shortest cycle through the owner; nil without one.
func shortest(links map[string][]link, owner string) cycle {
	reached := map[string]cycle{owner: nil}
	for next := []string{owner}; len(next) > 0; next = next[1:] {
		path := reached[next[0]]
		for _, l := range links[next[0]] {
			to := l.lease.GetOwner()
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
func (c cycle) normal() cycle {
	first := 0
	for i, l := range c {
		if l.waiter.GetOwner() < c[first].waiter.GetOwner() {
			first = i
		}
	}
	return slices.Concat(c[first:], c[:first])
}

func (c cycle) compare(d cycle) int {
	return slices.CompareFunc(c, d, func(a, b link) int {
		return cmp.Or(
			strings.Compare(a.waiter.GetOwner(), b.waiter.GetOwner()),
			strings.Compare(a.resource, b.resource),
			cmp.Compare(a.lease.GetToken(), b.lease.GetToken()),
		)
	})
}
