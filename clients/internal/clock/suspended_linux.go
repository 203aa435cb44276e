package clock

import (
	"time"

	"golang.org/x/sys/unix"
)

// suspended returns how long the machine was suspended since it was booted, or a little less. Go's clock is
// CLOCK_MONOTONIC.
func suspended() time.Duration { return between(unix.CLOCK_BOOTTIME, unix.CLOCK_MONOTONIC) }

// CountsSuspend reports whether the clock counts the time for which the machine is suspended.
func CountsSuspend() bool { return counts(unix.CLOCK_BOOTTIME, unix.CLOCK_MONOTONIC) }
