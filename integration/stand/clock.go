package stand

import (
	"sync/atomic"
	"time"

	"github.com/holdfast-io/holdfast/actors"
	"github.com/holdfast-io/holdfast/actors/lease"
)

// Clock is the clock of a machine whose time of day can be set. It begins with the right one.
type Clock struct {
	actors.Clock
	ahead atomic.Int64
}

// NewClock returns a clock.
func NewClock() *Clock { return &Clock{Clock: actors.SystemClock()} }

// Set sets the clock ahead by d, negative: behind.
func (c *Clock) Set(d time.Duration) { c.ahead.Store(d.Milliseconds()) }

// Now implements actors.Clock.
func (c *Clock) Now() lease.Time {
	now := c.Clock.Now()
	now.UnixMillis += c.ahead.Load()
	return now
}
