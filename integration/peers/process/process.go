// Package process runs servers as child processes, so that the processor time of each is known.
package process

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	// readyTimeout bounds the start of a server, stopTimeout its end; after that it is killed.
	readyTimeout = time.Minute
	stopTimeout  = 15 * time.Second
	// retryReady is the pause between two questions whether a server is ready, askTimeout the bound of one: a server
	// that starts may lose it.
	retryReady = 50 * time.Millisecond
	askTimeout = 3 * time.Second
)

// Process is a server that runs.
type Process struct {
	name  string
	env   []string
	cmd   *exec.Cmd
	ended chan struct{}
	log   tail
}

// Start starts a server with an environment of its own. name is for errors.
func Start(name, program string, args []string, env ...string) (*Process, error) {
	p := &Process{name: name, env: env, cmd: exec.Command(program, args...), ended: make(chan struct{})}
	p.cmd.Env = append([]string{"HOME=" + os.TempDir(), "PATH=" + os.Getenv("PATH")}, env...)
	p.cmd.Stdout, p.cmd.Stderr = &p.log, &p.log
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	go func() {
		_ = p.cmd.Wait() // the state of the process shows how it ended
		close(p.ended)
	}()
	return p, nil
}

// WaitReady returns when ready returns nil. It is an error if the server ends, or if that takes more than a minute.
func (p *Process) WaitReady(ctx context.Context, ready func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	tick := time.NewTicker(retryReady)
	defer tick.Stop()
	for {
		err := ask(ctx, ready)
		if err == nil {
			return nil
		}
		select {
		case <-tick.C:
		case <-p.ended:
			return fmt.Errorf("%s ended: %v\n%s", p.name, p.cmd.ProcessState, p.log.String())
		case <-ctx.Done():
			return fmt.Errorf("%s is not ready: %w\n%s", p.name, err, p.log.String())
		}
	}
}

func ask(ctx context.Context, ready func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	return ready(ctx)
}

// Stop asks the server to end, and kills it if it does not.
func (p *Process) Stop() {
	_ = p.cmd.Process.Signal(syscall.SIGTERM) // it may have ended
	timer := time.NewTimer(stopTimeout)
	defer timer.Stop()
	select {
	case <-p.ended:
	case <-timer.C:
		_ = p.cmd.Process.Kill() // it may have ended
		<-p.ended
	}
}

// Restart starts the server again as it was, after [Process.Stop].
func (p *Process) Restart() (*Process, error) {
	return Start(p.name, p.cmd.Args[0], p.cmd.Args[1:], p.env...)
}

// Resident returns the bytes of memory that the process has. It reads /proc, which only Linux has; ok is false
// elsewhere, and if the process has ended.
func (p *Process) Resident() (bytes int64, ok bool) {
	statm, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", p.cmd.Process.Pid))
	if err != nil {
		return 0, false
	}
	fields := strings.Fields(string(statm))
	if len(fields) < 2 {
		return 0, false
	}
	pages, err := strconv.ParseInt(fields[1], 10, 64)
	return pages * int64(os.Getpagesize()), err == nil
}

// CPU returns the processor time that the process has used. It reads /proc, which only Linux has; ok is false
// elsewhere, and if the process has ended.
func (p *Process) CPU() (used time.Duration, ok bool) { return CPU(p.cmd.Process.Pid) }

// CPU is [Process.CPU] of any process.
func CPU(pid int) (used time.Duration, ok bool) {
	const tick = time.Second / 100 // USER_HZ, the same on every Linux
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, false
	}
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+2:]))
	for _, field := range fields[11:13] { // utime and stime
		ticks, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return 0, false
		}
		used += time.Duration(ticks) * tick
	}
	return used, true
}

// mostLog is how much of a server's output is kept.
const mostLog = 16 << 10

// tail is the end of what a server has written. It is safe for concurrent use.
type tail struct {
	mu   sync.Mutex
	text []byte
}

// Write implements [io.Writer].
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, p...)
	if over := len(t.text) - mostLog; over > 0 {
		t.text = append([]byte(nil), t.text[over:]...)
	}
	return len(p), nil
}

// String returns the end of the output.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.text)
}
