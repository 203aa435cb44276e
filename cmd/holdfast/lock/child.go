//go:build unix

package lock

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/display"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/exit"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/settings"
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
	return exit.Errorf(code, "cannot run %s: %w", display.Name(name), settings.RootCause(err))
}

// child is the command: a process that leads a group of its own, and what it has started outside of that.
type child struct {
	pid    int // of the process and the group
	family *family
	// changes tells that it may have stopped, or ended.
	changes chan os.Signal
	reaped  chan struct{}
}

// start runs it with our own streams.
func (e executable) start(environ []string) (*child, error) {
	c := &child{family: newFamily(), changes: make(chan os.Signal, 1), reaped: make(chan struct{})}
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

// poll returns the latest change of the process that it has not returned yet, unless SIGCONT has undone
// it since. That is why it asks only when somebody wants to know. To be called until it has ended. Orphans
// that have ended are reaped on the way.
func (c *child) poll() (status exitStatus, changed bool) {
	for {
		pid, s, err := reap()
		switch {
		case err != nil && !changed: // only this process can have waited for it
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

// reap takes the next change of any child, the command or an orphan; 0 if there is none.
func reap() (int, exitStatus, error) {
	for {
		var s unix.WaitStatus
		pid, err := unix.Wait4(-1, &s, unix.WUNTRACED|unix.WNOHANG, nil)
		if !errors.Is(err, unix.EINTR) {
			return pid, exitStatus(s), err
		}
	}
}

// reapAll takes the changes of orphans once the command has ended.
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

// signal sends to the whole group. That nobody is left in it is no error.
func (c *child) signal(s syscall.Signal) { _ = unix.Kill(-c.pid, s) }

// terminate asks the command to end, and its group, and what it has left to itself. One that is stopped
// would not notice.
func (c *child) terminate() {
	c.signal(syscall.SIGTERM)
	c.signal(syscall.SIGCONT)
	c.family.tell(c.pid, syscall.SIGTERM, syscall.SIGCONT)
}

// kill ends the command and all that it has started.
func (c *child) kill() {
	c.signal(syscall.SIGKILL)
	c.family.kill()
}

// lives reports whether anything of the group is left, or anything else that the command has started. To be
// called when the command itself has ended.
func (c *child) lives() bool {
	reapAll()
	return unix.Kill(-c.pid, 0) == nil || len(c.family.left()) > 0
}

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
