//go:build unix

package lock

import (
	"errors"
	"os"
	"os/signal"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/exit"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/program"
)

// executable is a program with its arguments.
type executable struct {
	path string
	args []string // args[0] is the name of the command
}

// findExecutable looks the command up in PATH, as a shell does.
func findExecutable(words []string) (executable, error) {
	path, err := program.Find(words[0])
	return executable{path, words}, err
}

// child is the command: the leader of a process group, and its descendants outside of that group.
type child struct {
	pid         int // the id of the process and of its group
	descendants *descendants
	// changes receives SIGCHLD: the process may have stopped or ended.
	changes chan os.Signal
	reaped  chan struct{} // closed when the process has ended
}

// start starts the command. It inherits standard input, output and error.
func (e executable) start(environ []string) (*child, error) {
	c := &child{descendants: newDescendants(), changes: make(chan os.Signal, 1), reaped: make(chan struct{})}
	// before the start: while SIGCHLD is ignored, the kernel discards exit statuses
	signal.Notify(c.changes, syscall.SIGCHLD)
	started := make(chan error)
	go c.live(e, environ, started)
	if err := <-started; err != nil {
		signal.Stop(c.changes)
		return nil, err
	}
	return c, nil
}

// live starts the command on a locked thread and keeps that thread until the command has ended. On Linux
// Pdeathsig follows the thread that started the command, not the process.
func (c *child) live(e executable, environ []string, started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	process, err := os.StartProcess(e.path, e.args, &os.ProcAttr{
		Env: environ, Files: []*os.File{os.Stdin, os.Stdout, os.Stderr}, Sys: program.OwnGroup(),
	})
	if err != nil {
		started <- program.CannotRun(e.args[0], err)
		return
	}
	c.pid = process.Pid
	_ = process.Release() // os.Process does not report stops; poll uses wait4 instead
	started <- nil
	<-c.reaped
}

// poll returns the latest change of the process since the previous call. A stop that SIGCONT has undone is
// not returned. poll also reaps orphans that have ended. It must not be called after it has returned the end.
func (c *child) poll() (status exitStatus, changed bool) {
	for {
		pid, s, err := reap()
		switch {
		case err != nil && !changed: // the status is gone: another part of this process has reaped the child
			status, changed = exit.Unexpected<<8, true
		case pid == c.pid:
			status, changed = s, true
		case pid > 0:
			continue
		}
		if changed && status.ended() {
			c.end()
			return status, true
		}
		if pid <= 0 {
			return status, changed
		}
	}
}

// reap returns the next change of any child, the command or an orphan. The process id is 0 if there is none.
func reap() (int, exitStatus, error) {
	for {
		var s unix.WaitStatus
		pid, err := unix.Wait4(-1, &s, unix.WUNTRACED|unix.WNOHANG, nil)
		if !errors.Is(err, unix.EINTR) {
			return pid, exitStatus(s), err
		}
	}
}

// reapAll reaps the orphans that have ended. It is called after the end of the command.
func reapAll() {
	for {
		if pid, _, err := reap(); pid <= 0 || err != nil {
			return
		}
	}
}

func (c *child) end() {
	signal.Stop(c.changes)
	close(c.reaped)
}

// signal sends the signal to the process group. An empty group is not an error.
func (c *child) signal(s syscall.Signal) { _ = unix.Kill(-c.pid, s) }

// terminate sends SIGTERM to the process group and to the orphans outside of it. SIGCONT follows, since a
// stopped process does not handle SIGTERM.
func (c *child) terminate() {
	c.signal(syscall.SIGTERM)
	c.signal(syscall.SIGCONT)
	c.descendants.signalOrphans(c.pid, syscall.SIGTERM, syscall.SIGCONT)
}

// kill sends SIGKILL to the command and to all its descendants.
func (c *child) kill() {
	c.signal(syscall.SIGKILL)
	c.descendants.kill() // mutant: KillsTheGroupOnly
}

// anyLeft reports whether a process of the group or another descendant is left. It is called after the end of
// the command.
func (c *child) anyLeft() bool {
	reapAll()
	return unix.Kill(-c.pid, 0) == nil || len(c.descendants.remaining()) > 0
}

// exitStatus is the status that wait4 returned for a process. The zero value is exit code 0.
type exitStatus unix.WaitStatus

func (s exitStatus) ended() bool { return !unix.WaitStatus(s).Stopped() }

// code returns the exit code as a shell shows it.
func (s exitStatus) code() int {
	if w := unix.WaitStatus(s); w.Signaled() {
		return exitSignal + int(w.Signal())
	}
	return unix.WaitStatus(s).ExitStatus()
}
