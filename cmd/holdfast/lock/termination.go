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

// lossGrace limits the grace after the loss of the lock, when another holder may have it already. It is
// enough to remove a temporary file.
const lossGrace = time.Second

// termination decides when the command gets SIGTERM and SIGKILL. SIGKILL is due at the end of the lease by the
// clock of the client, which is before the service grants the lock to another holder.
type termination struct {
	onLost string
	grace  time.Duration

	warned, killed bool
	killBy         time.Time // the time of SIGKILL after the loss of the lock; zero before
}

func newTermination(onLost string, grace time.Duration) *termination {
	if onLost == onLostKill {
		grace = 0
	}
	return &termination{onLost: onLost, grace: grace}
}

// started reports whether SIGTERM or SIGKILL has been due.
func (t *termination) started() bool { return t.warned || t.killed }

// never is a wait without a next check.
const never = 365 * 24 * time.Hour

// due returns the signal that is due now, 0 for none, and the time until the next call. deadline is the end of
// the lease, which every renewal moves. gone means that the lock is lost, so the deadline is only an upper
// limit.
func (t *termination) due(now, deadline time.Time, gone bool) (syscall.Signal, time.Duration) {
	if t.onLost == onLostIgnore || t.killed {
		return 0, never
	}
	if gone && t.killBy.IsZero() {
		t.killBy = now.Add(min(t.grace, lossGrace))
	}
	if gone && t.killBy.Before(deadline) {
		deadline = t.killBy
	}
	switch left := deadline.Sub(now); {
	case left <= 0:
		t.killed = true
		return syscall.SIGKILL, never
	case t.warned || t.grace == 0:
		return 0, left
	case gone || left <= t.grace:
		t.warned = true
		return syscall.SIGTERM, left
	default:
		return 0, left - t.grace
	}
}
