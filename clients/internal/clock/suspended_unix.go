//go:build linux || darwin

package clock

import (
	"time"

	"golang.org/x/sys/unix"
)

// suspended returns how long the machine was suspended since it was booted, or a little less: the clock that is behind
// is read last. It is 0 if the system does not have the clocks.
func suspended() time.Duration {
	var a, b unix.Timespec
	if unix.ClockGettime(ahead, &a) != nil || unix.ClockGettime(behind, &b) != nil {
		return 0
	}
	return time.Duration(a.Nano() - b.Nano())
}

// CountsSuspend reports whether the clock counts the time for which the machine is suspended.
func CountsSuspend() bool {
	var t unix.Timespec
	return unix.ClockGettime(ahead, &t) == nil && unix.ClockGettime(behind, &t) == nil
}
