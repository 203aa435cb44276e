package lease

import (
	"github.com/cespare/xxhash/v2"

	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/journal"
)

// Shrink returns what a free resource needs for its next token, and to tell the last owner how its lease
// ended. Metadata, TTL, request id and the owner's name go; a digest of the name stays. A repeated
// acquire is not recognized any more. A resource that is held or held back is returned as it is.
func (i *Image) Shrink() Image {
	switch {
	case !i.IsFree():
		return *i
	case i.Grant == nil || i.Floor > messages.Token(i.Grant.GetToken()):
		return Image{Floor: i.Token()} // there may have been later leases, of which nothing is known
	case i.OwnerDigest != 0:
		return *i
	default:
		return Image{
			Grant: &journal.Grant{
				Resource: i.Grant.GetResource(), Token: i.Grant.GetToken(), Former: i.Grant.GetFormer(),
			},
			State: i.State, OwnerDigest: digest(i.Grant.GetOwner()),
		}
	}
}

// wasOf reports whether the last grant was owner's. Of a shrunk one it goes by the digest: a name that
// has the same one is told how the lease ended, and that changes nothing.
func (i *Image) wasOf(owner string) bool {
	if i.OwnerDigest != 0 {
		return i.OwnerDigest == digest(owner)
	}
	return i.Grant.GetOwner() == owner
}

// digest is part of the stored format. It is never 0, which stands for none.
func digest(owner string) uint64 { return max(xxhash.Sum64String(owner), 1) }
