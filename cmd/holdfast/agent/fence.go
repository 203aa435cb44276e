//go:build unix

package agent

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/display"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/program"
)

// fence runs the command that stops the holder of a lost lease. It is safe for concurrent use.
type fence struct {
	path  string
	words []string // words[0] is the name of the command
	// limit is the time for one run.
	limit time.Duration
	// slots has an entry for each command that runs.
	slots chan struct{}
}

// enter waits until one more command may run. It returns false if ctx ends earlier.
func (f *fence) enter(ctx context.Context) bool {
	select {
	case f.slots <- struct{}{}:
	case <-ctx.Done():
		return false
	}
	if ctx.Err() != nil { // both were ready
		f.leave()
		return false
	}
	return true
}

// leave lets the next command run.
func (f *fence) leave() { <-f.slots }

// run runs the command to its end. It is killed with its process group when its time is over or ctx ends. An error says
// how it failed.
func (f *fence) run(ctx context.Context, l loss) error {
	runtime.LockOSThread() // on Linux the kernel kills the command when the thread that started it ends
	defer runtime.UnlockOSThread()
	environ, err := l.environ(os.Environ())
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, f.limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, f.path)
	cmd.Args, cmd.Env, cmd.Stdout, cmd.Stderr, cmd.SysProcAttr = f.words, environ, os.Stdout, os.Stderr,
		program.OwnGroup()
	cmd.Cancel = func() error { return unix.Kill(-cmd.Process.Pid, unix.SIGKILL) }
	if err := cmd.Start(); err != nil {
		return program.CannotRun(f.words[0], err)
	}
	return f.failure(ctx, cmd.Wait())
}

// failure returns how the command failed, for its error.
func (f *fence) failure(ctx context.Context, err error) error {
	var ended *exec.ExitError
	switch {
	case err == nil:
		return nil
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return fmt.Errorf("the command did not end within %s, and was killed", display.Duration(f.limit))
	case !errors.As(err, &ended):
		return fmt.Errorf("wait for the command: %w", err)
	}
	if status, ok := ended.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return fmt.Errorf("the command was ended by the signal %q", status.Signal())
	}
	return fmt.Errorf("the command exited with %d", ended.ExitCode())
}
