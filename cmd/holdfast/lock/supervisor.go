//go:build unix

package lock

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/holdfast-io/holdfast/clients/holdfast"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/display"
)

// supervisor supervises the command: it handles the command's changes, signals, the terminal and the deadlines
// of the locks. One goroutine runs its loop, so its fields need no mutex.
type supervisor struct {
	child       *child
	locks       *locks
	tty         *foreground
	signals     *signalQueue
	report      *reporter
	termination *termination
	// dog is fed while the locks are renewed; nil: there is none. ttl is that of the leases.
	dog *watchdog
	ttl time.Duration

	// wanted receives a lock that others want, and the command gets the signal of yield then; nil: it gets none.
	yield  yield
	wanted <-chan *holdfast.Lock
	// longest is a moment before which the longest hold is not over; zero: there is none.
	longest time.Time

	// resume fires if this process asked to be stopped and the kernel did not stop it; nil if no stop is pending.
	resume <-chan time.Time
	// interrupted: the command got SIGINT from this process, not from the terminal.
	interrupted bool
	// suspended: the command got SIGTSTP from this process and has not stopped yet.
	suspended bool
	// status is the end or the last stop of the command; zero before.
	status exitStatus
}

func newSupervisor(c *child, l *locks, tty *foreground, signals *signalQueue, report *reporter,
	t *termination) *supervisor {
	ignoreOutputStops()
	return &supervisor{child: c, locks: l, tty: tty, signals: signals, report: report, termination: t}
}

// watch returns when the command has ended. If it was terminated because of the lock, its descendants have
// ended as well. The descendants of a command that ended by itself keep running.
func (v *supervisor) watch() {
	if !v.tty.shared {
		v.tty.lend(v.child.pid)
	}
	defer v.tty.takeBack(v.child.pid)
	timer := time.NewTimer(v.check())
	defer timer.Stop()
	lost := v.locks.Lost()
	for {
		select {
		case <-v.child.changes:
			v.forwardQueued()
			if v.hasEnded() {
				v.endDescendants()
				return
			}
		case s := <-v.signals.c:
			v.forward(s.(syscall.Signal))
		case <-lost:
			lost = nil
		case l := <-v.wanted:
			v.wanted = nil
			v.report.Detail("others want %s: the command gets %s", display.Name(l.Resource()), v.yield.signal)
			v.child.signal(v.yield.signal)
		case <-v.resume:
			v.resumeCommand()
		case <-timer.C:
		}
		timer.Reset(v.check())
	}
}

// check sends the signal that is due and returns the time until the next check. It depends on the clock only,
// so a late or an additional call is harmless.
func (v *supervisor) check() time.Duration {
	gone := v.locks.Context().Err() != nil
	first := v.locks.first()
	if !gone && v.locks.Valid() {
		v.dog.renewed(first.Deadline(), v.report)
	}
	s, again := v.termination.due(time.Now(), first.Deadline(), gone)
	switch s {
	case syscall.SIGTERM:
		v.report.Print("%s; the command gets SIGTERM, and SIGKILL in %s", v.reason(), display.Duration(again))
		v.child.terminate()
	case syscall.SIGKILL:
		v.child.kill()
		v.report.Print("%s; the command was killed", v.reason())
	}
	return v.dog.next(again, v.ttl)
}

// isSafe reports whether the watchdog may be turned off behind the command: the locks were held to its end, or no
// process of it is left.
func (v *supervisor) isSafe() bool {
	return !v.termination.started() && v.locks.Valid() || !v.child.anyLeft()
}

// reason returns the reason for the termination, for a message.
func (v *supervisor) reason() string {
	if cause := context.Cause(v.locks.Context()); cause != nil {
		return display.Plain(cause)
	}
	first := v.locks.first()
	if !v.longest.IsZero() && !time.Now().Add(v.ttl).Before(v.longest) { // the renewals have become shorter
		return "the longest hold of " + display.Name(first.Resource()) + " is nearly over"
	}
	return "the lease on " + display.Name(first.Resource()) + " could not be renewed in time"
}

// forwardQueued forwards the signals that are queued already. A SIGCONT from before a stop must not end that stop.
func (v *supervisor) forwardQueued() {
	for {
		select {
		case s := <-v.signals.c:
			v.forward(s.(syscall.Signal))
		default:
			return
		}
	}
}

