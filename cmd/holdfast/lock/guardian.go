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

// guardian stands between the command, its locks, the terminal and whoever sends signals. Everything
// that happens goes through its one loop.
type guardian struct {
	child     *child
	locks     *locks
	tty       *foreground
	signals   *relay
	say       *narrator
	ultimatum *ultimatum

	// resume is when to go on if we were not stopped after all; nil if nobody wanted us to.
	resume <-chan time.Time
	// interrupted: the command has SIGINT from us, not from the terminal.
	interrupted bool
	// suspended: it has SIGTSTP from us, and has not stopped for it yet.
	suspended bool
	// status is how the command ended, or was stopped last; zero before.
	status exitStatus
}

func newGuardian(c *child, l *locks, tty *foreground, signals *relay, say *narrator, u *ultimatum) *guardian {
	ignoreOutputStops()
	return &guardian{child: c, locks: l, tty: tty, signals: signals, say: say, ultimatum: u}
}

// watch returns when the command has ended. If it was ended for want of the lock, nothing that it has started
// is left then; what a command leaves behind that ends by itself is its own business.
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

// check sends what is due and returns when to look again. It goes by the clock, so it does not matter
// how late it is called, or why.
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

// trouble says what is wrong with the lock.
func (g *guardian) trouble() string {
	if cause := context.Cause(g.locks.lost); cause != nil {
		return plain(cause)
	}
	return "the lease on " + display.Name(g.locks.first().Resource()) + " could not be renewed in time"
}

// hear passes on what has come already, so that a SIGCONT is not taken for one from before a stop.
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

// hasEnded asks what has become of the command, and deals with it if it was stopped.
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

// relay passes a signal on. SIGCONT also tells that we have been stopped ourselves.
func (g *guardian) relay(s syscall.Signal) {
	if s == syscall.SIGCONT {
		g.goOn()
		return
	}
	g.interrupted = g.interrupted || s == syscall.SIGINT
	g.suspended = g.suspended || s == syscall.SIGTSTP
	g.child.signal(s)
}

// stopTime bounds the wait to be stopped, or ended. The kernel does not stop whom no shell could set
// going again.
const stopTime = time.Second

// stopped does what a shell does: who asks for a terminal that we can give, gets it; else we stop as
// well, so that whoever is in front of the terminal gets it back. That some stop by SIGSTOP when the
// terminal says SIGTSTP, like top, is no difference.
func (g *guardian) stopped(s syscall.Signal) {
	asks := s == syscall.SIGTTIN || s == syscall.SIGTTOU
	switch {
	case asks && g.tty.lend(g.child.pid):
		g.child.signal(syscall.SIGCONT)
		if g.suspended { // a Ctrl-Z from before it had the terminal, which SIGCONT has undone
			g.suspended = false
			g.child.signal(syscall.SIGTSTP)
		}
	case s == syscall.SIGSTOP && !g.tty.isWith(g.child.pid):
		// Somebody stops the command and not us; its lock is kept.
	default:
		g.stop()
	}
}

// stop stops us, and our group if the terminal told the command what it would have told us all. For
// ourselves we take SIGTTIN, which we have never listened for: Go does not let go of SIGTSTP again.
func (g *guardian) stop() {
	g.suspended = false
	if g.tty.takeBack(g.child.pid) {
		signal.Ignore(syscall.SIGTSTP)
		_ = unix.Kill(0, syscall.SIGTSTP)
	}
	_ = unix.Kill(os.Getpid(), syscall.SIGTTIN)
	g.resume = time.After(stopTime)
}

// goOn lets the command go on, unless its time has passed meanwhile.
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
	// sweepPause is between looks at what is left of the command, of which nobody tells us.
	sweepPause = 10 * time.Millisecond
	// sweepTime is how long the killed may take to be gone.
	sweepTime = time.Second
)

// sweep waits for the rest of what a command has started that was ended: it has as long as the command had,
// and is killed then, until nothing is left.
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
		g.say.always("%d processes that the command has started could not be killed, the first is %d", len(left), left[0].pid)
	}
}

// linger waits until nobody is left, or for so long, or until more says no.
func (g *guardian) linger(most time.Duration, more func() bool) {
	tick := time.NewTicker(sweepPause)
	defer tick.Stop()
	for over := time.Now().Add(most); g.child.lives() && time.Now().Before(over) && more(); {
		<-tick.C
	}
}

// passOn ends us as the command has ended, if that was by Ctrl-C: with our group, if the terminal told
// the command alone. Else a script with a loop around us would go on with the next round.
func (g *guardian) passOn() {
	if !g.tty.lent || unix.WaitStatus(g.status).Signal() != syscall.SIGINT {
		return
	}
	whom := 0
	if g.interrupted {
		whom = os.Getpid()
	}
	signal.Reset(syscall.SIGINT)
	_ = unix.Kill(whom, syscall.SIGINT)
	<-time.After(stopTime)
}
