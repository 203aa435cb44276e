package audit

import (
	"fmt"
	"math"
	"slices"

	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/journal"
)

// Downgraded is the reason of a release by which a lease goes on under another token, with a larger limit.
const Downgraded = "downgraded"

// mostPermits is how many permits a lease has at most.
const mostPermits = 1000

func isShared(g *journal.Grant) bool { return g.GetLimit() != 0 }

// isFirst reports whether nothing else is held beside the lease when it is granted, by its own word.
func isFirst(g *journal.Grant) bool { return fence(g) == g.GetToken() }

// limit is how many permits may be held in all beside the lease.
func limit(g *journal.Grant) uint64 { return max(uint64(g.GetLimit()), 1) }

// slots are the numbers of the permits of the lease: an exclusive one has permit 0.
func slots(g *journal.Grant) []uint32 {
	if !isShared(g) {
		return []uint32{0}
	}
	return g.GetSlots()
}

// fence is what the holder shows to what the lock protects.
func fence(g *journal.Grant) uint64 {
	if !isShared(g) {
		return g.GetToken()
	}
	return g.GetPhase()
}

func sharing(g *journal.Grant) string {
	return fmt.Sprintf("limit %d, slots %d, phase %d, former token %d", g.GetLimit(), g.GetSlots(), g.GetPhase(),
		g.GetFormer())
}

// isLike reports whether two grants are shared in the same way.
func isLike(a, b *journal.Grant) bool { return sharing(a) == sharing(b) }

// share checks what a grant says about sharing, by itself and beside the leases that are held.
func (r *resource) share(g *journal.Grant, wrong func(string, ...any)) {
	wellFormed := isWellFormed(g)
	if !wellFormed {
		wrong("token %d is granted with %s, %s, which no lease has", g.GetToken(), sharing(g), block(g))
	}
	r.continues(g, wrong)
	if fence(g) < r.fence {
		wrong("token %d has fence %d, behind fence %d", g.GetToken(), fence(g), r.fence)
	}
	if !r.known || !wellFormed {
		return
	}
	r.fits(g, wrong)
	r.numbers(g, wrong)
	switch {
	case !isShared(g):
	case len(r.held) > 0 && fence(g) != fence(r.held[0].Grant):
		wrong("token %d has phase %d, and token %d beside it phase %d",
			g.GetToken(), fence(g), r.held[0].GetToken(), fence(r.held[0].Grant))
	case len(r.held) == 0 && !r.unseen && fence(g) != g.GetToken():
		wrong("token %d has phase %d, though nothing is held beside it", g.GetToken(), fence(g))
	}
}

// isWellFormed reports whether the fields of a grant agree.
func isWellFormed(g *journal.Grant) bool {
	if !isShared(g) {
		return len(g.GetSlots()) == 0 && g.GetPhase() == 0 && g.GetFormer() == 0 && isBlock(g)
	}
	n := len(g.GetSlots())
	for i, slot := range g.GetSlots() {
		if i > 0 && slot <= g.GetSlots()[i-1] {
			return false
		}
	}
	return g.GetTokens() == 0 && g.GetMinHoldMs() == 0 && g.GetLimit() > 1 && 0 < n && n <= mostPermits && uint64(n) <= limit(g) &&
		0 < g.GetPhase() && g.GetPhase() <= g.GetToken() && g.GetFormer() < g.GetToken()
}

// fits checks that no limit is exceeded: neither that of the grant nor that of a lease beside it.
func (r *resource) fits(g *journal.Grant, wrong func(string, ...any)) {
	permits := len(slots(g))
	for _, h := range r.held {
		permits += len(slots(h.Grant))
	}
	for _, h := range r.held {
		if uint64(permits) > min(limit(h.Grant), limit(g)) {
			wrong("token %d is granted to %s while token %d of %s is held: %d permits, where limits are %d and %d",
				g.GetToken(), g.GetOwner(), h.GetToken(), h.GetOwner(), permits, limit(g), limit(h.Grant))
			return
		}
	}
}

// isFull reports whether no permit more can be held.
func (r *resource) isFull() bool {
	permits, most := uint64(0), uint64(math.MaxUint64)
	for _, h := range r.held {
		permits, most = permits+uint64(len(slots(h.Grant))), min(most, limit(h.Grant))
	}
	return permits >= most
}

// numbers checks that the permits of a grant have the smallest numbers that are free. A lease that is downgraded keeps
// its own.
func (r *resource) numbers(g *journal.Grant, wrong func(string, ...any)) {
	taken := make(map[uint32]*holding)
	for _, h := range r.held {
		for _, slot := range slots(h.Grant) {
			taken[slot] = h
		}
	}
	for _, slot := range slots(g) {
		if h := taken[slot]; h != nil {
			wrong("token %d gets slot %d, which token %d has", g.GetToken(), slot, h.GetToken())
			return
		}
	}
	if r.unseen || r.downgraded != nil {
		return
	}
	var free []uint32
	for slot := uint32(0); len(free) < len(slots(g)); slot++ {
		if taken[slot] == nil {
			free = append(free, slot)
		}
	}
	if !slices.Equal(slots(g), free) {
		wrong("token %d gets the slots %d, where %d are the smallest free ones", g.GetToken(), slots(g), free)
	}
}

// continues checks that a lease with a former token has come from a downgrade, and is of the same request.
func (r *resource) continues(g *journal.Grant, wrong func(string, ...any)) {
	before := r.downgraded
	switch {
	case before == nil && g.GetFormer() != 0:
		wrong("token %d has the former token %d, which was not downgraded just before", g.GetToken(), g.GetFormer())
	case before == nil && g.GetExtendOrder()+g.GetSetOrder() != 0:
		wrong("token %d begins with %s", g.GetToken(), orders(g))
	case before == nil:
	case g.GetFormer() != before.GetToken() || requestOf(g) != requestOf(before):
		wrong("token %d of %s, formerly %d, is granted where token %d of %s was downgraded",
			g.GetToken(), g.GetOwner(), g.GetFormer(), before.GetToken(), before.GetOwner())
	case before.GetMinHoldMs() > 0:
		wrong("token %d is downgraded, which has a shortest hold", before.GetToken())
	case limit(g) <= limit(before) || !slices.Equal(slots(g), slots(before)) || !isFirst(g):
		wrong("token %d was downgraded with %s, and goes on as token %d with %s",
			before.GetToken(), sharing(before), g.GetToken(), sharing(g))
	case !isInOrder(messages.Event_EXTENDED, g, before):
		wrong("token %d was downgraded with %s, and goes on as token %d with %s", before.GetToken(), orders(before),
			g.GetToken(), orders(g))
	}
}

// end notes the end of a lease, which is no longer in held.
func (r *resource) end(m *journal.Change, wrong func(string, ...any)) {
	if m.GetKind() != messages.Event_RELEASED || m.GetReason() != Downgraded {
		return
	}
	r.downgraded = m.GetGrant()
	if len(r.held) > 0 && r.known {
		wrong("token %d is downgraded while token %d is held", m.GetGrant().GetToken(), r.held[0].GetToken())
	}
}

// interrupted checks that nothing is between the two changes of a downgrade.
func (r *resource) interrupted(by string, wrong func(string, ...any)) {
	if r.downgraded != nil {
		wrong("token %d is downgraded, and %s comes behind it", r.downgraded.GetToken(), by)
	}
	r.downgraded = nil
}
