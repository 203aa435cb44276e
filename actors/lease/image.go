package lease

import (
	"iter"

	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/journal"
)

// Image is what there is to remember of a resource. The zero value is one that was never granted. A copy shares the
// leases before the last one with its original: see [Image.Clone].
type Image struct {
	// Floor is a token that may have been issued already, by a grant that is not remembered.
	Floor messages.Token
	// Reserved is the highest token that ephemeral leases may have without a further record; 0: none. Only the owner
	// that has recorded it knows which of the reserved tokens were issued. It is not stored; for other owners it is the
	// floor.
	Reserved messages.Token
	// OwnerDigest stands for the owner of a grant that keeps nothing but its token; see [Image.Shrink].
	// 0: the grant is whole.
	OwnerDigest uint64
	leases      leases
}

// Clone returns a copy that changes by itself.
func (i *Image) Clone() Image {
	c := *i
	c.leases = i.leases.clone()
	return c
}

// Last returns the last lease granted, whether it is held or has ended; without a grant if there was none.
func (i *Image) Last() Lease { return i.leases.last }

// Held reports whether the resource is held.
func (i *Image) Held() bool { return i.leases.last.isHeld() || i.leases.earlier.counts().held > 0 }

// HeldBack reports whether nothing may be granted because of leases that have ended: lost ones, or one whose shortest
// hold is not over.
func (i *Image) HeldBack() bool {
	return i.leases.last.holdsBack() || i.leases.earlier.counts().ended > 0
}

// IsFree reports whether the resource is neither held nor held back.
func (i *Image) IsFree() bool { return !i.Held() && !i.HeldBack() }

// Counts are the leases that are held, those of them that are shared, and the ended ones that hold the resource back.
type Counts struct{ Held, Shared, Ended int }

// Counts returns how many leases there are of each kind.
func (i *Image) Counts() Counts {
	t := i.leases.tally()
	return Counts{Held: int(t.held), Shared: int(t.shared), Ended: int(t.ended)}
}

// Leases returns how many leases are held, or hold the resource back.
func (i *Image) Leases() int {
	c := i.Counts()
	return c.Held + c.Ended
}

// Holders returns how many leases are held.
func (i *Image) Holders() int { return i.Counts().Held }

// Permits returns how many permits are held.
func (i *Image) Permits() uint64 {
	n := i.leases.earlier.counts().permits
	if last := &i.leases.last; last.isHeld() { // mutant: PermitNotGivenBack
		n += permitsHeld(last.Grant)
	}
	return n
}

// inSession reports whether a lease that is held belongs to a session.
func (i *Image) inSession() bool {
	last := &i.leases.last
	return last.isHeld() && len(last.Grant.GetSession()) > 0 || i.leases.earlier.counts().sessions > 0
}

// Weight estimates from above the bytes that the leases of the image take when they are stored.
func (i *Image) Weight() int { return i.leases.weight() }

// Holdings iterates over the leases that are held, the oldest first, so in the order of their tokens. The image must
// not change meanwhile.
func (i *Image) Holdings() iter.Seq[Lease] {
	return func(yield func(Lease) bool) {
		earlier := i.leases.earlier.all()
		for place := range earlier {
			if l := &earlier[place]; l.isHeld() && !yield(l.Lease) {
				return
			}
		}
		if i.leases.last.isHeld() {
			yield(i.leases.last)
		}
	}
}

// Ended iterates over the ended leases that hold the resource back, the oldest first. The image must not change
// meanwhile.
func (i *Image) Ended() iter.Seq[Lease] {
	return func(yield func(Lease) bool) {
		if !i.HeldBack() {
			return
		}
		for place := range i.leases.len() {
			if l := i.leases.at(place); l.holdsBack() && !yield(*l) {
				return
			}
		}
	}
}

// Lost is [Image.Ended] without a lease that only rests.
func (i *Image) Lost() iter.Seq[Lease] {
	return func(yield func(Lease) bool) {
		for l := range i.Ended() {
			if l.isLost() && !yield(l) {
				return
			}
		}
	}
}

// Find returns the lease with this token, if it is held.
func (i *Image) Find(token messages.Token) (Lease, bool) {
	if l := i.leases.find(token); l != nil && l.isHeld() {
		return *l, true
	}
	return Lease{}, false
}

// FindEnded returns the lease with this token, if it has ended and holds the resource back.
func (i *Image) FindEnded(token messages.Token) (Lease, bool) {
	if l := i.leases.find(token); l != nil && l.holdsBack() {
		return *l, true
	}
	return Lease{}, false
}

