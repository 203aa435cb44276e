package reshard_test

import (
	"context"
	"fmt"
	"iter"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	natsjs "github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-io/holdfast/actors/node"
	"github.com/holdfast-io/holdfast/cmd/holdfast/reshard"
	"github.com/holdfast-io/holdfast/cmd/holdfast/server"
	"github.com/holdfast-io/holdfast/integration/stand"
	"github.com/holdfast-io/holdfast/jetstream/embedded"
	"github.com/holdfast-io/holdfast/messages"
)

// patience bounds every wait. It measures nothing.
const patience = time.Minute

// deployment is nodes in this process.
type deployment struct {
	testing.TB
	nats *stand.NATS
	logs *stand.Lines
	mu   sync.Mutex
	// nodes are those that run, by name.
	nodes map[string]*server.Server
}

// deploy starts nodes n1 and so on of a deployment with so many shards.
func deploy(tb testing.TB, nodes int, shards uint32) *deployment {
	tb.Helper()
	d := &deployment{TB: tb, logs: &stand.Lines{}, nodes: make(map[string]*server.Server)}
	d.nats = stand.StartNATS(tb, embedded.Config{Log: slog.New(slog.DiscardHandler)})
	tb.Cleanup(func() {
		if tb.Failed() {
			tb.Log(d.logs.String())
		}
		for _, s := range d.nodes {
			if err := s.Stop(); err != nil {
				tb.Error(err)
			}
		}
	})
	for i := range nodes {
		d.start(fmt.Sprint("n", i+1), shards)
	}
	return d
}

func (d *deployment) log(name string) *slog.Logger {
	return slog.New(slog.NewTextHandler(d.logs, nil)).With("at", name)
}

func (d *deployment) start(name string, shards uint32) {
	d.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	s, err := server.Start(ctx, server.Config{
		Config:    node.Config{Name: name, Shards: shards, Log: d.log(name)},
		Retention: time.Hour, NATS: &nats.Options{Url: d.nats.ClientURL()}, StopTimeout: patience,
	})
	if err != nil {
		d.Fatal(err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.nodes[name] = s
}

// stop ends a node as SIGTERM does.
func (d *deployment) stop(name string) {
	d.Helper()
	d.mu.Lock()
	s := d.nodes[name]
	delete(d.nodes, name)
	d.mu.Unlock()
	if err := s.Stop(); err != nil {
		d.Error(err)
	}
}

// crash ends a node as the death of its process would.
func (d *deployment) crash(name string) {
	d.Helper()
	d.mu.Lock()
	s := d.nodes[name]
	delete(d.nodes, name)
	d.mu.Unlock()
	s.CrashNode()
	_ = s.Stop() // its connections are gone
}

func (d *deployment) connect() *nats.Conn {
	d.Helper()
	return stand.Dial(d, d.nats.ClientURL())
}

// reshard changes the number of shards.
func (d *deployment) reshard(shards uint32, step func(reshard.Step) error) (*reshard.Result, error) {
	d.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	nc := d.connect()
	defer nc.Close()
	return reshard.Run(ctx, reshard.Config{
		Conn: nc, Prefix: messages.DefaultPrefix, Shards: shards, Log: d.log("reshard"), Step: func(s reshard.Step) error {
			d.log("reshard").Info("step", "done", s)
			if step == nil {
				return nil
			}
			return step(s)
		},
	})
}

func (d *deployment) mustReshard(shards uint32) *reshard.Result {
	d.Helper()
	r, err := d.reshard(shards, nil)
	if err != nil {
		d.Fatal(err)
	}
	if !r.Open {
		d.Error("not all shards are open")
	}
	return r
}

// info asks any node.
func (d *deployment) info(nc *nats.Conn) *messages.Info {
	d.Helper()
	m, err := nc.Request(messages.DefaultPrefix.Info(), nil, patience)
	if err != nil {
		d.Fatal(err)
	}
	var i messages.Info
	if err := messages.DecodeReply(messages.JSON, m.Data, &i); err != nil {
		d.Fatal(err)
	}
	return &i
}

// settled waits until each shard has one owner.
func (d *deployment) settled(nc *nats.Conn) messages.Shards {
	d.Helper()
	var is messages.Shards
	stand.Eventually(d, "each shard has an owner", func() bool {
		i := d.info(nc)
		owned := 0
		for _, n := range i.GetNodes() {
			owned += len(n.GetShards())
		}
		is = messages.ShardsOf(i)
		return owned == int(i.GetShards())
	})
	return is
}

// stream iterates over the names of all streams.
func stream(d *deployment) iter.Seq[string] {
	return func(yield func(string) bool) {
		names := stand.Value(natsjs.New(d.connect()))(d).StreamNames(d.Context())
		for name := range names.Name() {
			if !yield(name) {
				return
			}
		}
		stand.Must(d, names.Err())
	}
}
