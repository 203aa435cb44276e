//go:build linux

package cluster

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"

	"golang.org/x/sys/unix"
)

// process is one life of a program.
type process struct {
	cmd  *exec.Cmd
	pid  int
	done chan struct{}
}

// startProcess starts a program in a namespace. It dies with this process.
func startProcess(inside *namespace, dir string, output io.Writer, name string, args ...string) (*process, error) {
	p := &process{cmd: exec.Command(name, args...), done: make(chan struct{})}
	// Nothing of this environment that could change what it does.
	p.cmd.Env, p.cmd.Dir = []string{"HOME=" + dir, "PATH=" + os.Getenv("PATH")}, dir
	p.cmd.Stdout, p.cmd.Stderr = output, output
	// Ctrl-C is for this process alone.
	p.cmd.SysProcAttr = &unix.SysProcAttr{Pdeathsig: unix.SIGKILL, Setpgid: true}
	if err := inside.inside(p.cmd.Start); err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	p.pid = p.cmd.Process.Pid
	go func() {
		_ = p.cmd.Wait() // the state says how
		close(p.done)
	}()
	return p, nil
}

func (p *process) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

func (p *process) signal(s unix.Signal) error {
	if err := p.cmd.Process.Signal(s); err != nil {
		return fmt.Errorf("%v to process %d: %w", s, p.pid, err)
	}
	return nil
}

// end sends a signal that ends the process, and waits until it is gone.
func (p *process) end(ctx context.Context, s unix.Signal) error {
	if err := p.signal(s); err != nil {
		return err
	}
	limit := time.NewTimer(patience)
	defer limit.Stop()
	select {
	case <-p.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-limit.C:
		return fmt.Errorf("process %d has not ended within %v of %v", p.pid, patience, s)
	}
}

// stop stops the process and returns when none of its threads runs any more.
func (p *process) stop(ctx context.Context) error {
	if err := p.signal(unix.SIGSTOP); err != nil {
		return err
	}
	return eventually(ctx, patience, func(context.Context) error { return p.isStopped() })
}

// resume is the end of stop.
func (p *process) resume() error { return p.signal(unix.SIGCONT) }

// isStopped returns an error that says what the process does instead.
func (p *process) isStopped() error {
	tasks, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", p.pid))
	if err != nil {
		return err
	}
	for _, task := range tasks {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/stat", p.pid, task.Name()))
		if err != nil {
			return err
		}
		// The state follows the name, which is in parentheses and may contain any.
		if state := stat[bytes.LastIndexByte(stat, ')')+2]; state != 'T' && state != 't' {
			return fmt.Errorf("thread %s of process %d is not stopped: its state is %c", task.Name(), p.pid, state)
		}
	}
	return nil
}
