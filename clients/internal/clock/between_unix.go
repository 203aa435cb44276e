//go:build linux || darwin

package clock

import (
	"time"

	"golang.org/x/sys/unix"
)

// counts reports whether the system has both clocks.
func counts(ahead, behind int32) bool {
	var t unix.Timespec
	return unix.ClockGettime(ahead, &t) == nil && unix.ClockGettime(behind, &t) == nil
}

// between returns how far a clock is ahead of another one, never too much: that one is read last. It is 0 if the system
// does not have them.
func between(ahead, behind int32) time.Duration {
	var a, b unix.Timespec
	if unix.ClockGettime(ahead, &a) != nil || unix.ClockGettime(behind, &b) != nil {
		return 0
	}
	return time.Duration(a.Nano() - b.Nano())
}
