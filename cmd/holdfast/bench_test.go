package main_test

import (
	"encoding/json"
	"strings"
	"syscall"
	"testing"
)

// benchResult is what bench prints with --json, as far as the tests read it.
type benchResult struct {
	Clients, Connections, Resources int
	Pairs                           int64
	Rate                            float64
	Acquire, Release                struct {
		Count int64
		P50   float64 `json:"p50_ms"`
		P99   float64 `json:"p99_ms"`
		P999  float64 `json:"p999_ms"`
		Max   float64 `json:"max_ms"`
	}
	Failures []struct {
		Operation, Code string
		Count           uint64
	}
}

// benchOf decodes the result of a command that has succeeded.
func benchOf(t *testing.T, r result) (b benchResult) {
	t.Helper()
	if err := json.Unmarshal([]byte(r.stdout), &b); err != nil || r.code != 0 || strings.Count(r.stdout, "\n") != 1 {
		t.Fatalf("%q: %v, exit code %d\nstdout: %s\nstderr: %s", r.args, err, r.code, r.stdout, r.stderr)
	}
	return b
}

// benchUntil interrupts a bench when the journal has so many changes of its resources.
func benchUntil(t *testing.T, p *process, changes string, args ...string) result {
	t.Helper()
	args = append([]string{"bench", "--server", p.url, "--duration", "24h"}, args...)
	b := start(t, args...)
	p.holdfast(t, "watch", "bench.*", "--since", "1h", "--count", changes)
	b.signal(t, syscall.SIGINT)
	return result{args, b.wait(t).ExitCode(), b.out.String(), b.log.String()}
}

// An interrupted bench prints what it has measured, and leaves no lock behind.
func TestBenchInterrupted(t *testing.T) {
	t.Parallel()
	p := serve(t)
	b := benchOf(t, benchUntil(t, p, "100", "--clients", "8", "--connections", "2", "--json"))
	if a := b.Acquire; b.Clients != 8 || b.Connections != 2 || b.Resources != 1000 || b.Pairs == 0 ||
		b.Pairs != b.Release.Count || b.Rate <= 0 ||
		a.Count == 0 || a.P50 <= 0 || a.P99 < a.P50 || a.P999 < a.P99 || a.Max < a.P999 || b.Failures == nil ||
		len(b.Failures) > 0 {
		t.Errorf("%+v", b)
	}
	p.holdfast(t, "ls").want(t, 0, `^no locks are held$`)
}

func TestBench(t *testing.T) {
	t.Parallel()
	p := serve(t)
	p.holdfast(t, "bench", "--duration", "300ms", "--clients", "3", "--resources", "7", "--names",
		"my bench ").wantBoth(t, 0,
		`^\d+ pairs of acquire and release in \S+: \d+/s, with 3 clients on 3 connections and 7 resources\n\n`+
			`OPERATION +COUNT +P50 +P99 +P99\.9 +MAX\nacquire +\d+( +\d+\.\d\dms){4}\nrelease +\d+( +\d+\.\d\dms){4}\n$`, `^$`)
	if r := p.holdfast(t, "get", "my bench 0"); !strings.HasPrefix(r.stdout, `free: "my bench 0", last token `) {
		t.Errorf("a resource of the bench: %+v", r)
	}
}

// What the node refuses is counted by the code of its answer.
func TestBenchOfAnOverloadedNode(t *testing.T) {
	t.Parallel()
	b := benchOf(t, benchUntil(t, serve(t, "--max-rate", "20"), "60", "--json"))
	refused := false
	for _, f := range b.Failures {
		refused = refused || f.Code == "OVERLOADED" && f.Operation == "acquire" && f.Count > 0
	}
	if !refused || b.Pairs == 0 {
		t.Errorf("%+v", b)
	}
}

func TestBenchThatCannotRun(t *testing.T) {
	t.Parallel()
	run(t, "bench", "--server", "nats://127.0.0.1:1", "--timeout", "100ms").want(t, 5,
		`^holdfast: no NATS server answers at nats://127\.0\.0\.1:1;`)
	run(t, "bench", "--clients", "9", "--resources", "8").want(t, 2,
		`^holdfast: --resources: at least one per client, got 8 for 9 clients$`)
	run(t, "bench", "--names", "a\nb").want(t, 2, `^holdfast: --names: .* got "a\\nb"$`)
	run(t, "bench", "orders.42").want(t, 2, `^holdfast: holdfast bench takes no arguments`)
	p := serve(t, "--max-ttl", "1m")
	p.holdfast(t, "bench", "--prefix", "other").want(t, 5,
		`^holdfast: no Holdfast node with the prefix "other" answers at nats://.*: other\.info has no subscriber;`)
	p.holdfast(t, "bench", "--ttl", "2m").want(t, 2, `^holdfast: invalid: --ttl: 100ms to 1m, got "2m"$`)
	p.holdfast(t, "acquire", "bench.0", "--owner", "me").want(t, 0, `token 1`)
	p.holdfast(t, "bench").want(t, 3,
		`^holdfast: bench\.0 is held by "me"; if another bench runs, choose other --names$`)
}
