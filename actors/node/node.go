package node

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"golang.org/x/time/rate"

	"github.com/holdfast-io/holdfast/actors"
	"github.com/holdfast-io/holdfast/messages"
)

// Config is what a node is made of. Every field must be set but Tuning, Capacity, and those
// of events and of other nodes.
type Config struct {
	// Name tells the node from others, to people and in the journals.
	Name    string
	Version string
	Prefix  messages.Prefix
	// Shards is how many the deployment has.
	Shards uint32
	Limits *messages.Limits
	Tuning actors.Tuning
	// Capacity bounds what the node takes on.
	Capacity Capacity
	// Journal returns a shard's bucket.
	Journal func(shard uint32) actors.Journal
	Clock   actors.Clock
	// Intake is the connection on which requests come in, Outbox the one on which answers leave.
	// They are two so that the latter can do with the right to publish to inboxes. The node takes
	// both over and closes them.
	Intake, Outbox *nats.Conn
	// Events is the connection on which events are published, by itself so that a slow subscriber
	// holds up nothing else; nil to publish none. It is best made with nats.NoEcho, which keeps the
	// node's own events from it. The node takes it over and closes it.
	Events *nats.Conn
	// Retainer stores events before they are published to those who are subscribed; nil if they are not
	// stored. It needs Events.
	Retainer actors.Publisher
	// Peers is the connection on which nodes speak to one another; nil for a node that is alone and owns
	// every shard. Its user must be allowed to publish and to subscribe to Prefix.Nodes(), and nobody else
	// should be. The node takes it over and closes it.
	Peers *nats.Conn
	// First says that no other node can own a shard yet, as with a NATS server that has just been
	// started: the node does not listen for others before it begins.
	First bool
	// Leads reports whether the NATS server of this process leads the bucket of a shard, for which the
	// node is preferred then; nil if there is none. It must not block.
	Leads func(shard uint32) bool
	// Cede moves the leadership of a shard's bucket from the NATS server of this process to that of another
	// node, to which the shard is handed over; nil if there is none. It returns soon.
	Cede func(ctx context.Context, shard uint32, node string) error
	// Fault returns what keeps the NATS server of this process from storing; refusals name such a fault. It must
	// not block. nil: NATS is elsewhere.
	Fault func() error
	Log   *slog.Logger
}

// Node is a running lock node. It is safe for concurrent use.
type Node struct {
	cfg    Config
	system *actors.System
	// posts are where the requests for each shard go.
	posts  []*post
	peers  *peers
	warden *warden // nil if the node is alone
	// stopWarden ends the warden whatever it is doing.
	stopWarden context.CancelFunc
	service    *service
	outbox     *outbox
	drops      drops
	gate       *gate
	past       past
	// doorLog is once a second.
	doorLog *rate.Sometimes

	mu         sync.Mutex
	directSubs map[uint32]*nats.Subscription
	// intakes are the subscriptions on which requests come in; unreadBefore counts what was lost on those
	// that are no more.
	intakes      map[*nats.Subscription]bool
	unreadBefore uint64

	closing sync.Once
	lost    chan struct{}
	once    sync.Once
}

// Start starts a node. It returns when every shard has been tried and the doors are open. A shard
// that could not be opened is logged and tried again, while the others serve.
func Start(ctx context.Context, cfg Config) (*Node, error) {
	cfg.Tuning = cfg.Tuning.WithDefaults()
	n := &Node{
		cfg:    cfg,
		system: actors.NewSystem(cfg.Log),
		outbox: newOutbox(cfg.Outbox, cfg.Log),
		drops:  newDrops(cfg.Log),
		gate:   newGate(cfg.Capacity),
		lost:   make(chan struct{}),

		directSubs: make(map[uint32]*nats.Subscription), intakes: make(map[*nats.Subscription]bool),
		doorLog: onceASecond(),
	}
	n.service = newService(n)
	// A request that waits for an owner is small, and all shards may lack one at the same time.
	room := min(cfg.Tuning.MaxPending, max(4*int(n.gate.capacity.Pending)/int(cfg.Shards), 100))
	for shard := range cfg.Shards {
		n.posts = append(n.posts, &post{carrier: n, shard: shard, room: room})
	}
	for _, nc := range n.connections() {
		nc.SetClosedHandler(func(*nats.Conn) { n.lose() })
	}
	if err := n.start(ctx); err != nil {
		return nil, errors.Join(err, n.Close(context.WithoutCancel(ctx)))
	}
	return n, nil
}

