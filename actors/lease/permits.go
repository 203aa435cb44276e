package lease

import (
	"slices"

	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/journal"
)

// limitOf returns how many permits may be held beside a lease, its own included: 1 if it is exclusive.
func limitOf(limit uint32) uint64 { return uint64(max(limit, 1)) }

// permitsOf returns how many permits a request takes.
func permitsOf(r *messages.AcquireRequest) uint64 { return uint64(max(r.GetPermits(), 1)) }

// permitsHeld returns how many permits a grant has: an exclusive one has no numbers for them.
func permitsHeld(g *journal.Grant) uint64 { return uint64(max(len(g.GetSlots()), 1)) }

// slotsOf returns the numbers of the permits of a grant. The permit of an exclusive lease has the number 0.
func slotsOf(g *journal.Grant) []uint32 {
	if len(g.GetSlots()) == 0 {
		return exclusiveSlots
	}
	return g.GetSlots()
}

var exclusiveSlots = []uint32{0}

// overlap reports whether two lists of numbers in rising order have one in common.
func overlap(a, b []uint32) bool {
	return slices.ContainsFunc(a, func(n uint32) bool {
		_, both := slices.BinarySearch(b, n)
		return both
	})
}
