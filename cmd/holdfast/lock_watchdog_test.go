package main_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/holdfast-io/holdfast/integration/proxy"
	"github.com/holdfast-io/holdfast/integration/stand"
)

// watchdogFile returns a file that takes what a watchdog is fed with, and how to read it.
func watchdogFile(t *testing.T) (path string, fed func() string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "watchdog")
	write(t, path, "")
	return path, func() string {
		text := stand.Value(os.ReadFile(path))(t)
		return string(text)
	}
}

const untilStop = `echo ready; while ! test -e stop; do sleep 0.02; done`

// A watchdog is fed at the start and after each renewal, and turned off at the end.
func TestLockFeedsAWatchdog(t *testing.T) {
	t.Parallel()
	p := serve(t)
	way := proxy.New(t, p.url)
	path, fed := watchdogFile(t)
	holder := start(t, "lock", "a", "b", "--server", way.URL(), "--ttl", "3s", "--watchdog", path, "-c", untilStop)
	holder.out.WaitFor(t, holder.done, "ready")
	if n := len(fed()); n == 0 {
		t.Error("it was not fed before the command began")
	}
	stand.Eventually(t, "it is fed after renewals", func() bool { return len(fed()) > 3 })
	times, renewed := len(fed()), 0
	for op, locks := range map[string]int{"extend": 1, "keep": 2, "batch": 2} {
		renewed += locks * way.Count(op)
	}
	if times > 1+renewed {
		t.Errorf("fed %d times, after %d renewals were asked for", times, renewed)
	}
	write(t, filepath.Join(holder.cmd.Dir, "stop"), "")
	holder.wantExit(t, 0)
	if text := fed(); !regexp.MustCompile(`^1+V$`).MatchString(text) {
		t.Errorf("the watchdog got %q", text)
	}
}

// A lost lock feeds no watchdog. When all that the command has started is dead, the watchdog is turned off.
func TestWatchdogAfterAnEndedCommand(t *testing.T) {
	t.Parallel()
	p := serve(t)
	path, fed := watchdogFile(t)
	holder := p.startUnder(t, "a", "--ttl", "10m", "--watchdog", path, "--", "sh", "-c",
		`trap "" TERM; echo ready; while :; do sleep 0.02; done`)
	holder.out.WaitFor(t, holder.done, "ready")
	p.breakLock(t, "a")
	holder.wantExit(t, 4)
	if text := fed(); text != "1V" {
		t.Errorf("the watchdog got %q, want 1V", text)
	}
}

// While the command runs on without its lock, the watchdog is neither fed nor turned off.
func TestLostLockStarvesTheWatchdog(t *testing.T) {
	t.Parallel()
	p := serve(t)
	path, fed := watchdogFile(t)
	other, fedOther := watchdogFile(t)
	loser := p.startUnder(t, "a", "--ttl", "3s", "--on-lost", "ignore", "--watchdog", path, "-c",
		"sleep 600 > /dev/null 2>&1 & echo child $!; "+untilStop)
	child := childOf(t, loser)
	t.Cleanup(func() { _ = syscall.Kill(child, syscall.SIGKILL) })
	loser.out.WaitFor(t, loser.done, "ready")
	p.breakLock(t, "a")
	p.under(t, "a", "--", "true").wantBoth(t, 0, `^$`, `^$`)
	before := len(fed())
	keeper := p.startUnder(t, "b", "--ttl", "3s", "--watchdog", other, "-c", untilStop)
	stand.Eventually(t, "the other watchdog is fed", func() bool { return len(fedOther()) > 3 })
	if text := fed(); len(text) > before+1 { // one renewal may have been confirmed before the break
		t.Errorf("after the loss the watchdog got %q, %d bytes before", text, before)
	}
	for _, q := range []*process{loser, keeper} {
		write(t, filepath.Join(q.cmd.Dir, "stop"), "")
		q.wantExit(t, 0)
	}
	if text := fed(); strings.Contains(text, "V") || !strings.Contains(loser.log.String(), "is left on") {
		t.Errorf("the watchdog got %q although a process is left; said %q", text, loser.log)
	}
}

// A holdfast that is killed leaves the watchdog on.
func TestKilledLockLeavesTheWatchdogOn(t *testing.T) {
	t.Parallel()
	p := serve(t)
	path, fed := watchdogFile(t)
	holder := p.startUnder(t, "a", "--watchdog", path, "-c", untilStop)
	holder.out.WaitFor(t, holder.done, "ready")
	holder.signal(t, syscall.SIGKILL)
	holder.wait(t)
	if text := fed(); text != "1" {
		t.Errorf("the watchdog got %q, want 1", text)
	}
}

// Without the watchdog nothing is started. A command that cannot be started leaves it off.
func TestLockWithoutItsWatchdog(t *testing.T) {
	t.Parallel()
	p := serve(t)
	dir := t.TempDir()
	p.under(t, "a", "--watchdog", filepath.Join(dir, "none"), "--", "echo").
		wantBoth(t, 2, `^$`, `^holdfast: --watchdog: cannot open .*none: no such file or directory\n$`)
	fifo := filepath.Join(dir, "fifo")
	stand.Must(t, syscall.Mkfifo(fifo, 0o600))
	p.under(t, "a", "--watchdog", fifo, "--", "echo").wantBoth(t, 2, `^$`,
		`cannot open .*fifo: no such device or address`)
	p.holdfast(t, "get", "a").want(t, 0, `^free: `)
	path, fed := watchdogFile(t)
	garbage := filepath.Join(dir, "garbage")
	stand.Must(t, os.WriteFile(garbage, []byte("\x00\x01"), 0o700))
	p.under(t, "a", "--watchdog", path, "--", garbage).wantBoth(t, 126, `^$`, `cannot run`)
	if text := fed(); text != "1V" {
		t.Errorf("the watchdog got %q, want 1V", text)
	}
}
