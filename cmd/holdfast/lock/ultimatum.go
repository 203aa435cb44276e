//go:build unix

package lock

import (
	"syscall"
	"time"
)

// The values of --on-lost.
const (
	onLostTerm   = "term"
	onLostKill   = "kill"
	onLostIgnore = "ignore"
)

// shortGrace limits the grace after the loss of the lock, when another holder may have it already. It is
// enough to remove a temporary file.
const shortGrace = time.Second

// ultimatum decides when the command gets SIGTERM and SIGKILL. SIGKILL is due at the end of the lease by the
// clock of the client, which is before the service grants the lock to another holder.
type ultimatum struct {
	onLost string
	grace  time.Duration

	warned, killed bool
	over           time.Time // the time of SIGKILL after the loss of the lock; zero before
}

func newUltimatum(onLost string, grace time.Duration) *ultimatum {
	if onLost == onLostKill {
		grace = 0
	}
	return &ultimatum{onLost: onLost, grace: grace}
}

// given reports whether SIGTERM or SIGKILL has been due.
func (u *ultimatum) given() bool { return u.warned || u.killed }

// never is a wait without a next check.
const never = 365 * 24 * time.Hour

// due returns the signal that is due now, 0 for none, and the time until the next call. deadline is the end of
// the lease, which every renewal moves. gone means that the lock is lost, so the deadline is only an upper
// limit.
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
