package node

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/actors"
	"github.com/holdfast-io/holdfast/actors/node/assignment"
	"github.com/holdfast-io/holdfast/actors/node/identity"
	"github.com/holdfast-io/holdfast/actors/node/service"
	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/peer"
)

// ErrName says that another process has the node's name.
var ErrName = assignment.ErrName

// flushTimeout bounds how long NATS may take to know the node's subscriptions.
const flushTimeout = 10 * time.Second

// Node is a running lock node. It is safe for concurrent use.
type Node struct {
	cfg        Config
	system     *actors.System
	present    *present
	transport  *transport
	outbox     *outbox
	admission  *admission
	intake     *intake
	lister     *lister
	service    *service.Service
	endpoints  *endpoints
	statistics *statistics
	// peers are the other nodes, and controller decides which shards are this node's; both are nil if it is alone.
	peers      *peers
	controller *assignment.Controller
	// follower follows the register of generations; nil if the number of shards never changes.
	follower *follower

	closing sync.Once
	lost    chan struct{}
	once    sync.Once
}

// Start starts a node. It returns when the node has tried to open each of its shards and listens for requests. A
// shard that could not be opened is logged and tried again, while the others serve.
func Start(ctx context.Context, cfg Config) (*Node, error) {
	cfg.Tuning = cfg.Tuning.WithDefaults()
	former, err := formerOf(ctx, cfg)
	if err != nil {
		return nil, err
	}
	n := newNode(cfg, former)
	for _, nc := range cfg.connections() {
		nc.SetClosedHandler(func(*nats.Conn) { n.lose() })
	}
	if err := n.start(ctx); err != nil {
		return nil, errors.Join(err, n.Close(context.WithoutCancel(ctx)))
	}
	return n, nil
}

// newNode connects the parts of a node; nothing is subscribed to yet.
func newNode(cfg Config, former []messages.Shards) *Node {
	traces := &traces{clock: cfg.Clock, tracer: cfg.Tracer}
	g := newGate(cfg.Capacity)
	tenants := newTenants(cfg, g)
	o := newOutbox(cfg.Outbox, cfg.Log, newAnswers(cfg.Clock, cfg.Observer), traces, tenants)
	verifier := identity.New(cfg.Identity)
	p := new(present)
	t := &transport{cfg: cfg, present: p, gate: g, outbox: o, traces: traces, tenants: tenants, verifier: verifier}
	if cfg.Peers != nil {
		t.peers = newPeers(cfg.Peers, cfg.Prefix, cfg.Clock, cfg.Log, traces, t.notSent)
	}
	p.Store(t.divide(messages.Shards{Generation: cfg.Generation, Count: cfg.Shards}, former))
	o.generation.Store(cfg.Generation)
	n := &Node{
		cfg: cfg, system: actors.NewSystem(cfg.Log), present: p, transport: t, outbox: o, peers: t.peers,
		service: service.New(serviceName, cfg.Version, "locks with fencing tokens", map[string]string{
			"node": cfg.Name, "prefix": string(cfg.Prefix),
		}),
		admission: &admission{
			prefix: cfg.Prefix, drops: newDrops(cfg.Log), gate: g, outbox: o,
			deferred: newDeferred(cfg.Clock, o.overloaded),
		},
		lost: make(chan struct{}),
	}
	n.intake = &intake{
		prefix: cfg.Prefix, clock: cfg.Clock, observed: cfg.Observer != nil, traces: traces, admission: n.admission,
		outbox: o, transport: t,
		verifier: verifier, present: p, peers: t.peers,
		surveyor: newSurveyor(cfg, t, p, o), tenants: tenants,
	}
	n.admission.own = []inbox{o.undeliverable.inbox, n.intake.surveyor.inbox}
	n.lister = &lister{cfg: cfg, admission: n.admission, outbox: o, present: p, peers: t.peers}
	n.endpoints = newEndpoints(cfg, n.service, n.intake.request)
	n.statistics = &statistics{
		drops: n.admission.drops, endpoints: n.endpoints, outbox: o, quota: g.quota, tenants: tenants,
		live: make(map[*actors.Shard]struct{}), capacity: g.capacity, maxQueue: cfg.Tuning.MaxWaiting,
		storage: cfg.Storage,
	}
	if n.peers != nil {
		n.statistics.clock = n.peers.clockOffset
	}
	if offersReshard(cfg) {
		n.follower = newFollower(n)
	}
	return n
}

