package clock

import (
	"time"

	"golang.org/x/sys/unix"
)

// suspended returns how long the machine was asleep since it was booted, or a little less. Go's clock is
// mach_absolute_time, which is CLOCK_UPTIME_RAW; CLOCK_MONOTONIC_RAW is mach_continuous_time.
func suspended() time.Duration { return between(unix.CLOCK_MONOTONIC_RAW, unix.CLOCK_UPTIME_RAW) }

// CountsSuspend reports whether the clock counts the time for which the machine is suspended.
func CountsSuspend() bool { return counts(unix.CLOCK_MONOTONIC_RAW, unix.CLOCK_UPTIME_RAW) }