// endedAs reports whether the lease with this token is the last one, and has ended in this way. Of a shrunk one all
// tokens count that it has had: these are from the former one on.
func (i *Image) endedAs(token messages.Token, how messages.Event_Kind) bool {
	g := i.leases.last.Grant
	had := g.Has(token) || i.OwnerDigest != 0 && g.GetFormer() > 0 &&
		token >= messages.Token(g.GetFormer()) && token < messages.Token(g.GetToken())
	return had && i.leases.last.How == how
}

// hasRested reports whether the lease with this token is the last one, was released, and had a shortest hold.
func (i *Image) hasRested(token messages.Token) bool {
	return i.endedAs(token, messages.Event_RELEASED) && i.leases.last.Grant.GetMinHoldMs() > 0
}

// endedWeight is [Image.Weight] for the ended leases that hold the resource back.
func (i *Image) endedWeight() (n int) {
	for l := range i.Ended() {
		n += weightOf(l.Grant)
	}
	return n
}

// firstEnded returns the oldest of the ended leases that hold the resource back, false if there is none.
func (i *Image) firstEnded() (Lease, bool) {
	for l := range i.Ended() {
		return l, true
	}
	return Lease{}, false
}

// phase returns the fence of a shared lease that is granted next, under the token: that of the leases beside it.
func (i *Image) phase(token uint64) uint64 {
	if !i.Held() { // mutant: PhaseDoesNotMoveOn
		return token
	}
	return uint64(i.first().Grant.Fence())
}

// first returns the oldest lease that is held; there must be one.
func (i *Image) first() (l Lease) {
	for l = range i.Holdings() {
		break
	}
	return l
}

// Token returns the highest token that may have been issued, 0 if none.
func (i *Image) Token() messages.Token {
	return max(i.Floor, i.leases.last.Grant.Last()) // mutant: BlockDoesNotMoveTheCounter
}

// Soonest returns the earliest deadline of the leases that are held and of the delays, [Never] if there is none.
func (i *Image) Soonest() Instant {
	soonest := Never
	for _, l := range i.leases.earlier.all() {
		soonest = min(soonest, l.Deadline)
	}
	if !i.leases.last.isOver() {
		soonest = min(soonest, i.leases.last.Deadline)
	}
	return soonest
}

// due returns the oldest lease that is held and whose deadline has come, false if there is none.
func (i *Image) due(now Instant) (Lease, bool) {
	earlier := i.leases.earlier.all()
	for place := range earlier {
		if l := &earlier[place]; l.Deadline <= now && l.isHeld() {
			return l.Lease, true
		}
	}
	last := i.leases.last
	return last, last.Deadline <= now && last.isHeld()
}

// Apply takes the image over a change that was decided at now. It is the only way an image changes, in live work and in
// replay alike. The token of a grant is above all before it. A change of an earlier lease that is not known, as in a
// journal whose begin is not known, is left out.
func (i *Image) Apply(c *journal.Change, now Instant) {
	g := c.GetGrant()
	token := messages.Token(g.GetToken())
	known := i.leases.find(token)
	switch l := changed(c, known, now); {
	case g == nil:
		i.Floor = messages.Token(c.GetReserved())
	case c.GetKind() == messages.Event_ACQUIRED:
		i.leases.grant(l)
		i.Floor, i.OwnerDigest = 0, 0 // this token is above the floor
	case i.leases.last.Grant == nil || i.leases.isLast(token):
		i.leases.last = l
		i.OwnerDigest = 0
	case known != nil || l.holdsBack():
		i.leases.putEarlier(l)
	}
}

// Restart lets the held leases and the delays run from now for what the last owner has left of them, see
// [journal.HandOver], and in full those of which nothing is known: a new owner cannot know how much of it has passed.
func (i *Image) Restart(now Instant, left Left) {
	for place := range i.leases.len() {
		l := i.leases.at(place)
		l.restart(now)
		if l.Deadline = left.ofLease(l.Grant, l.Deadline, now); l.holdsBack() {
			l.Rest = min(l.Rest, l.Deadline)
		}
	}
}

// ephemeral reports whether all that is held is in memory only, and nothing holds back; of a free resource, whether the
// last lease was.
func (i *Image) ephemeral() bool {
	if i.HeldBack() {
		return false
	}
	if !i.Held() {
		return i.leases.last.isEphemeral()
	}
	for l := range i.Holdings() {
		if !l.isEphemeral() {
			return false
		}
	}
	return true
}

// lastOf reports whether the last grant was the caller's, under this token or the one before it was downgraded; token 0
// stands for whatever it was. Behind a floor there may have been later ones, of which nothing is known.
func (i *Image) lastOf(who caller, token uint64) bool {
	g := i.leases.last.Grant
	return g != nil && i.wasOf(who) && i.Token() == g.Last() &&
		(token == 0 || token == g.GetToken() || token == g.GetFormer())
}
