package fencetest

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/holdfast-io/holdfast/messages/porttest"
)

// patience bounds every wait for a server. Nothing is measured by it.
const patience = time.Minute

// Server is how the real server of a store is run for a test.
type Server struct {
	// Program is looked for in the PATH. A test whose server is missing fails: a guard that was not
	// tested is not one.
	Program string
	// Install says where to get the program, for the message that it is missing.
	Install string
	// Command returns what to run, to listen on addr, a free port of the loopback interface. It is called
	// for each start, with the same address.
	Command func(addr string) *exec.Cmd
	// Ready returns nil when the server at addr answers.
	Ready func(ctx context.Context, addr string) error
}

// Tool builds a program of the Go module at modfile, unless that was done before, and returns its path.
// It is for servers that are written in Go: a guard's own module must not require them, because an
// application would inherit their requirements.
func Tool(tb testing.TB, modfile, name string) string {
	tb.Helper()
	build := exec.CommandContext(tb.Context(), "go", "tool", "-modfile="+modfile, "-n", name)
	build.Env = append(os.Environ(), "GOWORK=off")
	var report bytes.Buffer
	build.Stderr = &report
	path, err := build.Output()
	if err != nil {
		tb.Fatalf("building %s: %v\n%s", name, err, &report)
	}
	return strings.TrimSpace(string(path))
}

// Process is a server that runs.
type Process struct {
	Server
	// Addr is where it listens: host and port.
	Addr   string
	cmd    *exec.Cmd
	output bytes.Buffer
	killed atomic.Bool
	ended  chan struct{}
}

// Start starts the server and waits until it answers. It ends with the test.
func (s Server) Start(tb testing.TB) *Process {
	tb.Helper()
	if _, err := exec.LookPath(s.Program); err != nil {
		tb.Fatalf("%s is missing; install it with: %s", s.Program, s.Install)
	}
	p := &Process{Server: s, Addr: porttest.Free(tb, 1)[0]}
	p.start(tb)
	tb.Cleanup(p.kill)
	return p
}

// Restart kills the server, without a chance to write anything, and starts it again.
func (p *Process) Restart(tb testing.TB) {
	tb.Helper()
	p.kill()
	p.start(tb)
}

func (p *Process) start(tb testing.TB) {
	tb.Helper()
	p.output.Reset()
	p.killed.Store(false)
	p.cmd = p.Command(p.Addr)
	p.cmd.Stdout, p.cmd.Stderr = &p.output, &p.output
	if p.cmd.SysProcAttr == nil {
		p.cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	p.cmd.SysProcAttr.Setpgid = true // a wrapper's children die with it
	if err := p.cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	ended := make(chan struct{})
	p.ended = ended
	go func() {
		defer close(ended)
		_ = p.cmd.Wait()
		if !p.killed.Load() {
			// Whatever fails from now on fails because of this.
			fmt.Fprintf(os.Stderr, "%s ended by itself: %v\n%s\n", p.Program, p.cmd.ProcessState, &p.output)
		}
	}()
	p.await(tb)
}

// await waits until the server answers.
func (p *Process) await(tb testing.TB) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), patience)
	defer cancel()
	var err error
	for {
		if err = p.Ready(ctx, p.Addr); err == nil {
			return
		}
		select {
		case <-p.ended:
			tb.Fatalf("%s ended: %v\n%s", p.Program, p.cmd.ProcessState, &p.output)
		case <-ctx.Done():
			p.kill()
			tb.Fatalf("%s does not answer: %v\n%s", p.Program, err, p.output.String())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// kill may be called twice, and signals once: afterwards another process may have the server's number.
func (p *Process) kill() {
	if p.killed.CompareAndSwap(false, true) {
		_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
	}
	<-p.ended
}
