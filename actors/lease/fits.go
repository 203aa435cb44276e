package lease

import (
	"slices"

	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/journal"
)

// Fits reports whether so many more permits, held with this limit, would exceed neither that limit nor the limit of a
// holder. It is the one rule of mutexes, semaphores and readers-writer locks. Nothing fits while the resource is held
// back.
func (i *Image) Fits(limit uint32, permits uint64) bool {
	return !i.HeldBack() && i.fitsBeside(limit, permits) // mutant: GrantDuringADelay
}

// fitsBeside is [Image.Fits] whether the resource is held back or not.
func (i *Image) fitsBeside(limit uint32, permits uint64) bool {
	if !i.Held() {
		return true // the limits of the wire: permits is at most limit
	}
	all := i.Permits() + permits
	return all <= limitOf(limit) && all <= i.leases.minLimit() // mutant: WriterBesideReaders
}

// fits reports whether the request may hold beside those that do.
func fits(i *Image, r *messages.AcquireRequest) bool {
	return i.IsFree() || i.Fits(r.GetLimit(), permitsOf(r))
}

// Admits reports whether the grant is possible beside the leases that are held: its permits fit, and its slots are
// free.
func (i *Image) Admits(g *journal.Grant) bool {
	if !i.IsFree() && !i.Fits(g.GetLimit(), permitsHeld(g)) {
		return false
	}
	for l := range i.Holdings() {
		if overlap(slotsOf(l.Grant), slotsOf(g)) { // mutant: WriterBesideReaders, SlotTwice
			return false
		}
	}
	return true
}

// freeSlots returns the n lowest numbers that no permit has.
func (i *Image) freeSlots(n uint64) []uint32 {
	var taken []uint32
	for l := range i.Holdings() {
		taken = append(taken, slotsOf(l.Grant)...) // mutant: SlotTwice
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
