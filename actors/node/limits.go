package node

import (
	"cmp"
	"errors"
	"fmt"

	"golang.org/x/time/rate"

	"github.com/holdfast-io/holdfast/actors"
)

// Capacity bounds what a node takes on. The zero value of a field means its default.
type Capacity struct {
	// Held is how many resources may be held on the node.
	Held int64
	// Waiting is how many requests may wait on the node, for all resources together.
	Waiting int64
	// Rate is how many requests a second the node takes, Burst how many of them at once; by default
	// as many as in a second.
	Rate, Burst int
}

// DefaultCapacity returns the defaults. A held resource takes about a kilobyte, a waiting request
// half of one; the rate is more than a node can do, so that only who sets it meets it.
func DefaultCapacity() Capacity {
	return Capacity{Held: 1_000_000, Waiting: 100_000, Rate: 1_000_000, Burst: 1_000_000}
}

// errRate says that requests come too fast.
var errRate = errors.New("rate")

// gate keeps a node within its capacity.
type gate struct {
	capacity Capacity
	quota    *actors.Quota
	rate     *rate.Limiter
}

func newGate(c Capacity) *gate {
	d := DefaultCapacity()
	c.Held = cmp.Or(c.Held, d.Held)
	c.Waiting = cmp.Or(c.Waiting, d.Waiting)
	c.Rate = cmp.Or(c.Rate, d.Rate)
	c.Burst = cmp.Or(c.Burst, c.Rate)
	return &gate{capacity: c, quota: new(actors.Quota), rate: rate.NewLimiter(rate.Limit(c.Rate), c.Burst)}
}

// enter lets a request in, or says which limit keeps it out.
func (g *gate) enter() error {
	if g.rate.Allow() {
		return nil
	}
	return fmt.Errorf("%w: %d requests a second is all that this node takes; try later", errRate, g.capacity.Rate)
}

// noGrant says why nothing more may be granted, if that is so.
func (g *gate) noGrant() string {
	if g.quota.Held() < g.capacity.Held {
		return ""
	}
	return fmt.Sprintf("held: %d resources are held on this node, the most that may; try later", g.capacity.Held)
}

// noWait says why no further request may wait, if that is so.
func (g *gate) noWait() string {
	if g.quota.Waiting() < g.capacity.Waiting {
		return ""
	}
	return fmt.Sprintf("waiting: %d requests wait on this node, the most that may; try later", g.capacity.Waiting)
}
