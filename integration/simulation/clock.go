package simulation

import (
	"math/rand/v2"
	"sync"
	"time"

	"github.com/holdfast-io/holdfast/actors"
	"github.com/holdfast-io/holdfast/actors/lease"
)

// clock is that of one machine. Its wall clock is wrong and jumps; its monotonic clock runs faster or slower than those
// of others.
type clock struct {
	origin time.Time
	// rate is how fast it runs, in millionths of the true rate.
	rate int64

	mu sync.Mutex
	// ahead is how much the wall clock is ahead.
	ahead time.Duration
}

// maxDrift is how much a monotonic clock drifts, in millionths: twice as much as NTP corrects at most.
const maxDrift = 1000

func newClock(dice *rand.Rand) *clock {
	return &clock{
		origin: time.Now(), rate: 1_000_000 + dice.Int64N(2*maxDrift+1) - maxDrift,
		ahead: time.Duration(dice.Int64N(int64(time.Hour))) - time.Hour/2,
	}
}

// scaled returns how long a time lasts for the machine, and true how long the machine's time lasts.
func (c *clock) scaled(d time.Duration) time.Duration { return d / 1_000_000 * time.Duration(c.rate) }

func (c *clock) trueTime(d time.Duration) time.Duration {
	return time.Duration(float64(d) / float64(c.rate) * 1_000_000)
}

// Now implements actors.Clock.
func (c *clock) Now() lease.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	passed := c.scaled(time.Since(c.origin))
	return lease.Time{Instant: lease.Instant(passed), UnixMillis: c.origin.Add(passed + c.ahead).UnixMilli()}
}

// AfterFunc implements actors.Clock.
func (c *clock) AfterFunc(d time.Duration, f func()) (stop func() bool) {
	return time.AfterFunc(c.trueTime(d), f).Stop
}

// jump sets the wall clock.
func (c *clock) jump(ahead time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ahead = ahead
}

var _ actors.Clock = (*clock)(nil)
