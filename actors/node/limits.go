package node

import (
	"cmp"
	"errors"
	"fmt"
	"sync/atomic"

	"golang.org/x/time/rate"

	"github.com/holdfast-io/holdfast/actors"
)

// Capacity bounds what a node takes on. The zero value of a field means its default.
type Capacity struct {
	// Held is how many resources may be held on the node.
	Held int64
	// Waiting is how many requests may wait on the node, for all resources together.
	Waiting int64
	// Pending is how many requests may be on their way through the node, for all shards together: taken, and neither
	// answered nor in a queue.
	Pending int64
	// Rate is how many requests a second the node takes, Burst how many at once. Burst is Rate by default.
	Rate, Burst int
	// Crowded says that the process has no memory for more leases and waiting requests; nil: it has.
	Crowded *atomic.Bool
}

// DefaultCapacity returns the defaults. A held resource takes about 1 kB of memory, a waiting request 0.5 kB, a pending
// request up to 4 kB. Pending is about a second's work. Rate is more than a node can do, so it limits only where it is
// set.
func DefaultCapacity() Capacity {
	return Capacity{Held: 1_000_000, Waiting: 100_000, Pending: 20_000, Rate: 1_000_000, Burst: 1_000_000}
}

// The limits that refuse a request before it is decoded: errRate that on requests a second, errPending that on requests
// at once, errBehind that on requests that wait to be read.
var (
	errBehind  = errors.New("intake: requests come faster than this node reads them; try later")
	errRate    = errors.New("rate")
	errPending = errors.New("pending")
)

// gate keeps a node within its capacity.
type gate struct {
	capacity Capacity
	quota    *actors.Quota
	rate     *rate.Limiter
	// tooFast and tooMany are the errors of the limits, made once.
	tooFast, tooMany error
}

func newGate(c Capacity) *gate {
	d := DefaultCapacity()
	c.Held = cmp.Or(c.Held, d.Held)
	c.Waiting = cmp.Or(c.Waiting, d.Waiting)
	c.Pending = cmp.Or(c.Pending, d.Pending)
	c.Rate = cmp.Or(c.Rate, d.Rate)
	c.Burst = cmp.Or(c.Burst, c.Rate)
	return &gate{
		capacity: c, quota: new(actors.Quota), rate: rate.NewLimiter(rate.Limit(c.Rate), c.Burst),
		tooFast: fmt.Errorf("%w: %d requests a second is all that this node takes; try later", errRate, c.Rate),
		tooMany: fmt.Errorf("%w: %d requests are on their way through this node, the most that may; try later",
			errPending, c.Pending),
	}
}

// enter returns the limit that keeps a request out, nil if none does. Concurrent requests may exceed a limit slightly.
func (g *gate) enter() error {
	switch {
	case g.quota.Pending() >= g.capacity.Pending:
		return g.tooMany
	case !g.rate.Allow():
		return g.tooFast
	default:
		return nil
	}
}

// noGrant returns why nothing more may be granted, empty if more may be.
func (g *gate) noGrant() string {
	if g.isCrowded() {
		return crowded
	}
	if g.quota.Held() < g.capacity.Held {
		return ""
	}
	return fmt.Sprintf("held: %d leases are held on this node, the most that may; try later", g.capacity.Held)
}

// noWait returns why no further request may wait, empty if more may.
func (g *gate) noWait() string {
	if g.isCrowded() {
		return crowded
	}
	if g.quota.Waiting() < g.capacity.Waiting {
		return ""
	}
	return fmt.Sprintf("waiting: %d requests wait on this node, the most that may; try later", g.capacity.Waiting)
}

// crowded is why nothing is granted that takes memory.
const crowded = "memory: the leases and requests of this node take what its control group permits; try later"

func (g *gate) isCrowded() bool { return g.capacity.Crowded != nil && g.capacity.Crowded.Load() }
