//go:build unix

package lock

import (
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

// foreground is the terminal that we were started from, of which one process group at a time may read;
// it gets the signals of the keys, too. Zero is none, which has nothing to give or to take.
type foreground struct {
	tty *os.File
	own int
	// shared: others may read from it beside the command, as those behind us in a pipeline do.
	shared bool
	// lent tells that the command has had it.
	lent bool
}

// openForeground finds the terminal, if there is one.
func openForeground() *foreground {
	f := &foreground{own: unix.Getpgrp()}
	if tty, err := os.OpenFile("/dev/tty", os.O_RDWR|unix.O_NOCTTY, 0); err == nil {
		f.tty = tty
	}
	_, in := foregroundOf(os.Stdin)
	_, out := foregroundOf(os.Stdout)
	f.shared = !in || !out
	return f
}

func (f *foreground) close() {
	if f.tty != nil {
		_ = f.tty.Close()
	}
}

// foregroundOf returns the group that has the terminal; not ok if it is not ours.
func foregroundOf(tty *os.File) (group int, ok bool) {
	if tty == nil {
		return 0, false
	}
	group, err := unix.IoctlGetInt(int(tty.Fd()), unix.TIOCGPGRP)
	return group, err == nil
}

// lend gives the terminal to the command, if it is ours to give, and reports whether the command has it.
func (f *foreground) lend(command int) bool {
	if f.isWith(f.own) {
		f.lent = true
		return f.set(command)
	}
	return f.isWith(command)
}

// takeBack reports whether the command had it.
func (f *foreground) takeBack(command int) bool { return f.isWith(command) && f.set(f.own) }

func (f *foreground) isWith(group int) bool {
	has, ok := foregroundOf(f.tty)
	return ok && has == group
}

// set needs SIGTTOU ignored, which else stops whoever does this from the background.
func (f *foreground) set(group int) bool {
	return unix.IoctlSetPointerInt(int(f.tty.Fd()), unix.TIOCSPGRP, group) == nil
}

// ignoreOutputStops lets us use the terminal while the command has it. The command, which would inherit
// it, has to be running already.
func ignoreOutputStops() { signal.Ignore(syscall.SIGTTOU) }
