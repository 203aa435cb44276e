package actors

import (
	"fmt"
	"math"
	"sync/atomic"
)

// admission counts the requests that were taken in and neither answered nor queued. It ends when there are
// none: a request that is in before the end is finished, and none is taken in after it. It is safe for
// concurrent use.
type admission struct {
	n atomic.Int64
	// quota counts them for all shards of the node.
	quota *Quota
}

// admissionEnded is far below what any count can bring back to 0.
const admissionEnded = math.MinInt64 / 2

// enter takes a request in, unless limit requests are in.
func (a *admission) enter(limit int, r *Request) error {
	for {
		n := a.n.Load()
		switch {
		case n < 0:
			return ErrEnded
		case n >= int64(limit):
			return fmt.Errorf("%w (%d)", ErrOverloaded, limit)
		case a.n.CompareAndSwap(n, n+1):
			r.counted = true
			a.quota.pend(r.Share, 1)
			return nil
		}
	}
}

// leave counts n requests out, which have the share of a tenant, or nil.
func (a *admission) leave(share *Share, n int64) {
	a.n.Add(-n)
	a.quota.pend(share, -n)
}

// end takes no more requests in if none is in, and reports whether that is so.
func (a *admission) end() bool {
	return a.n.CompareAndSwap(0, admissionEnded) || a.n.Load() < 0
}