// starter returns what starts the shards of a generation.
func (n *Node) starter(g *generation, j *Journals) *starter {
	cfg := n.cfg
	cfg.Tuning = j.Tuning
	s := &starter{
		cfg: cfg, system: n.system, outbox: n.outbox, quota: n.transport.gate.quota, generation: g, journal: j.Journal,
		statistics: n.statistics,
	}
	if n.follower != nil {
		s.voided = n.follower.voided
	}
	return s
}

// use returns what the controller works with in a generation.
func (n *Node) use(g *generation, j *Journals) assignment.Generation {
	return assignment.Generation{
		Routers: g.routers, StartShard: n.starter(g, j).startYielding,
		Endpoint: func(shard uint32, open bool) bool { return n.endpoints.setDirect(g.Shard(shard), open) },
	}
}

// Lost is closed when nothing is served any more: a connection of the node was closed for good, by Close or because
// NATS refuses it, or the node must shut down, as Err says.
func (n *Node) Lost() <-chan struct{} { return n.lost }

// Err returns why the node must shut down, as [ErrName]; nil if it need not.
func (n *Node) Err() error {
	if n.controller == nil {
		return nil
	}
	return n.controller.Err()
}

func (n *Node) lose() { n.once.Do(func() { close(n.lost) }) }

func (n *Node) start(ctx context.Context) error {
	if err := n.open(ctx); err != nil {
		return err
	}
	for _, s := range n.present.Load().routers.Local() {
		if err := s.Opened(ctx); err != nil && ctx.Err() != nil {
			return err
		}
	}
	if err := n.listen(); err != nil {
		return fmt.Errorf("listen for requests: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, flushTimeout)
	defer cancel()
	for _, nc := range n.cfg.connections() {
		if err := nc.FlushWithContext(ctx); err != nil {
			return err
		}
	}
	if n.follower != nil {
		n.follower.start()
	}
	return nil
}

// open begins to open the node's shards.
func (n *Node) open(ctx context.Context) error {
	if n.peers != nil {
		return n.join(ctx)
	}
	g := n.present.Load()
	s := n.starter(g, n.journals())
	for shard, r := range g.routers {
		r.SetOwner(s.start(uint32(shard)), 0)
		if !n.endpoints.setDirect(g.Shard(uint32(shard)), true) {
			return fmt.Errorf("shard %d: its direct endpoint cannot be opened", shard)
		}
	}
	return nil
}

// journals are those of the generation with which the node starts.
func (n *Node) journals() *Journals { return &Journals{Journal: n.cfg.Journal, Tuning: n.cfg.Tuning} }

// join lets the node participate in the deployment, and returns when it does.
func (n *Node) join(ctx context.Context) error {
	c := assignment.New(assignment.Config{
		Node: &peer.Announcement{
			Node: n.cfg.Name, Incarnation: n.peers.self, Version: n.cfg.Version, Shards: n.cfg.Shards,
			Limits: n.cfg.Limits, Features: offered(n.cfg), Generation: n.cfg.Generation,
		},
		Generation: n.use(n.present.Load(), n.journals()), Behind: n.follower.poke, Clock: n.cfg.Clock, Log: n.cfg.Log,
		Audit: n.cfg.Audit, First: n.cfg.First, Leads: n.cfg.Leads, TransferLeadership: n.cfg.TransferLeadership,
		Stopped: n.statistics.retire, Announce: n.peers.announce,
	})
	if err := n.peers.listen(ctx, c.Receive, n.intake.forwarded, n.lister.inquiry, n.follower.receive); err != nil {
		return fmt.Errorf("join the other nodes: %w", err)
	}
	n.controller = c
	go func() {
		<-c.Done()
		if err := c.Err(); err != nil {
			n.cfg.Log.Error("shutting down: duplicate node name", "error", err)
			n.lose()
		}
	}()
	return c.Start(ctx)
}

// listen opens the endpoints of the node. A misspelt operation has no responder.
func (n *Node) listen() error {
	for _, op := range messages.Operations {
		subject := func(p messages.Prefix) string { return p.Operation(op, ">") }
		if err := n.endpoints.add(string(op), subject, n.intake.request); err != nil {
			return err
		}
	}
	if err := n.endpoints.moveTo(n.present.Load()); err != nil {
		return err
	}
	d := &discovery{
		cfg: n.cfg, present: n.present, verifier: n.intake.verifier, tenants: n.intake.tenants, admission: n.admission,
		outbox: n.outbox, controller: n.controller,
	}
	if err := n.endpoints.add("info", messages.Prefix.Info, d.info); err != nil {
		return err
	}
	if err := n.endpoints.add("list", messages.Prefix.List, n.lister.list); err != nil {
		return err
	}
	if n.cfg.Tenants != nil {
		if err := n.SetTenants(n.cfg.Tenants); err != nil {
			return err
		}
	}
	for subject, handle := range map[string]nats.MsgHandler{
		n.outbox.undeliverable.inbox.all(): n.intake.undeliverable,
		n.intake.surveyor.inbox.all():      n.intake.surveyor.answered,
	} {
		sub, err := n.cfg.Outbox.Subscribe(subject, handle)
		if err != nil {
			return err
		}
		if err := setPendingLimits(sub, 1); err != nil {
			return err
		}
	}
	return n.service.Open(n.cfg.Intake, func() any { return n.statistics.snapshot() }, n.admission.isAnswerable)
}

// SetTenants makes these the tenants of the node, which must have been started with a list of tenants. Requests of new
// ones are taken when it returns, and those of removed ones have no responders any more; what removed ones hold stays
// until it expires or is released by an operator. Changed limits apply to the next request. After an error that names a
// rule the tenants are as before.
func (n *Node) SetTenants(limits map[string]TenantLimits) error {
	t := n.intake.tenants
	if !t.on {
		return errors.New("this node was started without tenants")
	}
	t.setting.Lock()
	defer t.setting.Unlock()
	if err := t.check(limits); err != nil {
		return err
	}
	added, removed, old := t.set(limits)
	for _, gone := range removed {
		n.endpoints.removeTenant(gone)
	}
	errs := []error{n.endpoints.boundTenants(len(limits))}
	for _, tenant := range added {
		errs = append(errs, n.endpoints.addTenant(tenant))
	}
	for _, err := range old {
		n.outbox.forget(err)
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("listen for requests of tenants: %w", err)
	}
	// without a connection, the client library subscribes when there is one again
	_ = n.cfg.Intake.FlushTimeout(flushTimeout)
	return nil
}

// Owns reports whether the node owns a shard, as far as it knows. It does not block.
func (n *Node) Owns(shard uint32) bool { return n.present.Load().routers.At(shard) != nil }

// Close hands all shards over to other nodes if there are any, lets the requests on their way be answered, takes no
// more, and closes shards and connections. What is not done when ctx ends is left undone.
func (n *Node) Close(ctx context.Context) error {
	var err error
	n.closing.Do(func() { err = n.close(ctx) })
	return err
}

func (n *Node) close(ctx context.Context) error {
	n.follower.stop()
	shards := n.present.Load().routers.Local()
	if n.controller != nil {
		n.controller.Leave(ctx)
		shards = n.controller.Shards()
	}
	errs := []error{drain(ctx, n.cfg.Intake)}
	results := make(chan error, len(shards))
	for _, s := range shards {
		go func() { results <- s.Close(ctx) }()
	}
	for range shards {
		errs = append(errs, <-results)
	}
	if n.peers != nil {
		errs = append(errs, n.peers.close(ctx))
	}
	for _, r := range n.present.Load().routers {
		r.Expire(0)
	}
	n.admission.deferred.close()
	errs = append(errs, n.outbox.close(ctx))
	for _, nc := range n.cfg.connections()[1:] {
		errs = append(errs, drain(ctx, nc))
	}
	n.system.Close()
	return errors.Join(errs...)
}
