package simulation

import (
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/holdfast-io/holdfast/actors"
	"github.com/holdfast-io/holdfast/actors/lease"
)

// clock is that of one machine. Its wall clock is wrong and jumps; its monotonic clock runs faster or slower than those
// of others. While its process is paused no timer fires.
type clock struct {
	origin time.Time
	// rate is how fast it runs, in millionths of the true rate.
	rate int64

	mu sync.Mutex
	// wall is since when the wall clock was how much ahead, the latest last.
	wall []setting
	// paused counts the pauses under way; late are the timers that would have fired meanwhile.
	paused int
	late   []*lateTimer
	// bugs are the functions of the product that panic, each once, when they next read the clock.
	bugs []string
	// panicked are those that have.
	panicked []string
}

// setting is how much a wall clock is ahead from a true time on.
type setting struct {
	since time.Time
	ahead time.Duration
}

// lateTimer is a timer that fires when its process goes on, unless it is stopped before.
type lateTimer struct {
	f       func()
	stopped bool
}

// maxDrift is how much a monotonic clock drifts, in millionths: most of what NTP corrects, and the checker of journals
// allows for.
const maxDrift = 400

func newClock(dice *rand.Rand) *clock {
	c := &clock{origin: time.Now(), rate: 1_000_000 + dice.Int64N(2*maxDrift+1) - maxDrift}
	c.jump(time.Duration(dice.Int64N(int64(time.Hour))) - time.Hour/2)
	return c
}

// scaled returns how long a time lasts for the machine, and trueTime how long the machine's time lasts.
func (c *clock) scaled(d time.Duration) time.Duration { return d / 1_000_000 * time.Duration(c.rate) }

func (c *clock) trueTime(d time.Duration) time.Duration {
	return time.Duration(float64(d) / float64(c.rate) * 1_000_000)
}

// Now implements actors.Clock.
func (c *clock) Now() lease.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.fail()
	passed := c.scaled(time.Since(c.origin))
	ahead := c.wall[len(c.wall)-1].ahead
	return lease.Time{Instant: lease.Instant(passed), UnixMillis: c.origin.Add(passed + ahead).UnixMilli()}
}

// plant lets functions of the product panic, each once and in this order, as if they had a bug.
func (c *clock) plant(functions ...string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.bugs = functions
}

// replay is the name of what [Deployment.Replaying] observes.
const replay = "replay"

// check panics if the first bug that is planted is that of this function.
func (c *clock) check(function string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.bugs) > 0 && c.bugs[0] == function {
		c.fall()
	}
}

// fall panics as the first bug does.
func (c *clock) fall() {
	function := c.bugs[0]
	c.bugs, c.panicked = c.bugs[1:], append(c.panicked, function)
	panic("a bug of " + function)
}

// fail panics if the caller of the clock is called by the function with the first bug.
func (c *clock) fail() {
	if len(c.bugs) == 0 {
		return
	}
	var pcs [16]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(3, pcs[:])])
	for {
		f, more := frames.Next()
		if strings.HasSuffix(f.Function, c.bugs[0]) {
			c.fall()
		}
		if !more {
			return
		}
	}
}

// AfterFunc implements actors.Clock.
func (c *clock) AfterFunc(d time.Duration, f func()) (stop func() bool) {
	t := &lateTimer{f: f}
	timer := time.AfterFunc(c.trueTime(d), func() {
		if !c.isLate(t) {
			f()
		}
	})
	return func() bool { return timer.Stop() || c.stop(t) }
}

// isLate keeps a timer for later if the process is paused.
func (c *clock) isLate(t *lateTimer) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.paused > 0 {
		c.late = append(c.late, t)
	}
	return c.paused > 0
}

// stop stops a timer that is kept for later, and reports whether it was.
func (c *clock) stop(t *lateTimer) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, x := range c.late {
		if x == t && !t.stopped {
			t.stopped = true
			return true
		}
	}
	return false
}

// pause lets no timer fire until resume is called as often.
func (c *clock) pause() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.paused++
}

func (c *clock) resume() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.paused--; c.paused > 0 {
		return
	}
	for _, t := range c.late {
		if !t.stopped {
			go t.f()
		}
	}
	c.late = nil
}

// jump sets the wall clock.
func (c *clock) jump(ahead time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wall = append(c.wall, setting{time.Now(), ahead})
}

// truth returns the true time at which the wall clock showed a time, in Unix milliseconds: the first such time that is
// not before another one.
func (c *clock) truth(shown, before int64) int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, s := range c.wall {
		passed := time.UnixMilli(shown).Sub(c.origin.Add(s.ahead))
		at := c.origin.Add(c.trueTime(passed))
		next := at.Add(time.Second)
		if i+1 < len(c.wall) {
			next = c.wall[i+1].since
		}
		if !at.Before(s.since.Add(-time.Second)) && at.Before(next.Add(time.Second)) && at.UnixMilli() >= before-1000 {
			return max(at.UnixMilli(), before)
		}
	}
	return before
}

var _ actors.Clock = (*clock)(nil)
