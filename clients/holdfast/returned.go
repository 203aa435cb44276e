package holdfast

import (
	"errors"

	"github.com/holdfast-io/holdfast/messages"
)

// returned are the leases of a party that this client has given back, or is about to. An answer that
// grants one of them once more, because it was on its way beside the release, is worth nothing. They are
// remembered for as long as a request or a release of the party is under way.
type returned struct {
	upTo  Token
	users int
}

// errReturned refuses a lease that has been given back.
var errReturned = errors.New("given back")

// remember begins to remember what the party gives back. Whoever calls it calls forgive in the end.
func (c *Client) remember(p party) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.addReturned(p, 0)
}

func (c *Client) forgive(p party) {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := c.returned[p]
	if r.users--; r.users == 0 {
		delete(c.returned, p)
	}
}

// returns notes that a lease is about to be given back, with the hold that was on it, if there was one;
// not if another hold has it, and not if that is being done already: of two releases side by side one
// would find that somebody else has come, and take the lock for lost. Then the caller gives it back and
// calls forgive.
func (c *Client) returns(claim messages.Claim, owner string, h *hold) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if other := c.holds[claim]; other != nil && other != h {
		return false
	}
	p := party{claim.Resource, owner}
	if r := c.returned[p]; h == nil && r != nil && claim.Token <= r.upTo {
		return false
	}
	if h != nil {
		c.drop(h)
	}
	c.addReturned(p, claim.Token)
	return true
}

// addReturned is called with mu held.
func (c *Client) addReturned(p party, t Token) {
	r := c.returned[p]
	if r == nil {
		r = new(returned)
		c.returned[p] = r
	}
	r.users++
	r.upTo = max(r.upTo, t)
}
