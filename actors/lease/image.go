package lease

import (
	"iter"
	"time"

	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/journal"
)

// Image is what there is to remember of a resource. The zero value is one that was never granted. A copy shares the
// other leases with its original: see [Image.Clone].
type Image struct {
	// Grant is the last lease granted, nil if there was none. It is never modified, only replaced,
	// so that images, records and answers may share it.
	Grant *journal.Grant
	// State is ACQUIRED while that lease is held, else how it ended: CONFIRMED if it was lost and held the resource back
	// until that was over.
	State messages.Event_Kind
	// Deadline is when that lease ends, if it is held; [Never] if it is in a session: see [Sessions.Deadline].
	Deadline Instant
	// Floor is a token that may have been issued already, by a grant that is not remembered.
	Floor messages.Token
	// Reserved is the highest token that ephemeral leases may have without a further record; 0: none. Only the owner that
	// has recorded it knows which of the reserved tokens were issued. It is not stored; for other owners it is the floor.
	Reserved messages.Token
	// OwnerDigest stands for the owner of a grant that keeps nothing but its token; see [Image.Shrink].
	// 0: the grant is whole.
	OwnerDigest uint64
	// others are the earlier leases that are held; nil: none.
	others *leases
	// lost are the lost leases that hold the resource back, which may include the last one granted; nil: none.
	lost *leases
}

// Restore returns the image that was stored with these other leases and losses, see [Image.Others] and [Image.Losses].
// [Image.Restart] sets the deadlines.
func Restore(stored Image, held []*journal.Grant, lost []*journal.Loss) Image {
	resource := stored.Grant.GetResource()
	for _, g := range held {
		stored.others = stored.others.with(Holding{Grant: named(g, resource)}, 0)
	}
	for _, l := range lost {
		stored.lost = stored.lost.with(Holding{Grant: named(l.GetGrant(), resource)}, l.GetHow())
	}
	return stored
}

// named returns a grant with another resource.
func named(g *journal.Grant, resource string) *journal.Grant {
	return with(g, func(g *journal.Grant) { g.Resource = resource })
}

// Others returns the leases that are held besides the last one granted, the oldest first and without their resource, as
// they are stored.
func (i *Image) Others() (held []*journal.Grant) {
	for _, x := range i.others.all() {
		held = append(held, named(x.Grant, ""))
	}
	return held
}

// Losses returns the lost leases that hold the resource back, the oldest first and without their resource, as they are
// stored.
func (i *Image) Losses() (lost []*journal.Loss) {
	for _, x := range i.lost.all() {
		lost = append(lost, &journal.Loss{Grant: named(x.Grant, ""), How: x.How})
	}
	return lost
}

// Clone returns a copy that changes by itself.
func (i *Image) Clone() Image {
	c := *i
	c.others, c.lost = i.others.clone(), i.lost.clone()
	return c
}

// Held reports whether the resource is held.
func (i *Image) Held() bool { return i.State == messages.Event_ACQUIRED || i.others != nil }

// HeldBack reports whether nothing may be granted because of lost leases.
func (i *Image) HeldBack() bool { return i.lost != nil }

// IsFree reports whether the resource is neither held nor held back.
func (i *Image) IsFree() bool { return !i.Held() && !i.HeldBack() }

// Lost returns the lost leases that hold the resource back, the oldest first. They must not be modified.
func (i *Image) Lost() []Lost { return i.lost.all() }

// IsLost reports whether the lease with this token is lost and holds the resource back.
func (i *Image) IsLost(token messages.Token) bool {
	_, ok := i.lost.place(token)
	return ok
}

// Leases returns how many leases are held, or hold the resource back.
func (i *Image) Leases() int { return i.Holders() + i.lost.len() }

// Holders returns how many leases are held.
func (i *Image) Holders() int {
	n := i.others.len()
	if i.State == messages.Event_ACQUIRED {
		n++
	}
	return n
}

// Shared returns how many shared leases are held.
func (i *Image) Shared() int {
	n := i.others.len() // an exclusive lease has no others beside it
	if i.State == messages.Event_ACQUIRED && isShared(i.Grant.GetLimit()) {
		n++
	}
	return n
}

// Losts returns how many lost leases hold the resource back.
func (i *Image) Losts() int { return i.lost.len() }

// Holdings iterates over the leases that are held, the oldest first, so in the order of their tokens. The image must not
// change meanwhile.
func (i *Image) Holdings() iter.Seq[Holding] {
	return func(yield func(Holding) bool) {
		for _, x := range i.others.all() {
			if !yield(x.Holding) {
				return
			}
		}
		if i.State == messages.Event_ACQUIRED {
			yield(Holding{i.Grant, i.Deadline})
		}
	}
}

// Find returns the lease with this token, if it is held.
func (i *Image) Find(token messages.Token) (Holding, bool) {
	if i.isLast(token) {
		return Holding{i.Grant, i.Deadline}, i.State == messages.Event_ACQUIRED
	}
	if place, ok := i.others.place(token); ok {
		return i.others.list[place].Holding, true
	}
	return Holding{}, false
}

// last returns the last lease granted, which must be held.
func (i *Image) last() Holding { return Holding{i.Grant, i.Deadline} }

// phase returns the fence of a shared lease that is granted next, under the token: that of the leases beside it.
func (i *Image) phase(token uint64) uint64 {
	if !i.Held() {
		return token
	}
	return uint64(i.first().Grant.Fence())
}

// first returns the oldest lease that is held.
func (i *Image) first() (h Holding) {
	for h = range i.Holdings() {
		break
	}
	return h
}

func (i *Image) isLast(token messages.Token) bool {
	return i.Grant != nil && messages.Token(i.Grant.GetToken()) == token
}

