package main_test

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/creack/pty"

	"github.com/holdfast-io/holdfast/integration/stand"
)

// atTerminal is a process in front of a terminal of its own.
type atTerminal struct {
	*process
	keys *os.File
}

// startAtTerminal starts a command as the first on a new terminal.
func startAtTerminal(t *testing.T, name string, args ...string) *atTerminal {
	t.Helper()
	p := &process{cmd: exec.Command(name, args...), out: &stand.Lines{}, done: make(chan struct{})}
	p.log = p.out
	p.cmd.Env, p.cmd.Dir = env(nil, "TERM=dumb", "PS1=$ "), t.TempDir()
	keys := stand.Value(pty.StartWithSize(p.cmd, &pty.Winsize{Rows: 24, Cols: 200}))(t)
	read := make(chan struct{})
	go func() {
		_, _ = io.Copy(p.out, keys) // ends with an error when nobody is at the other end any more
		close(read)
	}()
	go func() {
		_ = p.cmd.Wait()
		<-read // what it wrote last may still be on its way
		close(p.done)
	}()
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		_ = keys.Close()
		<-p.done
		if t.Failed() {
			t.Logf("the terminal shows:\n%s", p.out)
		}
	})
	return &atTerminal{p, keys}
}

func (a *atTerminal) press(t *testing.T, keys string) {
	t.Helper()
	stand.Value(io.WriteString(a.keys, keys))(t)
}

const (
	ctrlC = "\x03"
	ctrlZ = "\x1a"
)

func TestLockAtATerminal(t *testing.T) {
	t.Parallel()
	p := serve(t)
	t.Run("Reads", func(t *testing.T) {
		t.Parallel()
		a := startAtTerminal(t, stand.Binary(t), "lock", "reads", "--server", p.url, "-c",
			`echo ready; read x; echo "got $x"`)
		a.out.WaitFor(t, a.done, "ready")
		a.press(t, "hello\n")
		a.out.WaitFor(t, a.done, "got hello")
		a.wantExit(t, 0)
	})
	t.Run("CtrlC", func(t *testing.T) {
		t.Parallel()
		a := startAtTerminal(t, stand.Binary(t), "lock", "ctrlc", "--server", p.url, "-c", "echo ready; exec sleep 600")
		a.out.WaitFor(t, a.done, "ready")
		a.press(t, ctrlC)
		if how := a.wait(t).Sys().(syscall.WaitStatus); how.Signal() != syscall.SIGINT {
			t.Errorf("%v, wanted it to end by SIGINT, as its command", how)
		}
		p.holdfast(t, "get", "ctrlc").want(t, 0, `^free: `)
	})
	t.Run("CtrlCThatIsHeeded", func(t *testing.T) {
		t.Parallel()
		a := startAtTerminal(t, stand.Binary(t), "lock", "heeded", "--server", p.url, "-c",
			`trap "exit 130" INT; echo ready; read x`)
		a.out.WaitFor(t, a.done, "ready")
		a.press(t, ctrlC)
		a.wantExit(t, 130)
	})
	t.Run("CtrlCWhileWaiting", func(t *testing.T) {
		t.Parallel()
		p.holdfast(t, "acquire", "held", "--owner", "me\u202e", "--ttl", "10m").want(t, 0, `token 1`)
		a := startAtTerminal(t, stand.Binary(t), "lock", "held", "--server", p.url, "--", "echo")
		a.out.WaitFor(t, a.done, `waiting for held, held by "me\u202e", token 1`)
		a.press(t, ctrlC)
		a.wantExit(t, 128+2)
	})
	t.Run("BehindAPipe", func(t *testing.T) {
		t.Parallel()
		// It reads from the terminal although its input is none, as those who ask for a password do.
		a := startAtTerminal(t, "sh", "-c", `echo x | "$@" | cat`, "sh", stand.Binary(t), "lock", "pipe", "--server",
			p.url, "-c",
			`echo ready > /dev/tty; read x < /dev/tty; echo "got $x"`)
		a.out.WaitFor(t, a.done, "ready")
		a.press(t, "hello\n")
		a.out.WaitFor(t, a.done, "got hello")
		a.wantExit(t, 0)
	})
	t.Run("CtrlZWhereNobodyCouldUndoIt", func(t *testing.T) {
		t.Parallel()
		a := startAtTerminal(t, stand.Binary(t), "lock", "ctrlz", "--server", p.url, "-c",
			`echo ready; read x; echo "got $x"`)
		a.out.WaitFor(t, a.done, "ready")
		a.press(t, ctrlZ)
		a.press(t, "hello\n")
		a.out.WaitFor(t, a.done, "got hello")
		a.wantExit(t, 0)
	})
}

