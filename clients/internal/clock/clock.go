// Package clock reads a clock that also counts the time for which the machine was suspended.
//
// A lease runs out while its holder's machine sleeps. The monotonic clock of Go stands still meanwhile on Linux and on
// macOS, and so do timers. The moments of this package are those of Go's monotonic clock, moved by the time for which
// the machine was suspended since it was booted. They must not be compared with those of [time.Now]; see [Monotonic].
//
// A pause of a virtual machine may stop all of its clocks. No process can notice that.
package clock

import (
	"sync/atomic"
	"time"
)

// precision is for how long a reading of the system's clocks is used again, and the least time that counts as a
// suspend: two clocks cannot be read at the same moment.
const precision = time.Millisecond

var (
	begun = time.Now()
	// read is when the system's clocks were last read, after begun; asleep is what they said.
	read, asleep atomic.Int64
	// simulated is the time of [Suspend].
	simulated atomic.Int64
)

func init() { look() }

// Now returns the present moment. It never goes back.
func Now() time.Time {
	now := time.Now() // first, so that a suspend from here on counts
	if at := now.Sub(begun); at-time.Duration(read.Load()) >= precision {
		read.Store(int64(at))
		look()
	}
	return now.Add(sleep())
}

// Since returns the time since a moment of this clock.
func Since(t time.Time) time.Duration { return Now().Sub(t) }

// Until returns the time until a moment of this clock. A timer that is set for it is late if the machine is suspended.
func Until(t time.Time) time.Duration { return t.Sub(Now()) }

// Monotonic returns the moment of Go's monotonic clock that is a moment of this clock, if the machine is not suspended
// in between.
func Monotonic(t time.Time) time.Time {
	_ = Now()
	return t.Add(-sleep())
}

// Suspend moves the clock as a suspend of the machine for d does. It is for tests.
func Suspend(d time.Duration) { simulated.Add(int64(d)) }

// sleep is how long the machine was suspended.
func sleep() time.Duration { return time.Duration(asleep.Load() + simulated.Load()) }

// look reads the system's clocks. What it notes only grows.
func look() {
	for now := int64(suspended()); ; {
		before := asleep.Load()
		if now-before < int64(precision) || asleep.CompareAndSwap(before, now) {
			return
		}
	}
}