// hasEnded reports whether the command has ended. It handles a stop of the command.
func (v *supervisor) hasEnded() bool {
	status, changed := v.child.poll()
	if !changed {
		return false
	}
	v.status = status
	if !status.ended() {
		v.stopped(unix.WaitStatus(status).StopSignal())
	}
	return status.ended()
}

// forward forwards a signal to the command. SIGCONT means that this process itself was stopped.
func (v *supervisor) forward(s syscall.Signal) {
	if s == syscall.SIGCONT {
		v.resumeCommand()
		return
	}
	v.interrupted = v.interrupted || s == syscall.SIGINT
	v.suspended = v.suspended || s == syscall.SIGTSTP
	v.child.signal(s)
}

// stopTime limits the wait for a stop or an end of this process. The kernel does not stop an orphaned process
// group, since no shell could continue it.
const stopTime = time.Second

// stopped handles a stop of the command, as a shell does. A command that needs the terminal gets it if it is
// available. Otherwise this process stops too, and the shell gets the terminal back. Some programs, such as
// top, answer SIGTSTP with SIGSTOP; both are handled alike.
func (v *supervisor) stopped(s syscall.Signal) {
	asks := s == syscall.SIGTTIN || s == syscall.SIGTTOU
	switch {
	case asks && v.tty.lend(v.child.pid):
		v.child.signal(syscall.SIGCONT)
		if v.suspended { // SIGCONT has cancelled a Ctrl-Z from before the command had the terminal
			v.suspended = false
			v.child.signal(syscall.SIGTSTP)
		}
	case s == syscall.SIGSTOP && !v.tty.isWith(v.child.pid):
		// SIGSTOP was sent to the command only: this process keeps the lock.
	default:
		v.stop()
	}
}

// stop stops this process. If the command was in the foreground, the terminal stopped only the command, so
// stop sends SIGTSTP to the other processes of this group. This process uses SIGTTIN for itself, which it has
// never handled: Go does not restore the default action of SIGTSTP.
func (v *supervisor) stop() {
	v.suspended = false
	if v.tty.takeBack(v.child.pid) {
		signal.Ignore(syscall.SIGTSTP)
		_ = unix.Kill(0, syscall.SIGTSTP)
	}
	_ = unix.Kill(os.Getpid(), syscall.SIGTTIN)
	v.resume = time.After(stopTime)
}

// resumeCommand continues the command, unless its lease has ended during the stop.
func (v *supervisor) resumeCommand() {
	v.resume = nil
	v.signals.listen([]os.Signal{syscall.SIGTSTP})
	if v.check(); v.termination.killed {
		return
	}
	if v.tty.lent {
		v.tty.lend(v.child.pid)
	}
	v.child.signal(syscall.SIGCONT)
}

const (
	// pollInterval is the interval between checks for descendants. Their end is not signalled.
	pollInterval = 10 * time.Millisecond
	// killTime is the time for processes to end after SIGKILL.
	killTime = time.Second
)

// endDescendants ends the descendants of a command that was terminated. They have the same grace as the
// command and are killed after it.
func (v *supervisor) endDescendants() {
	if !v.termination.started() {
		return
	}
	v.waitForDescendants(v.termination.grace, func() bool {
		v.check()
		v.child.descendants.signalOrphans(v.child.pid, syscall.SIGTERM, syscall.SIGCONT)
		return !v.termination.killed
	})
	v.waitForDescendants(killTime, func() bool {
		v.child.kill()
		return true
	})
	if left := v.child.descendants.remaining(); len(left) > 0 {
		v.report.Print("%d descendants of the command could not be killed; the first has process id %d", len(left),
			left[0].pid)
	}
}

// waitForDescendants waits until no descendant is left, most has passed, or more returns false.
func (v *supervisor) waitForDescendants(most time.Duration, more func() bool) {
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for over := time.Now().Add(most); v.child.anyLeft() && time.Now().Before(over) && more(); {
		<-tick.C
	}
}

// propagateInterrupt ends this process by SIGINT if Ctrl-C ended the command. A script then leaves its loop
// and does not start the next iteration. If the terminal sent SIGINT to the command only, the whole group of
// this process gets it.
func (v *supervisor) propagateInterrupt() {
	if !v.tty.lent || unix.WaitStatus(v.status).Signal() != syscall.SIGINT {
		return
	}
	target := 0 // the group of this process
	if v.interrupted {
		target = os.Getpid()
	}
	signal.Reset(syscall.SIGINT)
	_ = unix.Kill(target, syscall.SIGINT)
	<-time.After(stopTime)
}
