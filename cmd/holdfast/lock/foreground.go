//go:build unix

package lock

import (
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

// foreground is the controlling terminal. Only its foreground process group may read from it and gets the
// signals of the keys. A nil tty means that there is no terminal; lend and takeBack do nothing then.
type foreground struct {
	tty *os.File
	own int // the process group of this process
	// shared: other processes may read from the terminal as well, for example the next one in a pipeline.
	shared bool
	// lent: the command has been the foreground group at least once.
	lent bool
}

// openForeground opens the controlling terminal, if there is one.
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

// foregroundOf returns the foreground group of the terminal. It is not ok if tty is not the controlling one.
func foregroundOf(tty *os.File) (group int, ok bool) {
	if tty == nil {
		return 0, false
	}
	group, err := unix.IoctlGetInt(int(tty.Fd()), unix.TIOCGPGRP)
	return group, err == nil
}

// lend makes the command the foreground group if this process is in the foreground. It reports whether the
// command is in the foreground afterwards.
func (f *foreground) lend(command int) bool {
	if f.isWith(f.own) {
		f.lent = true
		return f.set(command)
	}
	return f.isWith(command)
}

// takeBack puts this process into the foreground if the command is there. It reports whether that was so.
func (f *foreground) takeBack(command int) bool { return f.isWith(command) && f.set(f.own) }

func (f *foreground) isWith(group int) bool {
	has, ok := foregroundOf(f.tty)
	return ok && has == group
}

// set requires that SIGTTOU is ignored: it stops a background process that sets the foreground group.
func (f *foreground) set(group int) bool {
	return unix.IoctlSetPointerInt(int(f.tty.Fd()), unix.TIOCSPGRP, group) == nil
}

// ignoreOutputStops lets this process use the terminal from the background. It is called after the start of
// the command, which would otherwise inherit the ignored signal.
func ignoreOutputStops() { signal.Ignore(syscall.SIGTTOU) }
