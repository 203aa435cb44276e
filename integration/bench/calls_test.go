package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/clients/holdfast"
	"github.com/holdfast-io/holdfast/messages"
)

// The load of the failover benchmarks: on each NATS server some connections with the options that an
// application has that gives none, one client on each, and workers that lock, extend and release
// resources of all shards, with a pause after each.
const (
	steadyConnections = 2
	steadyWorkers     = 4
	steadyResources   = 16
	steadyPause       = 100 * time.Millisecond
	// steadyPatience is more than any outage takes: what is measured is how long a call takes, and not
	// whether it is given up.
	steadyPatience = time.Minute
)

// call is one call of a client that has returned.
type call struct {
	op, resource string
	// at is the server to which the client was connected when it began, afterwards when it returned.
	at, afterwards string
	reconnects     uint64
	start, end     time.Time
	err            error
}

func (c call) took() time.Duration { return c.end.Sub(c.start) }

func (c call) ms() float64 { return inMillis(c.took()) }

func inMillis(d time.Duration) float64 { return 1000 * d.Seconds() }

// shard returns the shard of the resource, of that number of shards.
func (c call) shard(of uint32) uint32 {
	key, err := messages.EncodeKey(c.resource)
	if err != nil {
		panic(err) // the load names its resources itself
	}
	return messages.ShardOf(key, of)
}

// steady is a load that goes on until it is stopped.
type steady struct {
	tb      testing.TB
	halt    chan struct{}
	workers sync.WaitGroup
	clients []*holdfast.Client
	ncs     []*nats.Conn

	mu    sync.Mutex
	calls []call
}

// startSteady starts the load; the clients of each URL know no other.
func startSteady(tb testing.TB, urls []string) *steady {
	tb.Helper()
	s := &steady{tb: tb, halt: make(chan struct{})}
	for i, url := range slices.Repeat(urls, steadyConnections) {
		nc, err := nats.Connect(url)
		if err != nil {
			tb.Fatal(err)
		}
		c, err := holdfast.New(nc, holdfast.Timeout(steadyPatience))
		if err != nil {
			tb.Fatal(err)
		}
		s.ncs, s.clients = append(s.ncs, nc), append(s.clients, c)
		for w := range steadyWorkers {
			s.workers.Go(func() { s.work(c, nc, fmt.Sprintf("steady.%d.%d", i, w)) })
		}
	}
	return s
}

// stop lets every call return, and returns all of them.
func (s *steady) stop() []call {
	s.tb.Helper()
	close(s.halt)
	s.workers.Wait()
	for i, c := range s.clients {
		if err := c.Close(context.Background()); err != nil {
			s.tb.Error(err)
		}
		s.ncs[i].Close()
	}
	return s.calls
}

// work locks, extends and releases resources of its own, in turn. No other worker uses them, so every call
// has to succeed.
func (s *steady) work(c *holdfast.Client, nc *nats.Conn, resources string) {
	for i := 0; ; i++ {
		var l *holdfast.Lock
		resource := fmt.Sprintf("%s.%d", resources, i%steadyResources)
		for _, step := range []struct {
			op string
			do func(context.Context) error
		}{
			{"acquire", func(ctx context.Context) (err error) { l, err = c.TryAcquire(ctx, resource); return err }},
			{"extend", func(ctx context.Context) error { return l.Extend(ctx, holdfast.DefaultTTL) }},
			{"release", func(ctx context.Context) error { return l.Release(ctx) }},
		} {
			if s.time(nc, step.op, resource, step.do) != nil {
				break
			}
		}
		select {
		case <-s.halt:
			return
		case <-time.After(steadyPause):
		}
	}
}

func (s *steady) time(nc *nats.Conn, op, resource string, do func(context.Context) error) error {
	r := call{op: op, resource: resource, at: nc.ConnectedServerName(), start: time.Now()}
	before := nc.Stats().Reconnects
	r.err = do(context.Background())
	r.end, r.afterwards, r.reconnects = time.Now(), nc.ConnectedServerName(), nc.Stats().Reconnects-before
	if errors.Is(r.err, holdfast.ErrClosed) {
		return r.err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, r)
	return r.err
}

// longest returns the call that took the longest of those for which is is true.
func longest(calls []call, is func(call) bool) call {
	some := slices.DeleteFunc(slices.Clone(calls), func(c call) bool { return !is(c) })
	if len(some) == 0 {
		return call{}
	}
	return slices.MaxFunc(some, func(a, b call) int { return cmp.Compare(a.took(), b.took()) })
}
