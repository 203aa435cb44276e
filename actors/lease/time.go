package lease

import "time"

// Instant is a moment on the owner's monotonic clock, counted from an origin that only this owner
// knows. It is neither stored nor sent, so no two clocks are ever compared.
type Instant time.Duration

// Never is after every other instant.
const Never Instant = 1<<63 - 1

// Add returns the instant d later.
func (i Instant) Add(d time.Duration) Instant { return i + Instant(d) }

// Sub returns the time from j to i.
func (i Instant) Sub(j Instant) time.Duration { return time.Duration(i - j) }

// Time is one reading of the owner's clocks.
type Time struct {
	// Instant is all that decisions look at.
	Instant
	// UnixMillis is the wall clock: shown to people, never compared.
	UnixMillis int64
}
