package main_test

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/holdfast-io/holdfast/integration/proxy"
	"github.com/holdfast-io/holdfast/integration/stand"
)

// beating is a command that writes the time into the file $1 again and again, and so does what it
// starts, whatever TERM says to either.
const beating = `
trap "echo got TERM" TERM
beat() { while :; do date +%s%N >> "$1"; sleep 0.01; done; }
( trap "" TERM; beat "$1" ) > /dev/null 2>&1 &
echo "child $!"
beat "$1"`

// stamp is a command that writes the time into the file $1, once.
const stamp = `date +%s%N >> "$1"`

// wantBefore fails the test unless everything in the first file has been written before the second.
func wantBefore(t *testing.T, beats, grant string) {
	t.Helper()
	last, granted := slices.Max(numbers(t, beats)), slices.Min(numbers(t, grant))
	if last >= granted {
		t.Errorf("the command still ran %v after the lock had been granted to another", last-granted)
	}
	t.Logf("the command was dead %v before the grant", granted-last)
}

// The holder is cut off, and somebody else waits. The lease runs out on both sides, on the holder's first.
func TestLockCutOff(t *testing.T) {
	for name, test := range map[string]struct {
		ttl, onLost string
		asked       bool
	}{
		"Term":      {"5s", "term", true},
		"ShortTerm": {"2s", "term", true},
		"Kill":      {"2s", "kill", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := serve(t)
			way := proxy.New(t, p.url)
			dir := t.TempDir()
			beats, grant := filepath.Join(dir, "beats"), filepath.Join(dir, "grant")
			holder := start(t, "lock", "a", "--server", way.URL(), "--ttl", test.ttl, "--on-lost", test.onLost,
				"--lost-code", "77", "--", "sh", "-c", beating, "sh", beats)
			child := childOf(t, holder)
			waiter := p.startUnder(t, "a", "-v", "--", "sh", "-c", stamp, "sh", grant)
			p.waitForQueue(t, "a", 1)
			way.Sever()
			holder.wantExit(t, 77)
			if lives(child) {
				t.Error("what the command has started is left")
			}
			waiter.wantExit(t, 0)
			waiter.log.WaitFor(t, waiter.done, "acquired a: token 2")
			wantBefore(t, beats, grant)
			said := holder.log.String()
			if asked := strings.Contains(said, "gets SIGTERM, and SIGKILL in"); asked != test.asked || !strings.Contains(said, "was killed") {
				t.Errorf("said %q", said)
			}
			if got := strings.Contains(holder.out.String(), "got TERM"); got && !test.asked {
				t.Errorf("the command got SIGTERM: %q", holder.out)
			}
		})
	}
}

func TestLockLostAndIgnored(t *testing.T) {
	t.Parallel()
	p := serve(t)
	dir := t.TempDir()
	holder := p.startUnder(t, "a", "--on-lost", "ignore", "--", "sh", "-c",
		`echo ready; while ! test -e "$1"; do sleep 0.02; done; exit 7`, "sh", filepath.Join(dir, "stop"))
	holder.out.WaitFor(t, holder.done, "ready")
	p.holdfast(t, "break", "a", "--token", "1").want(t, 0, `^broke`)
	p.under(t, "a", "--", "true").wantBoth(t, 0, `^$`, `^$`)
	write(t, filepath.Join(dir, "stop"), "")
	holder.wantExit(t, 7)
	if !strings.Contains(holder.log.String(), "the lock was lost while the command ran: ") {
		t.Errorf("said %q", holder.log)
	}
}

// A broken lock is gone at once: the command gets a signal, and has little time. The next renewal would be minutes later.
func TestLockBroken(t *testing.T) {
	t.Parallel()
	p := serve(t)
	heeds := p.startUnder(t, "a", "--ttl", "10m", "-c",
		`trap 'echo saved; exit 0' TERM; echo ready; while :; do sleep 0.02; done`)
	heeds.out.WaitFor(t, heeds.done, "ready")
	p.holdfast(t, "break", "a", "--token", "1").want(t, 0, `^broke`)
	heeds.wantExit(t, 4)
	if !strings.Contains(heeds.out.String(), "saved") || !strings.Contains(heeds.log.String(), "lock lost") {
		t.Errorf("said %q and %q", heeds.out, heeds.log)
	}
	file := filepath.Join(t.TempDir(), "beats")
	ignores := p.startUnder(t, "b", "--ttl", "10m", "--", "sh", "-c", beating, "sh", file)
	child := childOf(t, ignores)
	p.holdfast(t, "break", "b", "--token", "1").want(t, 0, `^broke`)
	ignores.wantExit(t, 4)
	if lives(child) {
		t.Error("what the command has started is left")
	}
}

