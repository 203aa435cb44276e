//go:build !linux && !darwin

package clock

import (
	"runtime"
	"time"
)

// suspended returns 0. Go's monotonic clock counts the time of a suspend on Windows, where it is the interrupt time; on
// other systems a suspend is not noticed.
func suspended() time.Duration { return 0 }

// CountsSuspend reports whether the clock counts the time for which the machine is suspended.
func CountsSuspend() bool { return runtime.GOOS == "windows" }
