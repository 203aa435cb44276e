package actors

import (
	"fmt"
	"math"
	"sync/atomic"
)

// admission counts the requests that were taken in and neither answered nor queued, and ends when
// there are none: what was taken in before the end is seen to, and nothing is taken in behind it.
// It is safe for concurrent use.
type admission struct {
	n atomic.Int64
	// quota counts them for all shards of the node; nil if they are not counted.
	quota *Quota
}

// ended is far below what any count can bring back to 0.
const ended = math.MinInt64 / 2

// enter takes a request in, if fewer than most are.
func (a *admission) enter(most int) error {
	for {
		n := a.n.Load()
		switch {
		case n < 0:
			return ErrEnded
		case n >= int64(most):
			return fmt.Errorf("%w (%d)", ErrOverloaded, most)
		case a.n.CompareAndSwap(n, n+1):
			a.quota.pend(1)
			return nil
		}
	}
}

// leave lets so many go.
func (a *admission) leave(n int64) {
	a.n.Add(-n)
	a.quota.pend(-n)
}

// end lets no more in if nobody is in, and reports whether that is so.
func (a *admission) end() bool {
	return a.n.CompareAndSwap(0, ended) || a.n.Load() < 0
}