// One of several locks is enough.
func TestOneLockOfSeveralBroken(t *testing.T) {
	t.Parallel()
	p := serve(t)
	holder := p.startUnder(t, "a", "b", "c", "--ttl", "10m", "-c", "echo ready; exec sleep 600")
	holder.out.WaitFor(t, holder.done, "ready")
	p.holdfast(t, "break", "b", "--token", "1").want(t, 0, `^broke`)
	holder.wantExit(t, 4)
	for _, name := range []string{"a", "b", "c"} {
		p.holdfast(t, "get", name).want(t, 0, `^free: `)
	}
}

// What no client can prevent: stopped, it does not see the end of its lease, and its command runs on.
// Only the token tells the two holders apart.
func TestLockFrozen(t *testing.T) {
	t.Parallel()
	p := serve(t)
	dir := t.TempDir()
	beats, grant := filepath.Join(dir, "beats"), filepath.Join(dir, "grant")
	holder := p.startUnder(t, "a", "--ttl", "3s", "--", "sh", "-c", beating, "sh", beats)
	child := childOf(t, holder)
	holder.signal(t, syscall.SIGSTOP)
	p.under(t, "a", "--", "sh", "-c", stamp+`; echo "$HOLDFAST_TOKEN"`, "sh", grant).wantBoth(t, 0, `^0{14}2\n$`, `^$`)
	stand.Eventually(t, "the command has run on", func() bool {
		return slices.Max(numbers(t, beats)) > slices.Max(numbers(t, grant))
	})
	holder.signal(t, syscall.SIGCONT)
	holder.wantExit(t, 4)
	if lives(child) || strings.Contains(holder.out.String(), "got TERM") {
		t.Errorf("wanted it killed at once; it said %q", holder.out)
	}
}

func TestLockOutlivesItsServer(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first := serve(t, "--data", dir)
	stop := filepath.Join(t.TempDir(), "stop")
	holder := first.startUnder(t, "a", "b", "-v", "--ttl", "20s", "--", "sh", "-c",
		`echo ready; while ! test -e "$1"; do sleep 0.02; done; exit 7`, "sh", stop)
	holder.out.WaitFor(t, holder.done, "ready")
	waiter := first.startUnder(t, "b", "-v", "--ttl", "20s", "-c", `echo "$HOLDFAST_TOKEN"`)
	first.waitForQueue(t, "b", 1)
	first.kill(t)
	second := again(t, first, dir)
	second.waitForQueue(t, "b", 1)
	second.holdfast(t, "get", "a").want(t, 0, `^held: a by .*, token 1, `)
	write(t, stop, "")
	holder.wantExit(t, 7)
	waiter.wantExit(t, 0)
	if waiter.out.String() != "000000000000002\n" || strings.Contains(holder.log.String(), "lost") {
		t.Errorf("the waiter said %q, the holder %q", waiter.out, holder.log)
	}
}

// The command is gone in time also if nobody reads what holdfast says, so that it cannot say it.
func TestLockLostWhileNobodyReads(t *testing.T) {
	t.Parallel()
	p := serve(t)
	reader, writer := fullPipe(t)
	beats := filepath.Join(t.TempDir(), "beats")
	holder := newProcess(t, nil, "lock", "a", "-v", "--server", p.url, "--ttl", "3s", "--", "sh", "-c", beating, "sh",
		beats)
	holder.cmd.Stderr = writer
	holder.launch(t)
	child := childOf(t, holder)
	p.kill(t)
	stand.Eventually(t, "the command is gone", func() bool { return !lives(child) })
	stand.Must(t, writer.Close())
	said, err := io.ReadAll(reader)
	holder.wantExit(t, 4)
	if err != nil || !strings.Contains(string(said), "was killed") {
		t.Errorf("%v, said %q", err, strings.Trim(string(said), "\x00"))
	}
}

// fullPipe returns a pipe into which nothing more can be written.
func fullPipe(t *testing.T) (reader, writer *os.File) {
	t.Helper()
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = reader.Close() })
	size, err := unix.FcntlInt(writer.Fd(), unix.F_GETPIPE_SZ, 0)
	if err == nil {
		_, err = writer.Write(make([]byte, size))
	}
	if err != nil {
		t.Fatal(err)
	}
	return reader, writer
}

// A command that ends while nobody can take its lock back has done its work.
func TestLockReleasedToNobody(t *testing.T) {
	t.Parallel()
	p := serve(t)
	stop := filepath.Join(t.TempDir(), "stop")
	holder := p.startUnder(t, "a", "--timeout", "2s", "--", "sh", "-c",
		`echo ready; while ! test -e "$1"; do sleep 0.02; done; exit 7`, "sh", stop)
	holder.out.WaitFor(t, holder.done, "ready")
	p.kill(t)
	write(t, stop, "")
	holder.wantExit(t, 7)
	if !strings.Contains(holder.log.String(), "cannot release a: ") {
		t.Errorf("said %q", holder.log)
	}
}
