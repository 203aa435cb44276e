package main_test

import (
	"strings"
	"syscall"
	"testing"
	"time"
)

// again starts a server where another has been, with its data.
func again(t *testing.T, before *process, dir string) *process {
	t.Helper()
	return serveWith(t, nil, "--data", dir, "--listen", strings.TrimPrefix(before.url, "nats://"))
}

func TestKilledServerRemembersWhatIsHeld(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first := serve(t, "--data", dir)
	first.holdfast(t, "acquire", "orders.41", "--owner", "me").want(t, 0, `token 1`)
	first.holdfast(t, "release", "orders.41", "--owner", "me").want(t, 0, `^released`)
	first.holdfast(t, "acquire", "orders.42", "--owner", "me", "--ttl", "10m", "--metadata", "job=nightly").want(t, 0,
		`token 1`)
	first.kill(t)
	first.holdfast(t, "get", "orders.42").want(t, 5, `^holdfast: no NATS server answers at`)

	second := again(t, first, dir)
	second.holdfast(t, "get", "orders.42").want(t, 0, `^held: orders\.42 by "me", token 1, .*, job="nightly"$`)
	second.holdfast(t, "acquire", "orders.42", "--owner", "you").want(t, 3, `^held: `)
	second.holdfast(t, "extend", "orders.42", "--owner", "me", "--token", "1", "--ttl", "5m").want(t, 0,
		`token 1, lease 5m$`)
	second.holdfast(t, "release", "orders.42", "--owner", "me", "--token", "1").want(t, 0, `^released`)
	second.holdfast(t, "acquire", "orders.42", "--owner", "you").want(t, 0, `token 2`)
	second.holdfast(t, "acquire", "orders.41", "--owner", "you").want(t, 0, `token 2`)
}

// A command that waits does not notice that the server it waits at is another one.
func TestWaitOutlivesTheServer(t *testing.T) {
	for name, end := range map[string]syscall.Signal{"Killed": syscall.SIGKILL, "Stopped": syscall.SIGTERM} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			first := serve(t, "--data", dir)
			first.holdfast(t, "acquire", "orders.42", "--owner", "me", "--ttl", "10m").want(t, 0, `token 1`)
			granted := make(chan result, 1)
			go func() {
				granted <- first.holdfast(t, "acquire", "orders.42", "--owner", "you", "--wait", "10m", "--timeout",
					"1m")
			}()
			first.waitForQueue(t, "orders.42", 1)
			first.signal(t, end)
			first.wait(t)
			second := again(t, first, dir)
			second.waitForQueue(t, "orders.42", 1)
			second.holdfast(t, "release", "orders.42", "--owner", "me").want(t, 0, `^released`)
			(<-granted).want(t, 0, `^acquired orders\.42: token 2`)
		})
	}
}

func TestAskedToStop(t *testing.T) {
	for name, s := range map[string]syscall.Signal{"CtrlC": syscall.SIGINT, "Term": syscall.SIGTERM} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := serve(t)
			p.holdfast(t, "acquire", "orders.42").want(t, 0, `token 1`)
			begun := time.Now()
			p.signal(t, s)
			if state := p.wait(t); state.ExitCode() != 0 {
				t.Errorf("%v", state)
			}
			if took := time.Since(begun); took > 10*time.Second {
				t.Errorf("took %v", took)
			}
			if log := p.log.String(); strings.Contains(log, "level=WARN") || strings.Contains(log, "level=ERROR") {
				t.Error("a clean stop has nothing to warn of")
			}
		})
	}
}

// The server hangs at its end, since the NATS that it needs to say good-bye is frozen.
func TestAskedToStopTwice(t *testing.T) {
	t.Parallel()
	outer := serve(t)
	inner := serveWith(t, nil, "--nats", outer.url, "--prefix", "inner", "--shards", "1", "--name", "inner")
	outer.signal(t, syscall.SIGSTOP)
	inner.signal(t, syscall.SIGINT)
	inner.log.WaitFor(t, inner.done, "stopping")
	begun := time.Now()
	inner.signal(t, syscall.SIGINT)
	if state := inner.wait(t); state.ExitCode() != 1 || time.Since(begun) > 5*time.Second {
		t.Errorf("%v after %v", state, time.Since(begun))
	}
}

func TestInterruptedAcquireLeavesTheQueue(t *testing.T) {
	t.Parallel()
	p := serve(t)
	p.holdfast(t, "acquire", "orders.42", "--owner", "me", "--ttl", "10m").want(t, 0, `token 1`)
	// The same owner: leaving the queue must not release what it holds elsewhere.
	waiting := start(t, "acquire", "orders.42", "--owner", "me", "--wait", "10m", "--server", p.url)
	p.waitForQueue(t, "orders.42", 1)
	waiting.signal(t, syscall.SIGINT)
	if state := waiting.wait(t); state.ExitCode() != 3 ||
		waiting.out.String() != "cancelled: no longer waiting for orders.42\n" {
		t.Errorf("%v, said %q and %q", state, waiting.out, waiting.log)
	}
	p.holdfast(t, "get", "orders.42").want(t, 0, `^held: orders\.42 by "me", token 1, \S+ left$`)
}

// No answer comes from a frozen server; what was asked of it may yet happen.
func TestFrozenServer(t *testing.T) {
	t.Parallel()
	outer := serve(t)
	inner := serveWith(t, nil, "--server", outer.url, "--prefix", "inner", "--shards", "1", "--name", "inner")
	inner.signal(t, syscall.SIGSTOP)
	outer.holdfast(t, "acquire", "orders.42", "--owner", "me", "--ttl", "10m", "--prefix", "inner", "--timeout",
		"2s").
		want(t, 6,
			`^holdfast: no answer from Holdfast at nats://.* in \S+: acquire may have had an effect; check with: holdfast get$`)
	outer.holdfast(t, "get", "orders.42", "--prefix", "inner", "--timeout", "2s").
		want(t, 5, `^holdfast: no answer from Holdfast at nats://.*: the request had no effect$`)
	inner.signal(t, syscall.SIGCONT)
	outer.holdfast(t, "get", "orders.42", "--prefix", "inner").want(t, 0,
		`^(held: orders\.42 by "me", token 1, |free: orders\.42, )`)
}