// With a shell around, Ctrl-Z, fg and bg do what they always do.
func TestLockAndJobControl(t *testing.T) {
	t.Parallel()
	p := serve(t)
	a := startAtTerminal(t, "bash", "--norc", "--noprofile", "-i")
	lock := stand.Binary(t) + " lock --server " + p.url + " "
	a.press(t, lock+`a -c 'echo rea""dy; read x; echo "got $x"; read x; echo "got $x"'`+"\n")
	a.out.WaitFor(t, a.done, "ready")
	a.press(t, ctrlZ)
	a.out.WaitFor(t, a.done, "Stopped")
	a.press(t, "echo she''ll\n")
	a.out.WaitFor(t, a.done, "shell")
	a.press(t, "fg\nhello\n")
	a.out.WaitFor(t, a.done, "got hello")
	a.press(t, ctrlZ)
	stand.Eventually(t, "it has stopped again", func() bool { return strings.Count(a.out.String(), "Stopped") == 2 })
	// In the background it stops as soon as it reads.
	a.press(t, "bg\n")
	stops := func(n int) {
		t.Helper()
		stand.Eventually(t, fmt.Sprintf("it has stopped %d times", n), func() bool {
			a.press(t, "\n") // bash says so when it prompts
			return strings.Count(a.out.String(), "Stopped") == n
		})
	}
	stops(3)
	a.press(t, "fg\nworld\n")
	a.out.WaitFor(t, a.done, "got world")
	a.press(t, "echo co''de $?\n")
	a.out.WaitFor(t, a.done, "code 0")
	// Started in the background, it gets the terminal with fg only.
	a.press(t, lock+`a -c 'read x; echo "go''t $x"' &`+"\n")
	stops(4)
	a.press(t, "fg\nagain\n")
	a.out.WaitFor(t, a.done, "got again")
	// One that catches the key stops by another signal.
	a.press(t, lock+`a -c 'trap "kill -STOP \$\$" TSTP; echo wai""ting; read x; echo "go""ne on"'`+"\n")
	a.out.WaitFor(t, a.done, "waiting")
	a.press(t, ctrlZ)
	stops(5)
	a.press(t, "fg\n\n")
	a.out.WaitFor(t, a.done, "gone on")
	// One Ctrl-C ends the loop around it as well.
	a.press(t, "for i in 1 2; do "+lock+"a -c 'echo roun\"\"d; exec sleep 600'; done\n")
	a.out.WaitFor(t, a.done, "round")
	a.press(t, ctrlC)
	a.press(t, "echo co''de $?\n")
	a.out.WaitFor(t, a.done, "code 130")
	a.press(t, "exit\n")
	a.wait(t)
}

// Stopped for longer than its lease lasts, the command never runs again.
func TestLockLostWhileStopped(t *testing.T) {
	t.Parallel()
	p := serve(t)
	a := startAtTerminal(t, "bash", "--norc", "--noprofile", "-i")
	a.press(t, stand.Binary(t)+" lock --server "+p.url+` a --ttl 3s -c 'echo rea""dy; read x; echo "got $x"'`+"\n")
	a.out.WaitFor(t, a.done, "ready")
	a.press(t, ctrlZ)
	a.out.WaitFor(t, a.done, "Stopped")
	p.under(t, "a", "-c", `echo "$HOLDFAST_TOKEN"`).wantBoth(t, 0, `^0{14}2\n$`, `^$`)
	a.press(t, "fg\n")
	a.out.WaitFor(t, a.done, "the command was killed")
	a.press(t, "echo co''de $?\n")
	a.out.WaitFor(t, a.done, "code 4")
	a.press(t, "exit\n")
	a.wait(t)
}
