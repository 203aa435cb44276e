package main_test

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/holdfast-io/holdfast/integration/stand"
)

// echoes is a command that says which signals it gets, and ends with TERM. The shell runs a trap when
// the command in front of it has ended, so that one must not last.
const echoes = `
for s in HUP INT QUIT ABRT ALRM USR1 USR2 WINCH CONT; do trap "echo got $s" $s; done
trap "echo got TERM; exit 5" TERM
echo ready
while :; do sleep 0.02; done`

func TestLockPassesSignalsOn(t *testing.T) {
	t.Parallel()
	p := serve(t)
	holder := p.startUnder(t, "a", "-c", echoes)
	holder.out.WaitFor(t, holder.done, "ready")
	for _, s := range []syscall.Signal{
		syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGABRT, syscall.SIGALRM,
		syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGWINCH, syscall.SIGCONT,
	} {
		holder.signal(t, s)
		holder.out.WaitFor(t, holder.done, "got "+strings.TrimPrefix(unix.SignalName(s), "SIG"))
	}
	// However often it gets the signal, it does not end before its command, and the lock is held.
	for n := 2; n < 5; n++ {
		holder.signal(t, syscall.SIGINT)
		stand.Eventually(t, "another signal has arrived",
			func() bool { return strings.Count(holder.out.String(), "got INT") == n })
	}
	p.holdfast(t, "get", "a").want(t, 0, `^held: `)
	holder.signal(t, syscall.SIGTERM)
	holder.wantExit(t, 5)
	p.holdfast(t, "get", "a").want(t, 0, `^free: `)
}

func TestLockEndsBySignalAsItsCommandDoes(t *testing.T) {
	t.Parallel()
	p := serve(t)
	for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT} {
		holder := p.startUnder(t, "a", "-c", "ulimit -c 0; echo ready; exec sleep 600")
		holder.out.WaitFor(t, holder.done, "ready")
		holder.signal(t, s)
		holder.wantExit(t, 128+int(s))
		p.holdfast(t, "get", "a").want(t, 0, `^free: `)
	}
}

// A signal is for the whole group, or what the command has started would go on without it.
func TestLockPassesSignalsToTheGroup(t *testing.T) {
	t.Parallel()
	p := serve(t)
	holder := p.startUnder(t, "a", "-c", `sleep 600 & echo "child $!"; wait; exit`)
	child := childOf(t, holder)
	holder.signal(t, syscall.SIGTERM)
	holder.wantExit(t, 128+15)
	stand.Eventually(t, "the grandchild is gone", func() bool { return !lives(child) })
}

// What ignores a signal here goes on to ignore it there.
func TestLockUnderNohup(t *testing.T) {
	t.Parallel()
	p := serve(t)
	holder := startShell(t, `trap "" HUP; exec "$@"`, stand.Binary(t), "lock", "a", "--server", p.url, "-c",
		`trap 'exit 7' TERM; echo ready; while :; do sleep 0.02; done`)
	holder.out.WaitFor(t, holder.done, "ready")
	holder.signal(t, syscall.SIGHUP)
	holder.signal(t, syscall.SIGTERM)
	holder.wantExit(t, 7)
}

func TestLockKilledTakesItsCommandAlong(t *testing.T) {
	t.Parallel()
	p := serve(t)
	holder := p.startUnder(t, "a", "-c", `trap "" TERM HUP INT; echo "child $$"; while :; do sleep 0.02; done`)
	child := childOf(t, holder)
	holder.kill(t)
	stand.Eventually(t, "the command is gone", func() bool { return !lives(child) })
}

// Stopped from outside, both stop, and both go on. A SIGCONT between the two stops would be lost, as with
// whatever stops itself; a shell waits for the second too.
func TestLockStopsWithItsCommand(t *testing.T) {
	t.Parallel()
	p := serve(t)
	// A group of its own, as a shell makes one: whom nobody could set going again, the kernel does not stop.
	holder := p.startAs(t, &syscall.SysProcAttr{Setpgid: true}, `echo "child $$"; exec sleep 600`)
	both := []int{childOf(t, holder), holder.cmd.Process.Pid}
	holder.signal(t, syscall.SIGTSTP)
	for _, pid := range both {
		stand.Eventually(t, "both have stopped", func() bool { return state(pid) == "T" })
	}
	holder.signal(t, syscall.SIGCONT)
	for _, pid := range both {
		stand.Eventually(t, "both go on", func() bool { s := state(pid); return s == "R" || s == "S" })
	}
	holder.signal(t, syscall.SIGTERM)
	holder.wantExit(t, 128+15)
}

// Where the kernel does not stop us, the command is not left stopped either.
func TestLockThatIsNotStopped(t *testing.T) {
	t.Parallel()
	p := serve(t)
	// It starts nothing: a shell that is about to start something cannot stop if that does first.
	holder := p.startAs(t, &syscall.SysProcAttr{Setsid: true},
		`trap "echo goes on" CONT; echo ready; while :; do read x; done`)
	holder.out.WaitFor(t, holder.done, "ready")
	holder.signal(t, syscall.SIGTSTP)
	holder.out.WaitFor(t, holder.done, "goes on")
	holder.signal(t, syscall.SIGTERM)
	holder.wantExit(t, 128+15)
}

// startAs starts a shell command under a lock, in a group or session as it says.
func (p *process) startAs(t *testing.T, as *syscall.SysProcAttr, script string) *process {
	t.Helper()
	holder := newProcess(t, nil, "lock", "--server", p.url, "a", "-c", script)
	holder.cmd.SysProcAttr = as
	input := stand.Value(holder.cmd.StdinPipe())(t)
	holder.launch(t)
	t.Cleanup(func() { _ = input.Close() })
	// A shell runs its trap between two reads: a signal right before a read waits for a line.
	go func() {
		for tick := time.Tick(50 * time.Millisecond); ; {
			select {
			case <-tick:
				_, _ = input.Write([]byte("\n"))
			case <-holder.done:
				return
			}
		}
	}()
	return holder
}

// childOf returns the process that a command names in the line "child PID" of its output.
func childOf(t *testing.T, p *process) int {
	t.Helper()
	return stand.Value(strconv.Atoi(strings.TrimPrefix(p.out.WaitFor(t, p.done, "child "), "child ")))(t)
}

// state is the letter of a process in /proc; X if it is gone.
func state(pid int) string {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "X"
	}
	rest := string(text)[strings.LastIndex(string(text), ")")+1:]
	return strings.Fields(rest)[0]
}

// lives reports whether a process runs, or could.
func lives(pid int) bool { return state(pid) != "X" && state(pid) != "Z" }

// startShell starts a command by way of a shell script, which sees it as "$@".
func startShell(t *testing.T, script string, args ...string) *process {
	t.Helper()
	p := prepare(t, exec.Command("sh", append([]string{"-c", script, "sh"}, args...)...), nil)
	p.launch(t)
	return p
}
