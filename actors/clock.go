package actors

import (
	"time"

	"github.com/holdfast-io/holdfast/actors/lease"
)

// Clock is all that actors know of time. It is safe for concurrent use.
type Clock interface {
	// Now reads the clocks. Its Instant never goes back.
	Now() lease.Time
	// AfterFunc calls f on a goroutine of its own when d has passed, unless stop is called before.
	AfterFunc(d time.Duration, f func()) (stop func() bool)
}

// SystemClock is the machine's clock. The monotonic part does not notice when the clock is set.
func SystemClock() Clock { return systemClock{origin: time.Now()} }

type systemClock struct{ origin time.Time }

// Now implements Clock.
func (c systemClock) Now() lease.Time {
	now := time.Now()
	return lease.Time{Instant: lease.Instant(now.Sub(c.origin)), UnixMillis: now.UnixMilli()}
}

// AfterFunc implements Clock.
func (systemClock) AfterFunc(d time.Duration, f func()) func() bool {
	return time.AfterFunc(d, f).Stop
}
