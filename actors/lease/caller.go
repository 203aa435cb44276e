package lease

import (
	"crypto/subtle"

	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/journal"
)

// caller is the sender of a request about a lease. Of a lease that has a secret, the owner's name alone is another
// owner.
type caller struct {
	owner string
	// hash is that of the secret in the request; nil: it has none.
	hash []byte
}

func newCaller(owner string, secret []byte) caller {
	c := caller{owner: owner}
	if len(secret) > 0 {
		c.hash = messages.HashSecret(secret)
	}
	return c
}

// requester is the sender of an acquire.
func requester(r *messages.AcquireRequest) caller { return newCaller(r.GetOwner(), r.GetSecret()) }

// opens reports whether the caller has the secret of the hash, if it is one. The comparison takes the same time
// whatever differs.
func (c caller) opens(hash []byte) bool {
	return len(hash) == 0 || subtle.ConstantTimeCompare(hash, c.hash) == 1
}

// is reports whether the grant has the caller's owner and hash.
func (c caller) is(g *journal.Grant) bool {
	return g.GetOwner() == c.owner && subtle.ConstantTimeCompare(g.GetSecretHash(), c.hash) == 1
}

// owns reports whether the caller is the owner of the grant.
func (c caller) owns(g *journal.Grant) bool {
	return g.GetOwner() == c.owner && c.opens(g.GetSecretHash()) // mutant: SecretNotChecked
}
