//go:build unix

package lock

import (
	"syscall"
	"time"
)

// What the command gets when the lease runs out.
const (
	onLostTerm   = "term"
	onLostKill   = "kill"
	onLostIgnore = "ignore"
)

// shortGrace is the most that a command gets whose lock is gone already, so that somebody else may hold
// it: enough to remove a temporary file, and no more.
const shortGrace = time.Second

// ultimatum says when the command has to be told to end, and when it has to be gone: at the end of the
// lease as the client counts it, which is before the service gives the lock to anybody else.
type ultimatum struct {
	onLost string
	grace  time.Duration

	warned, killed bool
	over           time.Time // no later than this, once the lock is gone; zero before
}

func newUltimatum(onLost string, grace time.Duration) *ultimatum {
	if onLost == onLostKill {
		grace = 0
	}
	return &ultimatum{onLost: onLost, grace: grace}
}

// given reports whether the command has been told.
func (u *ultimatum) given() bool { return u.warned || u.killed }

// never is longer than any command runs.
const never = 365 * 24 * time.Hour

// due returns the signal that the command is to get now, 0 for none, and how long to wait before asking
// again. The deadline may have moved since, for every renewal does; gone tells that it does not count
// any more, because the lock is lost.
func (u *ultimatum) due(now, deadline time.Time, gone bool) (syscall.Signal, time.Duration) {
	if u.onLost == onLostIgnore || u.killed {
		return 0, never
	}
	if gone && u.over.IsZero() {
		u.over = now.Add(min(u.grace, shortGrace))
	}
	if gone && u.over.Before(deadline) {
		deadline = u.over
	}
	switch left := deadline.Sub(now); {
	case left <= 0:
		u.killed = true
		return syscall.SIGKILL, never
	case u.warned || u.grace == 0:
		return 0, left
	case gone || left <= u.grace:
		u.warned = true
		return syscall.SIGTERM, left
	default:
		return 0, left - u.grace
	}
}
