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

// isShared reports whether others may hold beside the holder of a lease with this limit.
func isShared(limit uint32) bool { return limit > 1 }

// Fits reports whether so many more permits, held with this limit, would exceed neither that limit nor the limit of a
// holder. It is the one rule of mutexes, semaphores and readers-writer locks. Nothing fits while the resource is held
// back.
func (i *Image) Fits(limit uint32, permits uint64) bool {
	return !i.HeldBack() && i.fitsBeside(limit, permits)
}

// fitsBeside is [Image.Fits] whether the resource is held back or not.
func (i *Image) fitsBeside(limit uint32, permits uint64) bool {
	if !i.Held() {
		return true // the limits of the wire: permits is at most limit
	}
	all := i.Permits() + permits
	return all <= limitOf(limit) && all <= i.tightest()
}

// Admits reports whether the grant is possible beside the leases that are held: its permits fit, and its slots are free.
func (i *Image) Admits(g *journal.Grant) bool {
	if !i.Fits(g.GetLimit(), permitsHeld(g)) {
		return false
	}
	for h := range i.Holdings() {
		if overlap(slotsOf(h.Grant), slotsOf(g)) {
			return false
		}
	}
	return true
}

// overlap reports whether two lists of numbers in rising order have one in common.
func overlap(a, b []uint32) bool {
	return slices.ContainsFunc(a, func(n uint32) bool {
		_, both := slices.BinarySearch(b, n)
		return both
	})
}

// Permits returns how many permits are held.
func (i *Image) Permits() (n uint64) {
	if i.State == messages.Event_ACQUIRED {
		n = permitsHeld(i.Grant)
	}
	return n + i.others.permits()
}

// tightest returns the lowest limit of all holders.
func (i *Image) tightest() uint64 {
	least := i.others.tightest()
	if i.State == messages.Event_ACQUIRED {
		least = min(least, limitOf(i.Grant.GetLimit()))
	}
	return least
}

// freeSlots returns the n lowest numbers that no permit has.
func (i *Image) freeSlots(n uint64) []uint32 {
	taken := i.others.slots()
	if i.State == messages.Event_ACQUIRED {
		taken = append(taken, slotsOf(i.Grant)...)
	}
	slices.Sort(taken)
	free := make([]uint32, 0, n)
	for slot := uint32(0); uint64(len(free)) < n; slot++ {
		if len(taken) > 0 && taken[0] == slot {
			taken = taken[1:]
			continue
		}
		free = append(free, slot)
	}
	return free
}

// slotsOf returns the numbers of the permits of a grant. The permit of an exclusive lease has the number 0.
func slotsOf(g *journal.Grant) []uint32 {
	if len(g.GetSlots()) == 0 {
		return exclusiveSlots
	}
	return g.GetSlots()
}

var exclusiveSlots = []uint32{0}
