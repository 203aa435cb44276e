//go:build linux

package faults_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/integration/cluster"
	"github.com/holdfast-io/holdfast/integration/register"
)

const (
	// registerTTL is short enough for leases to run out during an outage and under holders that pause
	// themselves, for up to twice as long.
	registerTTL = 2 * time.Second
	// registerWorkers are few beside the load, and more than registerCounters: some always wait.
	registerWorkers  = 12
	registerCounters = 4
)

// counting is a register that runs beside the load.
type counting struct {
	end      context.CancelFunc
	accepted atomic.Int64 // increments so far
	done     chan struct{}
	// What follows is to be read when it is done; log has all accesses.
	log    bytes.Buffer
	report register.Report
	err    error
}

// count lets workers increment counters until [counting.stop], or until ctx ends.
func (t *trial) count(ctx context.Context) *counting {
	c := &counting{done: make(chan struct{})}
	cfg := register.Config{
		Connect: t.connect, Account: t.account, Read: func() (*nats.Conn, error) { return t.cluster.Connect() },
		Dir: t.TempDir(), TTL: registerTTL, Workers: registerWorkers, Counters: registerCounters, Cached: t.former == "",
		Name: fmt.Sprintf("register.%d", t.seed), Seed: t.seed, Unguarded: t.unguarded, Log: &c.log,
		Enough: func(accepted, _ int64) bool {
			c.accepted.Store(accepted)
			return false
		},
	}
	ctx, c.end = context.WithCancel(ctx)
	go func() {
		defer close(c.done)
		c.report, c.err = register.Run(ctx, cfg)
	}()
	return c
}

// increments returns how many were accepted so far.
func (c *counting) increments() int { return int(c.accepted.Load()) }

// stop waits until the last worker has finished, and says what is wrong. It may be called twice.
func (c *counting) stop() error {
	c.end()
	<-c.done
	return c.err
}

// write writes what came of it, and every access.
func (c *counting) write(w io.Writer) error {
	err := c.stop()
	_, failed := fmt.Fprintf(w, "%v\n%v\n\n%s", c.report, err, c.log.Bytes())
	return failed
}

// Without the guard updates are lost under the same faults, so a register that loses none says something.
func loseUpdates(ctx context.Context, t *testing.T, cfg config) {
	t.Helper()
	cfg.unguarded = true
	schedule := cluster.Schedule{
		{At: 0, For: 3 * time.Second, Fault: cluster.KindPause.On("n3")},
		{At: 4 * time.Second, For: 3 * time.Second, Fault: cluster.KindKill.On("n1")},
	}
	r := run(ctx, t, &trial{config: cfg, seed: 1, schedule: func(uint64,
		*cluster.Cluster) cluster.Schedule {
		return schedule
	}})
	if ctx.Err() != nil {
		return
	}
	say("without the guard: %v\n", r)
	if r.register.Lost() <= 0 {
		t.Error("no update was lost without the guard, so there was nothing that it could have kept")
	}
}
