package main_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/holdfast-io/holdfast/integration/stand"
)

// What a command starts in a session of its own, by a double fork or stopped, ends with the lock: the server
// is gone, so the lease runs out.
func TestLockLostReachesWhatLeftTheGroup(t *testing.T) {
	const beat = `trap "" TERM HUP; echo "child $$"; while :; do sleep 0.01; done`
	for name, script := range map[string]string{
		"Setsid":        `setsid sh -c "$1" & exec sleep 600`,
		"DoubleFork":    `( setsid sh -c "$1" & ) ; exec sleep 600`,
		"TwoSessions":   `setsid sh -c 'setsid sh -c "$1" & wait' sh "$1" & trap "" TERM; while :; do sleep 0.01; done`,
		"Stopped":       `( setsid sh -c 'echo "child $$"; kill -STOP $$; sleep 600' & ) ; exec sleep 600`,
		"HeedingParent": `( setsid sh -c "$1" & ) ; trap "exit 0" TERM; while :; do sleep 0.01; done`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := serve(t)
			holder := startWithoutPipes(t, p, "a", "--ttl", "3s", "--", "sh", "-c", script, "sh", beat)
			child := childOf(t, holder)
			endWithTest(t, child)
			p.kill(t)
			holder.wantExit(t, 4)
			if lives(child) {
				t.Error("what the command has started is left")
			}
		})
	}
}

// A daemon has the same time to end in good order as the command, though it has no parent that would pass it on.
func TestLockLostAsksADaemonToEnd(t *testing.T) {
	t.Parallel()
	p := serve(t)
	saved := filepath.Join(t.TempDir(), "saved")
	holder := startWithoutPipes(t, p, "a", "--ttl", "3s", "--grace", "1s", "--", "sh", "-c",
		`( setsid sh -c 'trap "echo 1 > \"$1\"; exit 0" TERM; echo "child $$"; while :; do sleep 0.01; done' sh "$1" & ); exec sleep 600`, "sh", saved)
	child := childOf(t, holder)
	endWithTest(t, child)
	p.kill(t)
	holder.wantExit(t, 4)
	if lives(child) || len(numbers(t, saved)) != 1 {
		t.Error("the daemon was not asked to end, or is left")
	}
}

// A command that ends by itself leaves behind what it wants to, in its own process group or in another session.
func TestLockLeavesWhatItsCommandLeaves(t *testing.T) {
	for name, start := range map[string]string{"Group": "", "Session": "setsid "} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := serve(t)
			stop := filepath.Join(t.TempDir(), "stop")
			holder := p.startUnder(t, "a", "--", "sh", "-c",
				`( `+start+
					`sh -c 'while ! test -e "$1"; do sleep 0.02; done' sh "$1" > /dev/null 2>&1 & echo "child $!" ); exit 7`, "sh", stop)
			child := childOf(t, holder)
			holder.wantExit(t, 7)
			if !lives(child) {
				t.Error("what the command left is gone")
			}
			write(t, stop, "")
			stand.Eventually(t, "it has ended", func() bool { return !lives(child) })
		})
	}
}

// Orphans of the command become holdfast's own children, so it has to reap them.
func TestLockReapsOrphans(t *testing.T) {
	t.Parallel()
	p := serve(t)
	stop := filepath.Join(t.TempDir(), "stop")
	holder := p.startUnder(t, "a", "--", "sh", "-c",
		`for i in 1 2 3; do ( setsid sh -c 'while ! test -e "$1"; do sleep 0.02; done' sh "$1" & ) ; done; echo ready; exec sleep 600`, "sh", stop)
	holder.out.WaitFor(t, holder.done, "ready")
	stand.Eventually(t, "the orphans are adopted", func() bool { return len(childrenOf(t, holder)) == 4 })
	write(t, stop, "")
	stand.Eventually(t, "the orphans are reaped", func() bool { return len(childrenOf(t, holder)) == 1 })
}

// What a shell had started before it became holdfast is not the command's.
func TestLockLostSparesTheChildrenOfItsShell(t *testing.T) {
	t.Parallel()
	p := serve(t)
	holder := startShell(t, `sleep 600 > /dev/null 2>&1 & echo "child $!"; exec "$@"`, stand.Binary(t), "lock",
		"--server", p.url, "a", "--ttl", "3s", "-c", "echo ready; exec sleep 600")
	child := childOf(t, holder)
	endWithTest(t, child)
	holder.out.WaitFor(t, holder.done, "ready")
	p.kill(t)
	holder.wantExit(t, 4)
	if !lives(child) {
		t.Error("a process of the shell was killed")
	}
}

// startWithoutPipes starts a lock whose end is noticed although a process that it has left behind keeps the
// pipes open, which is what a test of such processes fails by.
func startWithoutPipes(t *testing.T, p *process, args ...string) *process {
	t.Helper()
	holder := newProcess(t, nil, append([]string{"lock", "--server", p.url}, args...)...)
	holder.cmd.WaitDelay = time.Second
	holder.launch(t)
	return holder
}

// endWithTest kills a process that is left when the test ends. It is no child of the test.
func endWithTest(t *testing.T, pid int) {
	t.Helper()
	t.Cleanup(func() {
		if lives(pid) {
			_ = unix.Kill(pid, unix.SIGKILL)
		}
	})
}

// childrenOf returns the processes whose parent this is, zombies too.
func childrenOf(t *testing.T, p *process) (children []int) {
	t.Helper()
	entries := stand.Value(os.ReadDir("/proc"))(t)
	for _, entry := range entries {
		text, err := os.ReadFile(filepath.Join("/proc", entry.Name(), "stat"))
		pid, notNumber := strconv.Atoi(entry.Name())
		if err != nil || notNumber != nil {
			continue
		}
		fields := strings.Fields(string(text)[strings.LastIndex(string(text), ")")+1:])
		if fields[1] == fmt.Sprint(p.cmd.Process.Pid) {
			children = append(children, pid)
		}
	}
	return children
}
