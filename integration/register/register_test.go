package register_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/clients/holdfast"
	"github.com/holdfast-io/holdfast/integration/register"
	"github.com/holdfast-io/holdfast/integration/stand"
)

// workerEnv is the worker that this process is to be, as JSON; natsEnv is where the service is.
const (
	workerEnv = "HOLDFAST_TEST_WORKER"
	natsEnv   = "HOLDFAST_TEST_NATS"
)

// TestMain lets the test binary play the workers that tests stop.
func TestMain(m *testing.M) {
	if worker := os.Getenv(workerEnv); worker != "" {
		if err := play(worker); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(stand.Main(m))
}

// play is a worker until its standard input ends.
func play(worker string) error {
	var w register.Worker
	if err := json.Unmarshal([]byte(worker), &w); err != nil {
		return err
	}
	w.Connect = func() (*nats.Conn, error) { return nats.Connect(os.Getenv(natsEnv), nats.MaxReconnects(-1)) }
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	counts, err := w.Work(ctx)
	return errors.Join(err, json.NewEncoder(os.Stdout).Encode(counts))
}

// startNode starts a lock node with its server, in a process that can be killed and started again.
func startNode(t *testing.T) *stand.Member {
	t.Helper()
	return stand.StartAlone(t, "--shards", "4", "--log-level", "error", "--history", "10000000")
}

func config(t *testing.T, url, name string) register.Config {
	t.Helper()
	return register.Config{
		Connect: func() (*nats.Conn, error) { return nats.Connect(url, nats.MaxReconnects(-1)) },
		Dir:     t.TempDir(), TTL: 200 * time.Millisecond, Name: name, Seed: 1,
	}
}

const (
	// length of a run, and of what comes before and behind a crash.
	length = 4 * time.Second
	// bound is how long a run may go on in which too little has happened to prove anything.
	bound = time.Minute
)

// after returns what is enough: time, writes, and stale writes that were refused.
func after(d time.Duration, accepted, stale int64) func(int64, int64) bool {
	begun := time.Now()
	return func(a, s int64) bool { return time.Since(begun) >= d && a >= accepted && s >= stale }
}

// The guard lets nothing by, also when the node is killed and started again.
func TestGuardedRegister(t *testing.T) {
	n := startNode(t)
	ctx, cancel := context.WithTimeout(t.Context(), bound)
	defer cancel()
	cfg := config(t, n.URL, "guarded")
	cfg.Enough = after(2*length, 50, 5)
	type result struct {
		register.Report
		error
	}
	done := make(chan result)
	go func() {
		report, err := register.Run(ctx, cfg)
		done <- result{report, err}
	}()
	<-time.After(length)
	n.Kill()
	n.Restart()
	before := token(t, n.URL, "guarded.0")
	got := <-done
	t.Log(got.Report)
	if got.error != nil {
		t.Fatal(got.error)
	}
	after := token(t, n.URL, "guarded.0")
	if got.Acknowledged < 50 || got.StaleWrites < 5 || before == 0 || after < before+5 {
		t.Errorf("too little happened to prove anything; %d grants before the crash, %d in all", before, after)
	}
}

// token returns the last one of a lock.
func token(t *testing.T, url, resource string) holdfast.Token {
	t.Helper()
	state, err := stand.Client(t, stand.Dial(t, url)).Get(t.Context(), resource)
	if err != nil {
		t.Fatal(err)
	}
	return state.Token
}

// Without a guard the same workers lose updates, so the other test can fail.
func TestUnguardedRegisterLosesUpdates(t *testing.T) {
	n := startNode(t)
	ctx, cancel := context.WithTimeout(t.Context(), length)
	defer cancel()
	cfg := config(t, n.URL, "unguarded")
	cfg.Unguarded = true
	report, err := register.Run(ctx, cfg)
	t.Log(report)
	if err != nil {
		t.Fatal(err)
	}
	if report.Lost() == 0 {
		t.Error("nothing was lost, so there was nothing that a guard could have kept")
	}
}

// Workers in processes of their own renew their locks until they are stopped, and do not know it when
// they go on.
func TestGuardedRegisterStopped(t *testing.T) {
	n := startNode(t)
	ctx, cancel := context.WithTimeout(t.Context(), bound)
	defer cancel()
	cfg := config(t, n.URL, "stopped")
	cfg.Enough = after(length, 20, 3)
	cfg.Spawn = func(w register.Worker) (*exec.Cmd, error) {
		worker, err := json.Marshal(w)
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), workerEnv+"="+string(worker), natsEnv+"="+n.URL)
		cmd.Stderr = os.Stderr
		return cmd, err
	}
	report, err := register.Run(ctx, cfg)
	t.Log(report)
	if err != nil {
		t.Fatal(err)
	}
	if report.Acknowledged < 20 || report.Pauses < 10 || report.StaleWrites < 3 {
		t.Error("too little happened to prove anything")
	}
}
