package clock

import "golang.org/x/sys/unix"

// Go's clock is the one that is behind while the machine is asleep: mach_absolute_time. The other one is
// mach_continuous_time.
const ahead, behind = unix.CLOCK_MONOTONIC_RAW, unix.CLOCK_UPTIME_RAW
