package simulation

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/actors"
	"github.com/holdfast-io/holdfast/actors/node"
	"github.com/holdfast-io/holdfast/actors/node/identity"
	"github.com/holdfast-io/holdfast/integration/simulation/simnats"
	"github.com/holdfast-io/holdfast/jetstream"
	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/journal"
)

// Deployment is nodes on a network. A node runs until it is stopped or killed.
type Deployment struct {
	Network *simnats.Network
	// Servers are the names of the NATS servers.
	Servers []string
	// Shards is how many buckets there are, Replicas how many servers have each of them.
	Shards   uint32
	Replicas int
	Log      *slog.Logger
	// Tuning and Capacity are those of each node.
	Tuning   actors.Tuning
	Capacity node.Capacity
	// Tenants and Identity are those of each node; with tenants it logs in to the account of the nodes.
	Tenants  map[string]node.TenantLimits
	Identity identity.Mode
	// Clock returns the clock of a node's machine; nil: all have the true time.
	Clock func(node int) actors.Clock
	// Replaying is called with each record that a node replays; nil: nothing is.
	Replaying func(node int)
	// nodes are those that run, by their names. One thing at a time starts and stops nodes.
	nodes map[string]*process
}

// process is a node with its connections.
type process struct {
	node  *node.Node
	conns []*nats.Conn
}

// connect returns a connection of a process, which begins with a server of its own and never gives up.
func (d *Deployment) connect(process string, first int, opts ...nats.Option) (*nats.Conn, error) {
	var servers []string
	for i := range d.Servers {
		servers = append(servers, d.Servers[(first+i)%len(d.Servers)])
	}
	return nats.Connect("", append([]nats.Option{
		nats.InProcessServer(d.Network.Dialer(process, servers...)), nats.MaxReconnects(-1),
		nats.ReconnectWait(20 * time.Millisecond), nats.ReconnectJitter(0, 0), nats.ReconnectBufSize(-1),
		nats.RetryOnFailedConnect(true), nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}),
	}, opts...)...)
}

// storageOf is what the network calls the connection of a node that its storage has for itself.
func storageOf(node string) string { return node + ".storage" }

// replayed is the journal of a node whose replays are observed.
type replayed struct {
	actors.Journal
	replaying func(node int)
	node      int
}

// Replay implements actors.Journal.
func (r replayed) Replay(
	ctx context.Context, after uint64, apply func(position uint64, r *journal.Record) error,
) (last uint64, err error) {
	return r.Journal.Replay(ctx, after, func(position uint64, record *journal.Record) error {
		if r.replaying != nil {
			r.replaying(r.node)
		}
		return apply(position, record)
	})
}

// StartNode starts a node beside the NATS server of the same number. One that runs stays so.
func (d *Deployment) StartNode(ctx context.Context, i int) error {
	name := fmt.Sprint("n", i)
	if d.nodes[name] != nil {
		return nil
	}
	p := &process{}
	var failed error
	connect := func(process string, opts ...nats.Option) *nats.Conn {
		nc, err := d.connect(process, i, append(opts, d.login())...)
		if err != nil {
			failed = err
			return nil
		}
		p.conns = append(p.conns, nc)
		return nc
	}
	storage := connect(storageOf(name))
	if failed != nil {
		return failed
	}
	b, err := jetstream.OpenDeployment(ctx, storage, jetstream.DeploymentConfig{
		Prefix: messages.DefaultPrefix, Shards: d.Shards, Replicas: d.Replicas, Log: d.Log.With("at", name),
	})
	if err != nil {
		p.cut()
		return err
	}
	journals := func(b *jetstream.Deployment) *node.Journals {
		return &node.Journals{
			Journal: func(shard uint32) actors.Journal { return replayed{b.Bucket(shard), d.Replaying, i} },
			Tuning:  d.Tuning.WithDefaults(), Try: b.Try, Use: func() {},
		}
	}
	clock := actors.SystemClock()
	if d.Clock != nil {
		clock = d.Clock(i)
	}
	cfg := node.Config{
		Name: name, Version: "1.0.0", Prefix: messages.DefaultPrefix, Shards: b.Shards(),
		Generation: b.Divided().Generation, Register: b.Register(),
		Open: func(ctx context.Context, of messages.Shards) (*node.Journals, error) {
			next, err := b.Open(ctx, of)
			if err != nil {
				return nil, err
			}
			return journals(next), nil
		},
		Limits: messages.DefaultLimits(), Tuning: d.Tuning, Capacity: d.Capacity,
		Tenants: d.Tenants, Identity: d.Identity,
		Journal: journals(b).Journal, Clock: clock,
		Intake: connect(name), Outbox: connect(name), Events: connect(name, nats.NoEcho()), Peers: connect(name),
		Log: d.Log.With("at", name),
	}
	if p.node, err = node.Start(ctx, cfg); err != nil {
		p.cut()
		return err
	}
	if d.nodes == nil {
		d.nodes = make(map[string]*process)
	}
	d.nodes[name] = p
	return nil
}

// login is how nodes log in.
func (d *Deployment) login() nats.Option {
	if d.Tenants == nil {
		return nil
	}
	return login(userOf(nodesAccount))
}

// StopNode stops a node as SIGTERM does. One that does not run stays so.
func (d *Deployment) StopNode(ctx context.Context, i int) error {
	name := fmt.Sprint("n", i)
	p := d.nodes[name]
	if p == nil {
		return nil
	}
	delete(d.nodes, name)
	err := p.node.Close(ctx)
	p.cut()
	return err
}

// KillNode ends a node as SIGKILL does, as far as NATS can see: its connections are gone at once. One that does not run
// stays so.
func (d *Deployment) KillNode(i int) {
	name := fmt.Sprint("n", i)
	p := d.nodes[name]
	if p == nil {
		return
	}
	delete(d.nodes, name)
	p.cut()
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = p.node.Close(ctx) // nothing of it reaches anybody
}

func (p *process) cut() {
	for _, nc := range p.conns {
		nc.Close()
	}
}
