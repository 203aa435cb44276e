package lease

import (
	"time"

	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/journal"
)

// Image is what there is to remember of a resource. The zero value is one that was never granted.
type Image struct {
	// Grant is the last lease granted, nil if there was none. It is never modified, only replaced,
	// so that images, records and answers may share it.
	Grant *journal.Grant
	// State is ACQUIRED while the grant is held, else how it ended.
	State messages.Event_Kind
	// Deadline is when a held lease ends.
	Deadline Instant
	// Floor is a token that may have been issued already, by a grant that is not remembered.
	Floor messages.Token
	// OwnerDigest stands for the owner of a grant that keeps nothing but its token; see [Image.Shrink].
	// 0: the grant is whole.
	OwnerDigest uint64
}

// Held reports whether the resource is held.
func (i *Image) Held() bool { return i.State == messages.Event_ACQUIRED }

// Token returns the highest token that may have been issued, 0 if none.
func (i *Image) Token() messages.Token {
	return max(i.Floor, messages.Token(i.Grant.GetToken()))
}

// Apply takes the image over a change that was decided at now. It is the only way an image
// changes, in live work and in replay alike.
func (i *Image) Apply(c *journal.Change, now Instant) {
	if c.GetGrant() == nil {
		i.Floor = messages.Token(c.GetReserved())
		return
	}
	i.Grant, i.OwnerDigest = c.GetGrant(), 0
	switch c.GetKind() {
	case messages.Event_ACQUIRED:
		i.Floor = 0 // this token is above it
		fallthrough
	case messages.Event_EXTENDED:
		i.State = messages.Event_ACQUIRED
		i.Restart(now)
	default:
		i.State = c.GetKind()
		i.Deadline = 0
	}
}

// Restart lets a held lease run its whole TTL from now, as a new owner does that cannot know how
// much of it has passed.
func (i *Image) Restart(now Instant) {
	if i.Held() {
		i.Deadline = now.Add(ttl(i.Grant.GetTtlMs()))
	}
}

// Lease is the public view of the grant at now, nil if there is none.
func (i *Image) Lease(now Instant) *messages.Lease {
	return i.Grant.Lease(i.Deadline.Sub(now))
}

// ephemeral reports whether the last lease is in memory only.
func (i *Image) ephemeral() bool {
	return i.Grant.GetDurability() == messages.Durability_EPHEMERAL
}

// heldBy reports whether owner is the present holder.
func (i *Image) heldBy(owner string) bool {
	return i.Held() && i.Grant.GetOwner() == owner
}

// lastOf reports whether the last grant was owner's; token 0 stands for whatever it was. Behind a
// floor there may have been later ones, of which nothing is known.
func (i *Image) lastOf(owner string, token uint64) bool {
	return i.Grant != nil && i.wasOf(owner) && i.Token() == messages.Token(i.Grant.GetToken()) &&
		(token == 0 || token == i.Grant.GetToken())
}

func ttl(millis uint32) time.Duration { return time.Duration(millis) * time.Millisecond }
