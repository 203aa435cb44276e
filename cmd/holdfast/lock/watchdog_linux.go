package lock

import (
	"errors"
	"time"

	"golang.org/x/sys/unix"
)

// watchdogTimeout sets the timeout of a watchdog, in whole seconds, if that can be set, and returns what it is; 0 if
// the file is no watchdog.
func watchdogTimeout(fd int, most time.Duration) (time.Duration, error) {
	// A device whose timeout is fixed, or that refuses this one, keeps its own, which is looked at next.
	_ = unix.IoctlSetPointerInt(fd, unix.WDIOC_SETTIMEOUT, int(max(most, time.Second)/time.Second))
	seconds, err := unix.IoctlGetInt(fd, unix.WDIOC_GETTIMEOUT)
	if errors.Is(err, unix.ENOTTY) {
		return 0, nil
	}
	return time.Duration(seconds) * time.Second, err
}
