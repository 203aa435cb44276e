//go:build unix

package lock

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/display"
)

// guardian supervises the command: it handles the command's changes, signals, the terminal and the deadlines
// of the locks. One goroutine runs its loop, so its fields need no mutex.
type guardian struct {
	child     *child
	locks     *locks
	tty       *foreground
	signals   *relay
	say       *narrator
	ultimatum *ultimatum

	// resume fires if this process asked to be stopped and the kernel did not stop it; nil if no stop is pending.
	resume <-chan time.Time
	// interrupted: the command got SIGINT from this process, not from the terminal.
	interrupted bool
	// suspended: the command got SIGTSTP from this process and has not stopped yet.
	suspended bool
	// status is the end or the last stop of the command; zero before.
	status exitStatus
}

func newGuardian(c *child, l *locks, tty *foreground, signals *relay, say *narrator, u *ultimatum) *guardian {
	ignoreOutputStops()
	return &guardian{child: c, locks: l, tty: tty, signals: signals, say: say, ultimatum: u}
}

// watch returns when the command has ended. If it was terminated because of the lock, its descendants have
// ended as well. The descendants of a command that ended by itself keep running.
func (g *guardian) watch() {
	if !g.tty.shared {
		g.tty.lend(g.child.pid)
	}
	defer g.tty.takeBack(g.child.pid)
	timer := time.NewTimer(g.check())
	defer timer.Stop()
	lost := g.locks.lost.Done()
	for {
		select {
		case <-g.child.changes:
			g.hear()
			if g.hasEnded() {
				g.sweep()
				return
			}
		case s := <-g.signals.signals:
			g.relay(s.(syscall.Signal))
		case <-lost:
			lost = nil
		case <-g.resume:
			g.goOn()
		case <-timer.C:
		}
		timer.Reset(g.check())
	}
}

// check sends the signal that is due and returns the time until the next check. It depends on the clock only,
// so a late or an additional call is harmless.
func (g *guardian) check() time.Duration {
	gone := g.locks.lost.Err() != nil
	first := g.locks.first()
	s, again := g.ultimatum.due(time.Now(), first.Deadline(), gone)
	switch s {
	case syscall.SIGTERM:
		g.say.always("%s; the command gets SIGTERM, and SIGKILL in %s", g.trouble(), display.Duration(again))
		g.child.terminate()
	case syscall.SIGKILL:
		g.child.kill()
		g.say.always("%s; the command was killed", g.trouble())
	}
	return again
}

// trouble returns the reason for the termination, for a message.
func (g *guardian) trouble() string {
	if cause := context.Cause(g.locks.lost); cause != nil {
		return plain(cause)
	}
	return "the lease on " + display.Name(g.locks.first().Resource()) + " could not be renewed in time"
}

// hear forwards the signals that are queued already. A SIGCONT from before a stop must not end that stop.
func (g *guardian) hear() {
	for {
		select {
		case s := <-g.signals.signals:
			g.relay(s.(syscall.Signal))
		default:
			return
		}
	}
}

// hasEnded reports whether the command has ended. It handles a stop of the command.
func (g *guardian) hasEnded() bool {
	status, changed := g.child.poll()
	if !changed {
		return false
	}
	g.status = status
	if !status.ended() {
		g.stopped(unix.WaitStatus(status).StopSignal())
	}
	return status.ended()
}

// relay forwards a signal to the command. SIGCONT means that this process itself was stopped.
func (g *guardian) relay(s syscall.Signal) {
	if s == syscall.SIGCONT {
		g.goOn()
		return
	}
	g.interrupted = g.interrupted || s == syscall.SIGINT
	g.suspended = g.suspended || s == syscall.SIGTSTP
	g.child.signal(s)
}

// stopTime limits the wait for a stop or an end of this process. The kernel does not stop an orphaned process
// group, since no shell could continue it.
const stopTime = time.Second

// stopped handles a stop of the command, as a shell does. A command that needs the terminal gets it if it is
// available. Otherwise this process stops too, and the shell gets the terminal back. Some programs, such as
// top, answer SIGTSTP with SIGSTOP; both are handled alike.
func (g *guardian) stopped(s syscall.Signal) {
	asks := s == syscall.SIGTTIN || s == syscall.SIGTTOU
	switch {
	case asks && g.tty.lend(g.child.pid):
		g.child.signal(syscall.SIGCONT)
		if g.suspended { // SIGCONT has cancelled a Ctrl-Z from before the command had the terminal
			g.suspended = false
			g.child.signal(syscall.SIGTSTP)
		}
	case s == syscall.SIGSTOP && !g.tty.isWith(g.child.pid):
		// SIGSTOP was sent to the command only: this process keeps the lock.
	default:
		g.stop()
	}
}

// stop stops this process. If the command was in the foreground, the terminal stopped only the command, so
// stop sends SIGTSTP to the other processes of this group. This process uses SIGTTIN for itself, which it has
// never handled: Go does not restore the default action of SIGTSTP.
func (g *guardian) stop() {
	g.suspended = false
	if g.tty.takeBack(g.child.pid) {
		signal.Ignore(syscall.SIGTSTP)
		_ = unix.Kill(0, syscall.SIGTSTP)
	}
	_ = unix.Kill(os.Getpid(), syscall.SIGTTIN)
	g.resume = time.After(stopTime)
}

// goOn continues the command, unless its lease has ended during the stop.
func (g *guardian) goOn() {
	g.resume = nil
	g.signals.listen([]os.Signal{syscall.SIGTSTP})
	if g.check(); g.ultimatum.killed {
		return
	}
	if g.tty.lent {
		g.tty.lend(g.child.pid)
	}
	g.child.signal(syscall.SIGCONT)
}

const (
	// sweepPause is the interval between checks for descendants. Their end is not signalled.
	sweepPause = 10 * time.Millisecond
	// sweepTime is the time for processes to end after SIGKILL.
	sweepTime = time.Second
)

// sweep ends the descendants of a command that was terminated. They have the same grace as the command. Then
// sweep kills them.
func (g *guardian) sweep() {
	if !g.ultimatum.given() {
		return
	}
	g.linger(g.ultimatum.grace, func() bool {
		g.check()
		g.child.family.tell(g.child.pid, syscall.SIGTERM, syscall.SIGCONT)
		return !g.ultimatum.killed
	})
	g.linger(sweepTime, func() bool {
		g.child.kill()
		return true
	})
	if left := g.child.family.left(); len(left) > 0 {
		g.say.always("%d descendants of the command could not be killed; the first has process id %d", len(left), left[0].pid)
	}
}

// linger waits until no descendant is left, most has passed, or more returns false.
func (g *guardian) linger(most time.Duration, more func() bool) {
	tick := time.NewTicker(sweepPause)
	defer tick.Stop()
	for over := time.Now().Add(most); g.child.lives() && time.Now().Before(over) && more(); {
		<-tick.C
	}
}

// passOn ends this process by SIGINT if Ctrl-C ended the command. A script then leaves its loop and does not
// start the next iteration. If the terminal sent SIGINT to the command only, passOn signals the whole group.
func (g *guardian) passOn() {
	if !g.tty.lent || unix.WaitStatus(g.status).Signal() != syscall.SIGINT {
		return
	}
	target := 0 // the group of this process
	if g.interrupted {
		target = os.Getpid()
	}
	signal.Reset(syscall.SIGINT)
	_ = unix.Kill(target, syscall.SIGINT)
	<-time.After(stopTime)
}
