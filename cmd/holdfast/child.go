//go:build unix

package main

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// executable is what is to be run.
type executable struct {
	path string
	args []string // its name first
}

// findExecutable looks for it as a shell does.
func findExecutable(words []string) (executable, error) {
	path, err := exec.LookPath(words[0])
	if err != nil && !errors.Is(err, exec.ErrDot) { // what is here is meant, if PATH says so
		return executable{}, cannotRun(words[0], err)
	}
	return executable{path, words}, nil
}

func cannotRun(name string, err error) error {
	var search *exec.Error
	if errors.As(err, &search) {
		err = search.Err
	}
	code := exitNotExecutable
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, exec.ErrNotFound) {
		code = exitNotFound
	}
	return fail(code, "cannot run %s: %w", shown(name), rootCause(err))
}

// child is the command: a process that leads a group of its own.
type child struct {
	pid int // of the process and the group
	// changes tells that it may have stopped, or ended.
	changes chan os.Signal
	reaped  chan struct{}
}

// start runs it with our own streams.
func (e executable) start(environ []string) (*child, error) {
	c := &child{changes: make(chan os.Signal, 1), reaped: make(chan struct{})}
	signal.Notify(c.changes, syscall.SIGCHLD) // before it runs: whoever ignores SIGCHLD is not told how it ended
	started := make(chan error)
	go c.live(e, environ, started)
	if err := <-started; err != nil {
		signal.Stop(c.changes)
		return nil, err
	}
	return c, nil
}

// live starts the command on a thread that does nothing else, and lasts as long: on Linux the command is
// killed when the thread that has started it ends, which must not be before we do.
func (c *child) live(e executable, environ []string, started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	process, err := os.StartProcess(e.path, e.args, &os.ProcAttr{
		Env: environ, Files: []*os.File{os.Stdin, os.Stdout, os.Stderr}, Sys: ownGroup(),
	})
	if err != nil {
		started <- cannotRun(e.args[0], err)
		return
	}
	c.pid = process.Pid
	_ = process.Release() // os.Process does not tell of stops, so we ask by ourselves
	started <- nil
	<-c.reaped
}

// poll returns the latest change of the process that nobody has been told of, unless SIGCONT has undone
// it since. That is why it asks only when somebody wants to know. To be called until it has ended.
func (c *child) poll() (status exitStatus, changed bool) {
	var s unix.WaitStatus
	pid, err := unix.Wait4(c.pid, &s, unix.WUNTRACED|unix.WNOHANG, nil)
	if err != nil {
		pid, s = c.pid, exitUnexpected<<8 // nobody but us can have waited for it
	}
	status, changed = exitStatus(s), pid == c.pid
	if changed && status.ended() {
		signal.Stop(c.changes)
		close(c.reaped)
	}
	return status, changed
}

// signal sends to the whole group. That nobody is left in it is no error.
func (c *child) signal(s syscall.Signal) { _ = unix.Kill(-c.pid, s) }

// lives reports whether anybody of the group is left.
func (c *child) lives() bool { return unix.Kill(-c.pid, 0) == nil }

// exitStatus is what the system says of a process.
type exitStatus unix.WaitStatus

func (s exitStatus) ended() bool { return !unix.WaitStatus(s).Stopped() }

// code is the exit code that a shell would show.
func (s exitStatus) code() int {
	if w := unix.WaitStatus(s); w.Signaled() {
		return exitSignal + int(w.Signal())
	}
	return unix.WaitStatus(s).ExitStatus()
}