// connections are those that the node lives on.
func (n *Node) connections() []*nats.Conn {
	all := []*nats.Conn{n.cfg.Intake, n.cfg.Outbox}
	if n.cfg.Events != nil {
		all = append(all, n.cfg.Events)
	}
	if n.cfg.Peers != nil {
		all = append(all, n.cfg.Peers)
	}
	return all
}

// publisher is how events leave, nil if they do not.
func (n *Node) publisher() actors.Publisher {
	if n.cfg.Events == nil {
		return nil
	}
	return &events{nc: n.cfg.Events, prefix: n.cfg.Prefix, retainer: n.cfg.Retainer}
}

// flushTimeout bounds how long NATS may take to know the node's subscriptions.
const flushTimeout = 10 * time.Second

// Lost is closed when nothing is served any more: a connection of the node has been closed for good, by
// Close or because NATS refuses it, or the node must not stay, as Err says.
func (n *Node) Lost() <-chan struct{} { return n.lost }

// Err returns why the node must not stay, as [ErrName]; nil if that is not so.
func (n *Node) Err() error {
	if n.warden == nil {
		return nil
	}
	select {
	case <-n.warden.over:
		return n.warden.failed
	default:
		return nil
	}
}

func (n *Node) lose() { n.once.Do(func() { close(n.lost) }) }

func (n *Node) start(ctx context.Context) error {
	if err := n.takePart(ctx); err != nil {
		return err
	}
	for _, s := range n.shards() {
		if err := s.Opened(ctx); err != nil && ctx.Err() != nil {
			return err
		}
	}
	if err := n.openDoors(); err != nil {
		return fmt.Errorf("open the doors: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, flushTimeout)
	defer cancel()
	for _, nc := range n.connections() {
		if err := nc.FlushWithContext(ctx); err != nil {
			return err
		}
	}
	return nil
}

// takePart begins to open those shards that are the node's.
func (n *Node) takePart(ctx context.Context) error {
	if n.cfg.Peers != nil {
		return n.join(ctx)
	}
	for shard, p := range n.posts {
		p.lead(n.system.StartShard(n.shardConfig(uint32(shard))), 0)
		if !n.direct(uint32(shard), true) {
			return fmt.Errorf("shard %d: its direct door cannot be opened", shard)
		}
	}
	return nil
}

func (n *Node) shardConfig(shard uint32) actors.ShardConfig {
	return actors.ShardConfig{
		Shard: shard, Node: n.cfg.Name, Journal: n.cfg.Journal(shard), Clock: n.cfg.Clock,
		Outbox: n.outbox, Publisher: n.publisher(), Log: n.cfg.Log, Tuning: n.cfg.Tuning, Quota: n.gate.quota,
		Fault: n.cfg.Fault,
	}
}

// shards are those that the node has.
func (n *Node) shards() []*actors.Shard {
	var all []*actors.Shard
	for _, p := range n.posts {
		if s := p.shardHere(); s != nil {
			all = append(all, s)
		}
	}
	return all
}

// Owns reports whether the node owns a shard, as far as it knows. It is quick.
func (n *Node) Owns(shard uint32) bool { return n.posts[shard].shardHere() != nil }

// Close hands all shards over to other nodes if there are any, lets the requests on their way be answered,
// takes no more, and closes shards and connections. What is not done when ctx ends is left undone.
func (n *Node) Close(ctx context.Context) error {
	var err error
	n.closing.Do(func() { err = n.close(ctx) })
	return err
}

func (n *Node) close(ctx context.Context) error {
	n.leave(ctx)
	errs := []error{drain(ctx, n.cfg.Intake)}
	shards := n.shards()
	if n.warden != nil {
		shards = n.warden.shards()
	}
	results := make(chan error, len(shards))
	for _, s := range shards {
		go func() { results <- s.Close(ctx) }()
	}
	for range shards {
		errs = append(errs, <-results)
	}
	if n.cfg.Peers != nil {
		if n.peers != nil {
			errs = append(errs, n.peers.letters.close(ctx))
		}
		errs = append(errs, drain(ctx, n.cfg.Peers))
	}
	for _, p := range n.posts {
		p.expire(0)
	}
	errs = append(errs, n.outbox.close(ctx))
	for _, nc := range n.connections()[1:] {
		errs = append(errs, drain(ctx, nc))
	}
	n.system.Close()
	return errors.Join(errs...)
}

// drain closes a connection when what it has received is handled and what it has to send is sent.
func drain(ctx context.Context, nc *nats.Conn) error {
	defer nc.Close()
	closed := nc.StatusChanged(nats.CLOSED)
	if err := nc.Drain(); err != nil {
		return nil //nolint:nilerr // it is closed already, or has no server to send anything to
	}
	select {
	case <-closed:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("drain %s: %w", nc.Opts.Name, context.Cause(ctx))
	}
}
