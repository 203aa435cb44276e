package soak

import "time"

// instant is a moment since the run began.
type instant = time.Duration

// clock returns instants.
type clock struct{ start time.Time }

func newClock() clock { return clock{time.Now()} }

func (c clock) now() instant { return time.Since(c.start) }

// drift is how far the wall clock may have moved against the monotonic one before its times are not
// used any more.
const drift = 2 * time.Millisecond

// wall translates a time by the node's wall clock. Not ok: the wall clock was set.
func (c clock) wall(unixMillis int64) (at instant, ok bool) {
	now := time.Now()
	moved := now.Round(0).Sub(c.start.Round(0)) - now.Sub(c.start)
	return time.UnixMilli(unixMillis).Sub(c.start.Round(0)), moved.Abs() < drift
}
