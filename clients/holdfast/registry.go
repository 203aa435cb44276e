package holdfast

import "github.com/holdfast-io/holdfast/messages"

// party is who may share a lease: the same owner, for the same resource.
type party struct{ resource, owner string }

func (h *hold) party() party { return party{h.claim.Resource, h.terms.owner} }

// register makes the hold known, so that a late answer about it is not taken for a stray, and returns
// it, or the one that has its claim already. It is [ErrClosed] if the client has been closed, and
// errReturned if the lease has been given back.
func (c *Client) register(h *hold) (known *hold, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.life.Err() != nil {
		return nil, ErrClosed
	}
	if other := c.holds[h.claim]; other != nil {
		return other, nil
	}
	if r := c.returned[h.party()]; r != nil && h.claim.Token <= r.upTo {
		return nil, errReturned
	}
	c.holds[h.claim] = h
	if h.terms.reentrant {
		c.shared[h.party()] = h
	}
	return h, nil
}

func (c *Client) unregister(h *hold) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.drop(h)
}

// drop is called with mu held.
func (c *Client) drop(h *hold) {
	if c.holds[h.claim] == h {
		delete(c.holds, h.claim)
	}
	if c.shared[h.party()] == h {
		delete(c.shared, h.party())
	}
}

// isHeld reports whether the lease is held here.
func (c *Client) isHeld(l *messages.Lease) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.holds[messages.Claim{Resource: l.GetResource(), Token: Token(l.GetToken())}] != nil
}

func (c *Client) sharedBy(p party) *hold {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.shared[p]
}

// lastID is the number of the latest try.
func (c *Client) lastID() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.lastTry
}
