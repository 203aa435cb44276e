package nodes

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/actors"
	"github.com/holdfast-io/holdfast/actors/node"
	"github.com/holdfast-io/holdfast/integration/stand"
	"github.com/holdfast-io/holdfast/jetstream"
	"github.com/holdfast-io/holdfast/jetstream/embedded"
	"github.com/holdfast-io/holdfast/messages"
)

const (
	// patience bounds every wait. Nothing is measured by it.
	patience = time.Minute
	shards   = 8
)

// fleet is a NATS server and the nodes on it.
type fleet struct {
	testing.TB
	server *stand.NATS
	nodes  map[string]*process
	logs   *logs
	// login is how nodes log in; nil if they need not.
	login nats.Option
}

// process is a node with the connections that its process would have.
type process struct {
	*node.Node
	name  string
	conns []*nats.Conn
}

// logs keeps what nodes log. Libraries have timers that log when the test is over, so it is no log of the
// test's; a test that fails shows it at its end.
type logs struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *logs) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logs) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func (l *logs) count(words string) int { return strings.Count(l.String(), words) }

// newLogged is a fleet without a server.
func newLogged(tb testing.TB) *fleet {
	tb.Helper()
	f := &fleet{TB: tb, nodes: make(map[string]*process), logs: &logs{}}
	tb.Cleanup(func() {
		if tb.Failed() {
			tb.Logf("the log of the server and the nodes:\n%s", f.logs)
		}
	})
	return f
}

func newFleet(tb testing.TB) *fleet {
	tb.Helper()
	f := newLogged(tb)
	f.server = stand.StartNATS(tb, embedded.Config{Log: f.log("nats")})
	return f
}

func (f *fleet) log(name string) *slog.Logger {
	return slog.New(slog.NewTextHandler(f.logs, &slog.HandlerOptions{Level: slog.LevelDebug})).With("at", name)
}

// startAll starts nodes, and waits until they have divided the shards.
func (f *fleet) startAll(names ...string) {
	f.Helper()
	for _, name := range names {
		f.start(name)
	}
	f.settled()
}

// start starts a node, which ends with the test.
func (f *fleet) start(name string, change ...func(*node.Config)) *process {
	f.Helper()
	p, err := f.try(name, change...)
	if err != nil {
		f.Fatal(err)
	}
	f.nodes[name] = p
	return p
}

func (f *fleet) try(name string, change ...func(*node.Config)) (*process, error) {
	f.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	p := &process{name: name}
	connect := func(opts ...nats.Option) *nats.Conn {
		if f.login != nil {
			opts = append(opts, f.login)
		}
		nc := f.server.Connect(f, opts...)
		p.conns = append(p.conns, nc)
		return nc
	}
	d, err := jetstream.OpenDeployment(ctx, connect(),
		jetstream.DeploymentConfig{Prefix: messages.DefaultPrefix, Shards: shards, Log: f.log(name)})
	if err != nil {
		f.Fatal(err)
	}
	cfg := node.Config{
		Name: name, Version: "1.0.0", Prefix: messages.DefaultPrefix, Shards: shards, Limits: messages.DefaultLimits(),
		Journal: func(shard uint32) actors.Journal { return d.Bucket(shard) }, Clock: actors.SystemClock(),
		Intake: connect(), Outbox: connect(), Events: connect(nats.NoEcho()), Peers: connect(), Log: f.log(name),
	}
	for _, c := range change {
		c(&cfg)
	}
	p.Node, err = node.Start(ctx, cfg)
	if err != nil {
		p.cut()
		return nil, err
	}
	f.Cleanup(func() { f.stop(p) })
	return p, nil
}

// stop ends a node as SIGTERM does. It may be called twice.
func (f *fleet) stop(p *process) {
	f.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := p.Close(ctx); err != nil && f.nodes[p.name] == p {
		f.Error(err)
	}
	if f.nodes[p.name] == p {
		delete(f.nodes, p.name)
	}
	p.cut()
}

// kill ends a node as SIGKILL does, as far as NATS can see: its connections are gone at once. It waits until NATS has
// noticed, since until then a request may go to the dead node and is lost.
func (f *fleet) kill(p *process) {
	f.Helper()
	delete(f.nodes, p.name)
	var ends []string
	for _, nc := range p.conns {
		end := nats.NewInbox()
		if _, err := nc.Subscribe(end, func(*nats.Msg) {}); err != nil {
			f.Fatal(err)
		}
		if err := nc.Flush(); err != nil {
			f.Fatal(err)
		}
		ends = append(ends, end)
	}
	p.cut()
	nc := f.connect()
	for _, end := range ends {
		stand.WaitNoResponders(f, nc, end)
	}
}

func (p *process) cut() {
	for _, nc := range p.conns {
		nc.Close()
	}
}

func (f *fleet) connect() *nats.Conn {
	f.Helper()
	return stand.Dial(f, f.server.ClientURL())
}

// info asks any node.
func (f *fleet) info(nc *nats.Conn) *messages.Info {
	f.Helper()
	m, err := nc.Request(messages.DefaultPrefix.Info(), nil, patience)
	if err != nil {
		f.Fatal(err)
	}
	var i messages.Info
	if err := messages.DecodeReply(messages.JSON, m.Data, &i); err != nil {
		f.Fatal(err)
	}
	return &i
}

// settled waits until each shard has one owner and the load is fair, as all running nodes see it.
func (f *fleet) settled() {
	f.Helper()
	nc, agreed := f.connect(), 0
	stand.Eventually(f, "the nodes settle", func() bool {
		if agreed++; !f.fair(f.info(nc)) {
			agreed = 0
		}
		return agreed == 4*len(f.nodes) // each answer is any node's
	})
}

func (f *fleet) fair(i *messages.Info) bool {
	var all []uint32
	running := 0
	for _, n := range i.GetNodes() {
		if f.nodes[n.GetName()] == nil {
			if len(n.GetShards()) > 0 {
				return false
			}
			continue
		}
		running++
		most := (shards + len(f.nodes) - 1) / len(f.nodes)
		if len(n.GetShards()) < shards/len(f.nodes) || len(n.GetShards()) > most {
			return false
		}
		all = append(all, n.GetShards()...)
	}
	slices.Sort(all)
	return running == len(f.nodes) && len(all) == shards && len(slices.Compact(all)) == shards
}

// owner returns the node that owns a resource.
func (f *fleet) owner(resource string) *process {
	f.Helper()
	key, err := messages.EncodeKey(resource)
	if err != nil {
		f.Fatal(err)
	}
	for _, n := range f.info(f.connect()).GetNodes() {
		if slices.Contains(n.GetShards(), messages.ShardOf(key, shards)) {
			return f.nodes[n.GetName()]
		}
	}
	f.Fatalf("no node owns %s", resource)
	return nil
}

func (f *fleet) context() context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	f.Cleanup(cancel)
	return ctx
}
