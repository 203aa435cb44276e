//go:build unix

package lock

import (
	"time"

	"golang.org/x/sys/unix"

	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/display"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/exit"
)

// watchdog is a device that resets the machine unless it is fed in time. Its methods, but for close, accept a nil
// watchdog, which is none.
type watchdog struct {
	path string
	fd   int
	// timeout is after which time without feeding it resets the machine; 0: it is no device, such as a FIFO in a test.
	timeout time.Duration
	// until is the end of the lease for which it was last fed.
	until  time.Time
	failed bool
}

const (
	// feed is any byte but disarm, which turns the device off if it is the last one before the close.
	feed   = "1"
	disarm = "V"
	// looksPerTTL is how often the deadline is looked at during a TTL. A renewal is noticed so late at most.
	looksPerTTL = 32
)

// openWatchdog opens the device and sets its timeout to half of the TTL. From then on it runs. If it cannot have such a
// timeout, it is turned off again.
func openWatchdog(path string, ttl time.Duration) (*watchdog, error) {
	fd, err := unix.Open(path, unix.O_WRONLY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, exit.Usagef("--watchdog: cannot open %s: %v", display.Name(path), err)
	}
	w := &watchdog{path: path, fd: fd}
	if w.timeout, err = watchdogTimeout(fd, ttl/2); err == nil {
		err = w.check(ttl)
	} else {
		err = exit.Usagef("--watchdog: %s does not tell its timeout: %v", display.Name(path), err)
	}
	if err != nil {
		w.close(true)
		return nil, err
	}
	return w, nil
}

// check refuses a timeout that a renewal, a third of the TTL after the last one, would come too late for, or that would
// reset the machine after the lease.
func (w *watchdog) check(ttl time.Duration) error {
	if w.timeout == 0 || w.timeout > ttl/3 && w.timeout <= ttl/2 {
		return nil
	}
	return exit.Usagef(
		"--watchdog: the timeout of %s is %s, but with --ttl %s it has to be longer than %s and at most %s; "+
			"use --ttl %s",
		display.Name(w.path), display.Duration(w.timeout), display.Duration(ttl), display.Duration(ttl/3),
		display.Duration(ttl/2),
		display.Duration(2*max(w.timeout, 2*time.Second)))
}

// renewed feeds the device if a renewal was confirmed since the last time, and it would reset the machine before the
// lease ends at this deadline. It does not block.
func (w *watchdog) renewed(deadline time.Time, r *reporter) {
	if w == nil || !deadline.After(w.until) || time.Until(deadline) < w.timeout {
		return
	}
	w.until = deadline
	_, err := unix.Write(w.fd, []byte(feed))
	if err != nil && !w.failed {
		r.Print("cannot feed the watchdog %s: %v", display.Name(w.path), err)
	}
	w.failed = err != nil
}

// next returns when to look for a renewal, no later than after most.
func (w *watchdog) next(most, ttl time.Duration) time.Duration {
	if w == nil {
		return most
	}
	return min(most, ttl/looksPerTTL)
}

// close closes the device, and turns it off if safe. Otherwise it resets the machine.
func (w *watchdog) close(safe bool) {
	if safe {
		_, _ = unix.Write(w.fd, []byte(disarm)) // without it the device resets the machine
	}
	_ = unix.Close(w.fd)
}
