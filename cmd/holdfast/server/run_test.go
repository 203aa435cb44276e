package server_test

import (
	"context"
	"log/slog"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/actors/node"
	"github.com/holdfast-io/holdfast/clients/holdfast"
	"github.com/holdfast-io/holdfast/cmd/holdfast/health"
	"github.com/holdfast-io/holdfast/cmd/holdfast/server"
	"github.com/holdfast-io/holdfast/integration/proxy"
	"github.com/holdfast-io/holdfast/integration/stand"
	"github.com/holdfast-io/holdfast/jetstream/embedded"
	"github.com/holdfast-io/holdfast/messages"
)

// program is a program that runs nodes over its own connection to NATS.
type program struct {
	*testing.T
	nc *nats.Conn
}

// running is a node of the program.
type running struct {
	health *health.Health
	end    context.CancelFunc
	ended  chan error
}

func (p program) run(name string, prefix messages.Prefix) *running {
	ctx, cancel := context.WithCancel(context.Background())
	r := &running{health: health.New(), end: cancel, ended: make(chan error, 1)}
	cfg := server.Config{NATS: &p.nc.Opts, Health: r.health, Config: node.Config{
		Name: name, Prefix: prefix, Shards: 2, Log: slog.New(slog.DiscardHandler),
	}}
	go func() { r.ended <- server.Run(ctx, cfg) }()
	p.Cleanup(func() { cancel() })
	return r
}

// ready waits until the nodes are ready.
func (p program) ready(nodes ...*running) {
	p.Helper()
	for _, r := range nodes {
		stand.Eventually(p, "the node is ready", func() bool { return r.health.Check(p.Context()) == nil })
	}
}

// stop ends the nodes one after another.
func (p program) stop(nodes ...*running) {
	p.Helper()
	for _, r := range nodes {
		r.end()
		if err := <-r.ended; err != nil {
			p.Error(err)
		}
		if err := r.health.Check(p.Context()); err == nil {
			p.Error("a node that has stopped is ready")
		}
	}
}

// A program runs two nodes of one deployment and one of another. They outlive a break of all connections, stop in order
// when their contexts end, and leave nothing behind but the connection of the program.
func TestRun(t *testing.T) {
	before := runtime.NumGoroutine()
	outside := stand.StartNATS(t, embedded.Config{})
	between := proxy.New(t, outside.ClientURL())
	var closed, disconnected atomic.Int64
	nc, err := nats.Connect(between.URL(), nats.MaxReconnects(-1), nats.ReconnectWait(10*time.Millisecond),
		nats.ClosedHandler(func(*nats.Conn) { closed.Add(1) }),
		nats.DisconnectErrHandler(func(*nats.Conn, error) { disconnected.Add(1) }))
	if err != nil {
		t.Fatal(err)
	}
	p := program{t, nc}
	one, other := p.run("n1", ""), p.run("n1", "other")
	p.ready(one, other)
	two := p.run("n2", "")
	p.ready(two)
	clients := map[string]*holdfast.Client{}
	for _, prefix := range []string{"holdfast", "other"} {
		if clients[prefix], err = holdfast.New(nc, holdfast.Prefix(prefix)); err != nil {
			t.Fatal(err)
		}
	}
	tokens := holdfast.Token(0)
	use := func() {
		t.Helper()
		tokens++
		for prefix, c := range clients {
			l, err := c.Acquire(t.Context(), "order:42")
			if err != nil {
				t.Fatal(err)
			}
			if l.Token() != tokens {
				t.Errorf("%s: token %v, want %v", prefix, l.Token(), tokens)
			}
			if err := l.Release(t.Context()); err != nil {
				t.Error(err)
			}
		}
	}
	use()
	between.Cut()
	use()
	p.ready(one, two, other)
	p.stop(one)
	use() // the other node of the deployment has taken over
	p.stop(two, other)
	for _, c := range clients {
		if err := c.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if err := nc.Flush(); err != nil {
		t.Errorf("the program's connection: %v", err)
	}
	nc.Close()
	outside.Shutdown() // which has goroutines for what the nodes store
	stand.Eventually(t, "the goroutines of the nodes are gone", func() bool {
		return runtime.NumGoroutine() <= before+1 // that of the proxy, which ends with the test
	})
	if closed, disconnected := closed.Load(), disconnected.Load(); closed != 1 || disconnected != 2 { // its break, its end
		t.Errorf("the program's connection was closed %d times, and disconnected %d times", closed, disconnected)
	}
}

// A node that cannot start says why; one that is stopped while it waits for NATS has stopped in order.
func TestRunWithoutNATS(t *testing.T) {
	var cfg server.Config
	cfg.Name, cfg.Log, cfg.NATS = "n1", slog.New(slog.DiscardHandler), &nats.Options{Url: "nats://127.0.0.1:1"}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := server.Run(ctx, cfg); err != nil {
		t.Error(err)
	}
	cfg.NATS.Url = "nats://127.0.0.1:port"
	if err := server.Run(t.Context(), cfg); err == nil {
		t.Error("a node has run without NATS")
	}
}
