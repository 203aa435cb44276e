package soak

import (
	"fmt"

	"github.com/holdfast-io/holdfast/messages"
)

// mostListed is how many holders an answer shows.
const mostListed = 100

// slotsOf returns the numbers of the permits of a lease: an exclusive one has number 0.
func slotsOf(l *messages.Lease) []uint32 {
	if l.GetLimit() == 0 {
		return []uint32{0}
	}
	return l.GetSlots()
}

// isSharedAs reports whether a lease has the limit and the permits that were asked for, and a fence: its token if it is
// exclusive, and else one that is not above it.
func isSharedAs(l *messages.Lease, m *messages.AcquireRequest) bool {
	token := fmt.Sprintf("%015d", l.GetToken())
	if m.GetLimit() <= 1 {
		return l.GetLimit() == 0 && len(l.GetSlots()) == 0 && l.GetFence() == token
	}
	return l.GetLimit() == m.GetLimit() && len(l.GetSlots()) == int(max(m.GetPermits(), 1)) &&
		len(l.GetFence()) == len(token) && l.GetFence() <= token
}

// wrongHolders says in what an answer contradicts itself that shows who holds a resource, empty if in nothing. It needs
// no memory of what was before.
func wrongHolders(r *messages.Reply) string {
	all := r.GetHolders()
	if len(all) == 0 || all[0].GetToken() != r.GetLease().GetToken() {
		return "the lease is not that of the first holder"
	}
	taken := make(map[uint32]bool)
	for i, l := range all {
		for _, slot := range slotsOf(l) {
			if taken[slot] {
				return fmt.Sprintf("two have permit %d", slot)
			}
			taken[slot] = true
		}
		switch {
		case i > 0 && all[i-1].GetToken() >= l.GetToken():
			return "the holders are not in the order of their tokens"
		case l.GetFence() != all[0].GetFence():
			return "two phases are held together"
		case uint64(r.GetHeld()) > uint64(max(l.GetLimit(), 1)):
			return fmt.Sprintf("%d permits are held, where token %d allows %d", r.GetHeld(), l.GetToken(),
				max(l.GetLimit(), 1))
		}
	}
	if held := int(r.GetHeld()); held < len(taken) || held != len(taken) && len(all) < mostListed {
		return fmt.Sprintf("%d permits are held, and %d are shown", held, len(taken))
	}
	return ""
}
