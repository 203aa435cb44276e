//go:build unix && !linux

package lock

import "time"

// watchdogTimeout returns 0: this system has no watchdog devices like those of Linux, and the file is only written to.
func watchdogTimeout(int, time.Duration) (time.Duration, error) { return 0, nil }
