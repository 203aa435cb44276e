package main_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"os"
	"os/exec"
	"os/signal"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/holdfast-io/holdfast/integration/stand"
)

// bound is how long a process may take for anything on a busy machine.
const bound = 30 * time.Second

func TestMain(m *testing.M) {
	flag.Parse()
	stand.AtOnce(8)
	if testing.Short() { // all of them start processes
		return
	}
	// Whoever started the tests with nohup has the commands ignore it too, unless somebody listens here.
	if signal.Ignored(syscall.SIGHUP) {
		signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
	}
	os.Exit(stand.Main(m))
}

// env is the environment of a command with these arguments: nothing of this process that could change what it does. A
// node serves HTTP on a free port, because another node on the default port would have it log a warning.
func env(args []string, extra ...string) []string {
	all := []string{"HOME=" + os.TempDir(), "PATH=" + os.Getenv("PATH")}
	if slices.Contains(args, "serve") {
		all = append(all, "HOLDFAST_HTTP=127.0.0.1:0")
	}
	return append(all, extra...)
}

// result is what came of a command.
type result struct {
	args           []string
	code           int
	stdout, stderr string
}

// run runs a command to its end.
func run(t *testing.T, args ...string) result {
	t.Helper()
	return runWith(t, nil, args...)
}

// runWith runs a command with more variables than it has by itself.
func runWith(t *testing.T, variables []string, args ...string) result {
	t.Helper()
	return runBinary(t, stand.Binary(t), variables, args...) // the first call builds it
}

func runBinary(t *testing.T, binary string, variables []string, args ...string) result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), bound)
	defer cancel()
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, binary, args...)
	cmd.Env, cmd.Dir, cmd.Stdout, cmd.Stderr = env(args, variables...), t.TempDir(), &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) || ctx.Err() != nil {
		t.Fatalf("holdfast %q: %v, %v\n%s", args, err, ctx.Err(), stderr.String())
	}
	return result{args, cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

// want fails the test unless the command has exited so, and has said something that matches on the
// stream that belongs to the outcome: one line on one stream, and nothing on the other.
func (r result) want(t *testing.T, code int, pattern string) result {
	t.Helper()
	said, silent := r.stdout, r.stderr
	if said == "" {
		said, silent = r.stderr, r.stdout
	}
	switch {
	case r.code != code:
		t.Errorf("holdfast %q: exit code %d, wanted %d\nstdout: %s\nstderr: %s", r.args, r.code, code, r.stdout,
			r.stderr)
	case !regexp.MustCompile(pattern).MatchString(strings.TrimSuffix(said, "\n")):
		t.Errorf("holdfast %q: said %q, wanted /%s/", r.args, said, pattern)
	case silent != "" || strings.Count(said, "\n") != 1 || !strings.HasSuffix(said, "\n"):
		t.Errorf("holdfast %q: wanted one line\nstdout: %s\nstderr: %s", r.args, r.stdout, r.stderr)
	}
	return r
}

// process is a command that goes on while the test does other things.
type process struct {
	cmd *exec.Cmd
	// ready is the line in which a server says that it is, url where.
	ready, url string
	out, log   *stand.Lines
	done       chan struct{}
}

// serve starts a server on a free port and returns when it is ready.
func serve(t *testing.T, args ...string) *process {
	t.Helper()
	return serveWith(t, nil, append([]string{"--listen", "127.0.0.1:0"}, args...)...)
}

// serveWith starts a server with more variables than it has by itself.
func serveWith(t *testing.T, variables []string, args ...string) *process {
	t.Helper()
	p := startWith(t, variables, append([]string{"serve"}, args...)...)
	p.ready = p.out.WaitFor(t, p.done, "is ready")
	p.url = regexp.MustCompile(`(nats|tls)://[^,"\s]+`).FindString(p.ready)
	return p
}

// start starts a command. It is killed at the end of the test, if it still runs.
func start(t *testing.T, args ...string) *process {
	t.Helper()
	return startWith(t, nil, args...)
}

func startWith(t *testing.T, variables []string, args ...string) *process {
	t.Helper()
	p := newProcess(t, variables, args...)
	p.launch(t)
	return p
}

// newProcess returns a command of ours that is still to be launched.
func newProcess(t *testing.T, variables []string, args ...string) *process {
	t.Helper()
	return prepare(t, exec.Command(stand.Binary(t), args...), variables)
}

// prepare has a command heard, and gives it nothing of this process that could change what it does.
func prepare(t *testing.T, cmd *exec.Cmd, variables []string) *process {
	t.Helper()
	p := &process{cmd: cmd, out: &stand.Lines{}, log: &stand.Lines{}, done: make(chan struct{})}
	p.cmd.Env, p.cmd.Dir, p.cmd.Stdout, p.cmd.Stderr = env(cmd.Args, variables...), t.TempDir(), p.out, p.log
	return p
}

// launch starts the command, which ends with the test.
func (p *process) launch(t *testing.T) {
	t.Helper()
	stand.Must(t, p.cmd.Start())
	go func() {
		_ = p.cmd.Wait()
		close(p.done)
	}()
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		<-p.done
		if t.Failed() {
			t.Logf("log of %q:\n%s", p.cmd.Args, p.log)
		}
	})
}

// kill ends the process without a warning.
func (p *process) kill(t *testing.T) {
	t.Helper()
	p.signal(t, syscall.SIGKILL)
	p.wait(t)
}

func (p *process) signal(t *testing.T, s syscall.Signal) {
	t.Helper()
	stand.Must(t, p.cmd.Process.Signal(s))
}

// wait returns how the process has ended.
func (p *process) wait(t *testing.T) *os.ProcessState {
	t.Helper()
	select {
	case <-p.done:
		return p.cmd.ProcessState
	case <-time.After(bound):
		t.Fatalf("the process has not ended within %v", bound)
		return nil
	}
}

// holdfast runs a command that asks this server.
func (p *process) holdfast(t *testing.T, args ...string) result {
	t.Helper()
	return run(t, append([]string{args[0], "--server", p.url}, args[1:]...)...)
}
