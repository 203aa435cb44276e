package conformance_test

import (
	"fmt"
	"strconv"
	"sync"

	"github.com/holdfast-io/holdfast/clients/holdfast"
)

// grants are the leases that a service has granted, as far as is known.
type grants struct {
	mu      sync.Mutex
	changed chan struct{} // closed by the next change
	all     map[leaseID]*grant
}

// leaseID identifies a lease. The token is in decimal.
type leaseID struct{ resource, token string }

// grant is a lease that was granted.
type grant struct {
	leaseID
	number holdfast.Token
	// tokens is how many tokens the lease has, as far as the journal says.
	tokens       uint32
	owner, fence string
	// shared: others may hold the resource at the same time. confirmed: the journal has the grant.
	shared, confirmed bool
	// known is the earliest moment at which anything knew of the grant, so it is later than the grant.
	known int64
	// ranOut is when the journal said that the lease has run out; 0: it did not. broken: that it was broken.
	ranOut int64
	broken bool
}

func newGrants() *grants { return &grants{changed: make(chan struct{}), all: map[leaseID]*grant{}} }

// saw notes what the journal says.
func (g *grants) saw(e holdfast.Event) {
	at := now()
	l := e.Lease
	id := leaseID{l.Resource, fmt.Sprint(uint64(l.Token))}
	g.mu.Lock()
	defer g.mu.Unlock()
	switch e.Kind {
	case holdfast.EventAcquired:
		lease := g.told(id, l.Token, at)
		lease.owner, lease.fence, lease.shared, lease.confirmed = l.Owner, l.Fence.String(), l.Limit > 0, true
		lease.tokens = max(1, l.Tokens)
	case holdfast.EventExtended:
		lease := g.told(id, l.Token, at)
		lease.tokens = max(lease.tokens, l.Tokens)
	case holdfast.EventExpired:
		g.told(id, l.Token, at).ranOut = at
	case holdfast.EventBroken:
		g.told(id, l.Token, at).broken = true
	}
	close(g.changed)
	g.changed = make(chan struct{})
}

// tell notes a grant that somebody else knew of at this moment.
func (g *grants) tell(id leaseID, owner string, shared bool, at int64) error {
	token, err := strconv.ParseUint(id.token, 10, 64)
	if err != nil {
		return fmt.Errorf("%q is no token: %w", id.token, err)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	lease := g.told(id, holdfast.Token(token), at)
	if !lease.confirmed {
		lease.owner, lease.shared = owner, shared
	}
	return nil
}

// told returns a grant of which something knew at this moment. It is called with g.mu held.
func (g *grants) told(id leaseID, token holdfast.Token, at int64) *grant {
	lease := g.all[id]
	if lease == nil {
		lease = &grant{leaseID: id, number: token, known: at}
		g.all[id] = lease
	}
	lease.known = min(lease.known, at)
	return lease
}

// next returns the earliest known grant behind one that it excludes; found is false if there is none.
func (g *grants) next(id leaseID, shared bool) (next grant, found bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	this := g.all[id]
	if this == nil || g.lease(id).broken {
		return grant{}, false
	}
	for _, other := range g.all {
		if other.resource != id.resource || other.number <= this.number || shared && other.shared {
			continue
		}
		if !found || other.known < next.known {
			next, found = *other, true
		}
	}
	return next, found
}

// runOut returns the leases of these owners that have run out since a moment.
func (g *grants) runOut(owners map[string]bool, since int64) (leases []leaseID) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for id, lease := range g.all {
		if owners[lease.owner] && lease.ranOut >= since {
			leases = append(leases, id)
		}
	}
	return leases
}

// of returns the leases of an owner on a resource.
func (g *grants) of(resource, owner string) (leases []leaseID) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for id, lease := range g.all {
		if id.resource == resource && lease.owner == owner {
			leases = append(leases, id)
		}
	}
	return leases
}

// look returns what is known of the lease that has a token, and what the next change closes.
func (g *grants) look(id leaseID) (lease grant, changed <-chan struct{}) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if l := g.lease(id); l != nil {
		lease = *l
	}
	return lease, g.changed
}

// lease returns the lease that has a token, its first one or another one of its block; nil if none is known. It is
// called with g.mu held.
func (g *grants) lease(id leaseID) *grant {
	this := g.all[id]
	if this != nil && this.confirmed {
		return this
	}
	token, _ := strconv.ParseUint(id.token, 10, 64) // else it is in no block
	for _, l := range g.all {
		if l.resource == id.resource && l.confirmed && uint64(l.number) < token &&
			token-uint64(l.number) < uint64(l.tokens) {
			return l
		}
	}
	return this
}
