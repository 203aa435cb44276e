package lease

import (
	"github.com/cespare/xxhash/v2"

	"github.com/holdfast-io/holdfast/messages/journal"
)

// Shrink returns what a free resource needs for its next token, and to report to the last owner how its lease ended.
// Metadata, TTL, request id, the owner's name and the hash of its secret go; a digest of the two stays. A repeated
// acquire is not recognized any more. A resource that is held or held back is returned as it is.
func (i *Image) Shrink() Image {
	last := i.leases.last
	switch g := last.Grant; {
	case !i.IsFree():
		return *i
	case g == nil || i.Floor > g.Last():
		return Image{Floor: i.Token()} // there may have been later leases, of which nothing is known
	case i.OwnerDigest != 0:
		return *i
	default:
		last.Grant = &journal.Grant{Resource: g.GetResource(), Token: uint64(g.Last()), Former: g.GetFormer()}
		if g.GetTokens() > 1 { // the token that names the lease; none with a block was downgraded
			last.Grant.Former = g.GetToken() // mutant: TombstoneOfABlockForgetsItsName
		}
		return Image{leases: leases{last: last}, OwnerDigest: digest(g.GetOwner(), g.GetSecretHash())}
	}
}

// wasOf reports whether the last grant was the caller's. Of a shrunk one the digest decides: a name with the same
// digest learns how the lease ended, and that changes nothing.
func (i *Image) wasOf(who caller) bool {
	if i.OwnerDigest == 0 {
		return who.owns(i.leases.last.Grant)
	}
	return i.OwnerDigest == digest(who.owner, nil) || len(who.hash) > 0 && i.OwnerDigest == digest(who.owner, who.hash)
}

// digest stands for an owner, and for the hash of its secret if there is one. It is part of the stored format. It is
// never 0, which stands for none.
func digest(owner string, hash []byte) uint64 {
	if len(hash) > 0 {
		owner += "\x00" + string(hash) // an owner has no control characters
	}
	return max(xxhash.Sum64String(owner), 1)
}