// Token returns the highest token that may have been issued, 0 if none.
func (i *Image) Token() messages.Token {
	return max(i.Floor, messages.Token(i.Grant.GetToken()))
}

// Soonest returns the earliest deadline of the leases that are held and of the delays, [Never] if there is none.
func (i *Image) Soonest() Instant { return min(i.soonestEnd(), i.lost.soonest()) }

// soonestEnd returns the earliest deadline of the leases that are held, [Never] if there are none.
func (i *Image) soonestEnd() Instant {
	soonest := i.others.soonest()
	if i.State == messages.Event_ACQUIRED {
		soonest = min(soonest, i.Deadline)
	}
	return soonest
}

// due returns the oldest lease whose deadline has come; there must be one.
func (i *Image) due(now Instant) (due Holding) {
	for h := range i.Holdings() {
		if h.Deadline <= now {
			return h
		}
	}
	panic("no lease is due")
}

// Weight estimates from above the bytes that the grants of the image take when they are stored.
func (i *Image) Weight() int {
	if i.Grant == nil {
		return 0
	}
	n := i.others.weight() + i.lost.weight()
	if !i.IsLost(messages.Token(i.Grant.GetToken())) {
		n += weightOf(i.Grant)
	}
	return n
}

// Apply takes the image over a change that was decided at now. It is the only way an image
// changes, in live work and in replay alike. The token of a grant is above all before it.
func (i *Image) Apply(c *journal.Change, now Instant) {
	g := c.GetGrant()
	if g == nil {
		i.Floor = messages.Token(c.GetReserved())
		return
	}
	switch token := messages.Token(g.GetToken()); {
	case c.GetKind() == messages.Event_ACQUIRED:
		if i.State == messages.Event_ACQUIRED {
			i.others = i.others.with(Holding{i.Grant, i.Deadline}, 0)
		}
		i.Floor = 0 // this token is above it
		i.set(c, now)
	case i.Grant == nil || i.isLast(token):
		i.set(c, now)
	default:
		i.applyToOther(c, now)
	}
	switch token := messages.Token(g.GetToken()); {
	case c.HoldsBack():
		i.lost = i.lost.with(Holding{g, delayEnd(g, now)}, c.GetKind())
	case c.GetKind() == messages.Event_CONFIRMED:
		i.lost = i.lost.without(token)
	}
}

// set puts the change in the place of the last grant.
func (i *Image) set(c *journal.Change, now Instant) {
	before := i.Deadline
	i.Grant, i.OwnerDigest = c.GetGrant(), 0
	i.State, i.Deadline = c.GetKind(), 0
	if isHeld(c.GetKind()) {
		i.State, i.Deadline = messages.Event_ACQUIRED, deadline(c, before, now)
	}
}

// applyToOther changes an earlier lease. One that is not known, as in a journal whose begin is not known, is left out.
func (i *Image) applyToOther(c *journal.Change, now Instant) {
	token := messages.Token(c.GetGrant().GetToken())
	if !isHeld(c.GetKind()) {
		i.others = i.others.without(token)
	} else if place, ok := i.others.place(token); ok {
		i.others.replace(place, Holding{c.GetGrant(), deadline(c, i.others.list[place].Deadline, now)})
	}
}

// isHeld reports whether a lease is held after a change of this kind.
func isHeld(kind messages.Event_Kind) bool {
	return kind == messages.Event_ACQUIRED || kind == messages.Event_EXTENDED || kind == messages.Event_UPDATED
}

// deadline returns when a lease ends after a change at now: new metadata leave it where it was before.
func deadline(c *journal.Change, before, now Instant) Instant {
	if c.GetKind() == messages.Event_UPDATED {
		return before
	}
	return end(c.GetGrant(), now)
}

// end returns when a lease ends that runs from now; one in a session by itself never does.
func end(g *journal.Grant, now Instant) Instant {
	if len(g.GetSession()) > 0 {
		return Never
	}
	return now.Add(ttl(g.GetTtlMs()))
}

// inSession reports whether a lease that is held belongs to a session.
func (i *Image) inSession() bool {
	return i.State == messages.Event_ACQUIRED && len(i.Grant.GetSession()) > 0 || i.others.inSession()
}

// Restart lets the held leases and the delays run from now for what the last owner has left of them, see
// [journal.HandOver], and in full those of which nothing is known: a new owner cannot know how much of it has passed.
func (i *Image) Restart(now Instant, left Left) {
	if i.State == messages.Event_ACQUIRED {
		i.Deadline = left.ofLease(i.Grant, end(i.Grant, now), now)
	}
	for place, x := range i.others.all() {
		i.others.list[place].Deadline = left.ofLease(x.Grant, end(x.Grant, now), now)
	}
	for place, x := range i.lost.all() {
		i.lost.list[place].Deadline = left.ofLease(x.Grant, delayEnd(x.Grant, now), now)
	}
}

// ephemeral reports whether all that is held is in memory only, and nothing holds back; of a free resource, whether the
// last lease was.
func (i *Image) ephemeral() bool {
	if i.HeldBack() {
		return false
	}
	if !i.Held() {
		return i.Grant.GetDurability() == messages.Durability_EPHEMERAL
	}
	for h := range i.Holdings() {
		if !h.ephemeral() {
			return false
		}
	}
	return true
}

// lastOf reports whether the last grant was the caller's, under this token or the one before it was downgraded; token 0
// stands for whatever it was. Behind a floor there may have been later ones, of which nothing is known.
func (i *Image) lastOf(who caller, token uint64) bool {
	return i.Grant != nil && i.wasOf(who) && i.Token() == messages.Token(i.Grant.GetToken()) &&
		(token == 0 || token == i.Grant.GetToken() || token == i.Grant.GetFormer())
}

func ttl(millis uint32) time.Duration { return time.Duration(millis) * time.Millisecond }
