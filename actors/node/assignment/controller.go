package assignment

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/holdfast-io/holdfast/actors"
	"github.com/holdfast-io/holdfast/actors/lease"
	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/peer"
)

const (
	// leadAfter is how long a server must have led a bucket before its node is preferred for the shard. The leadership
	// has followed the shard by then where it can, since a move costs the shard's clients more: only a shard whose
	// owner has no replica follows the leadership.
	leadAfter = 30 * time.Second // mutant: ShardsFollowAtOnce
	// maxReceived is how many announcements may wait to be read.
	maxReceived = 256
	// leaveLimit bounds how long a node that leaves hands over shards and the requests that wait for them.
	leaveLimit = 5 * time.Second
	// lingerFor is how long a node that has left still forwards requests, because the other nodes need time to receive
	// that it has left.
	lingerFor = 100 * time.Millisecond
)

// Controller decides which shards its node owns. A goroutine of its own receives what the other nodes announce, opens
// and hands over shards, and sets where requests go. It is safe for concurrent use.
type Controller struct {
	cfg Config

	received chan *peer.Announcement
	changed  chan struct{}
	ended    chan *reconciler
	shifts   chan shift
	leave    chan struct{}
	// joined is closed when the node participates, done when the goroutine has ended, because of err if that is not
	// nil.
	joined, done chan struct{}
	err          error
	// initial are the shards with which the node began, known once it has joined.
	initial []*actors.Shard
	cancel  context.CancelFunc
	work    sync.WaitGroup

	// The fields below belong to the goroutine.
	view                   *view
	assigned               *assignment
	shards                 []*reconciler
	own                    *peer.Announcement // what there is to announce
	announced              *peer.Announcement // what was announced last
	participating, leaving bool

	// closing is the generation for which the journals are to be closed; its count is 0 if they are not.
	closing atomic.Pointer[messages.Shards]
	// patient is until when requests may wait for as long as a change of the number of shards lasts.
	patient lease.Instant
	// nodes are the latest announcements of all.
	nodes atomic.Pointer[[]*peer.Announcement]
	// present are the shards that the node has.
	present atomic.Pointer[map[uint32]*actors.Shard]
	// ticked and echoed are those of the view.
	ticked, echoed atomic.Int64
}

// New returns a controller that has not been started.
func New(cfg Config) *Controller {
	c := &Controller{
		cfg: cfg, received: make(chan *peer.Announcement, maxReceived), changed: make(chan struct{}, 1),
		ended: make(chan *reconciler), shifts: make(chan shift), leave: make(chan struct{}),
		joined: make(chan struct{}), done: make(chan struct{}),
		view: newView(cfg.Node, cfg.Log, cfg.Audit), assigned: newAssignment(cfg.Node.GetShards(), nil),
	}
	c.present.Store(new(map[uint32]*actors.Shard))
	c.closing.Store(&messages.Shards{})
	c.addShards()
	return c
}

// addShards adds what reconciles the shards of the generation.
func (c *Controller) addShards() {
	c.shards = nil
	for shard, router := range c.cfg.Routers {
		c.shards = append(c.shards, &reconciler{
			state: newState(), number: uint32(shard), cfg: &c.cfg, of: c.cfg.Generation, router: router,
			changed: c.change, work: &c.work, ended: c.ended,
		})
	}
}

// Start starts the controller and returns when the node participates and has tried to open its first shards. After
// an error, [ErrName] among them, [Controller.Leave] must still be called.
func (c *Controller) Start(ctx context.Context) error {
	running, cancel := context.WithCancel(context.WithoutCancel(ctx))
	c.cancel = cancel
	go c.run(running)
	select {
	case <-c.joined:
	case <-c.done:
		return c.err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	for _, s := range c.initial {
		if err := s.Opened(ctx); err != nil && ctx.Err() != nil {
			return err
		}
	}
	return nil
}

// Leave hands the node's shards over to the other nodes, with the requests that wait for them, and stops the
// controller. Shards that were not handed over in time are left, see [Controller.Shards]. It is called once, after
// [Controller.Start].
func (c *Controller) Leave(ctx context.Context) {
	defer c.cancel()
	select {
	case <-c.done:
		return
	default:
	}
	limited, cancel := context.WithTimeout(ctx, leaveLimit)
	defer cancel()
	close(c.leave)
	select {
	case <-c.done:
		c.linger(ctx)
	case <-limited.Done():
		c.cancel()
		<-c.done
	}
}

// linger waits until the other nodes have received that this one has left, if there are any.
func (c *Controller) linger(ctx context.Context) {
	if len(c.Nodes()) < 2 {
		return
	}
	select {
	case <-time.After(lingerFor):
	case <-ctx.Done():
	}
}

// Receive takes an announcement. It does not block. A full queue drops the announcement; the next one replaces it.
func (c *Controller) Receive(a *peer.Announcement) {
	select {
	case c.received <- a:
	default:
	}
}

// Nodes returns the latest announcement of each node, by name, after [Controller.Start] has returned nil.
func (c *Controller) Nodes() []*peer.Announcement { return *c.nodes.Load() }

// Present returns the shards that the node has, whatever their state. The result must not be modified.
func (c *Controller) Present() map[uint32]*actors.Shard { return *c.present.Load() }

// Hears returns an error if the node has not received its own announcements for a while. Then it knows nothing of the
// others.
func (c *Controller) Hears() error {
	if silent := c.now().Sub(lease.Instant(c.echoed.Load())); silent >= silenceLimit {
		return fmt.Errorf("this node has not received its own announcements for %v", silent.Round(time.Millisecond))
	}
	return nil
}

// tickLimit is the time without a tick after which the controller counts as hung.
const tickLimit = 30 * time.Second

// Ticks returns an error if the controller's goroutine has not run for [tickLimit].
func (c *Controller) Ticks() error {
	if since := c.now().Sub(lease.Instant(c.ticked.Load())); since >= tickLimit {
		return fmt.Errorf("the assignment of shards has stood still for %v", since.Round(time.Millisecond))
	}
	return nil
}

// Done is closed when the controller has stopped, because of [Controller.Err] or because it has left.
func (c *Controller) Done() <-chan struct{} { return c.done }

// Err returns why the node must shut down, as [ErrName]; nil if it need not, or the controller has not stopped.
func (c *Controller) Err() error {
	select {
	case <-c.done:
		return c.err
	default:
		return nil
	}
}

// Shards returns the shards that the node has, whatever their standing. It must not be called before the controller
// has stopped.
func (c *Controller) Shards() []*actors.Shard {
	var all []*actors.Shard
	for _, s := range c.shards {
		if s.shard != nil {
			all = append(all, s.shard)
		}
	}
	return all
}

// change has the shards reconciled soon.
func (c *Controller) change() {
	select {
	case c.changed <- struct{}{}:
	default:
	}
}

// run works until ctx ends, the node has left, or it must shut down.
func (c *Controller) run(ctx context.Context) {
	defer close(c.done)
	defer c.work.Wait()
	ctx, cancel := context.WithCancel(ctx) // hand-overs end with it
	defer cancel()
	ticker := time.NewTicker(announceEvery)
	defer ticker.Stop()
	c.view.begin(c.now())
	c.tick(ctx, c.view.began)
	silence := time.NewTimer(suspectAfter)
	defer silence.Stop()
	leave := c.leave
	for c.err == nil && !c.hasLeft() {
		now := c.now()
		silence.Reset(c.view.members.next(now).Sub(now))
		select {
		case <-ctx.Done():
			return
		case a := <-c.received:
			c.receive(a)
			for range len(c.received) { // one round of reconciliation is for all that have come meanwhile
				c.receive(<-c.received)
			}
		case <-ticker.C:
			c.tick(ctx, c.now())
			continue
		case <-silence.C:
		case <-c.changed:
		case s := <-c.ended:
			if !s.shard.IsClosed() {
				s.closed = 0
			}
			s.end()
		case s := <-c.shifts:
			c.shift(ctx, s)
		case <-leave:
			c.leaving, leave = true, nil
		}
		c.reconcile(ctx, c.now())
	}
}

func (c *Controller) now() lease.Instant { return c.cfg.Clock.Now().Instant }

// hasLeft reports whether a node that leaves has handed everything over.
func (c *Controller) hasLeft() bool {
	return c.leaving && len(c.Shards()) == 0 &&
		!slices.ContainsFunc(c.shards, func(s *reconciler) bool { return s.router.Waiting() > 0 })
}

func (c *Controller) receive(a *peer.Announcement) {
	if err := c.view.receive(a, c.own, c.now()); err != nil {
		c.err = err
	}
}

// tick does what depends on time alone, and announces the node.
func (c *Controller) tick(ctx context.Context, now lease.Instant) {
	if c.view.wasPaused(now) {
		c.resume(now)
	}
	c.view.ticked = now
	for _, s := range c.shards {
		s.led = since(c.cfg.Leads != nil && c.cfg.Leads(s.number), s.led, now)
		if s.logsSlowOpening(now) {
			c.cfg.Log.Info("still opening the shard", "shard", s.number, "for", now.Sub(s.opening), "records_read",
				s.records)
		}
	}
	c.prove()
	joins := !c.participating && (c.cfg.First || now.Sub(c.view.began) >= listenFor)
	c.participating = c.participating || joins
	c.reconcile(ctx, now)
	if joins {
		c.initial = c.Shards()
		close(c.joined)
	}
	limit := holdLimit
	if c.closing.Load().Count > 0 {
		c.patient = now.Add(actors.LastingAfter)
	}
	if now < c.patient {
		limit = actors.LastingAfter
	}
	for _, s := range c.shards {
		s.router.Expire(limit)
	}
	c.announce()
}

// prove appends something if another node has a stalled shard: it keeps that shard unless others announce that they can
// commit.
func (c *Controller) prove() {
	if !c.view.members.others(c.view.self(), func(x *member) bool { return len(x.GetStalled()) > 0 }) {
		return
	}
	for _, s := range c.shards {
		if s.standing() == actors.Open && s.shard.Unconfirmed() == lease.Never {
			s.shard.Barrier()
			return
		}
	}
}

// resume goes on after the process was paused: other nodes may have taken its shards.
func (c *Controller) resume(now lease.Instant) {
	c.view.resume(now)
	for _, s := range c.shards {
		s.progressed = now // nothing could be read meanwhile
		if s.standing() == actors.Open {
			s.shard.Barrier()
		}
	}
}

// reconcile moves each shard towards its assignment, and announces at once what is new.
func (c *Controller) reconcile(ctx context.Context, now lease.Instant) {
	c.view.removeLost(now)
	c.update(now)
	if c.view.isBehind && c.cfg.Behind != nil {
		c.view.isBehind = false
		c.cfg.Behind()
	}
	c.view.claims = c.view.members.claims(c.view.self(), c.view.claims)
	r := &round{view: c.view, assigned: c.assigned, now: now, participating: c.participating, leaving: c.leaving,
		closing: *c.closing.Load()}
	r.othersCommit = c.view.members.others(c.view.self(), func(x *member) bool {
		return x.GetConfirmed() && !x.isSuspected(now)
	})
	for _, s := range c.shards {
		s.observe(now)
		s.reconcile(ctx, r)
		s.observe(now)
		s.route(r)
	}
	c.update(now)
	if c.view.announceSoon || !proto.Equal(c.own, c.announced) {
		c.announce()
	}
	c.publish()
}

// publish lets other goroutines see how things are.
func (c *Controller) publish() {
	all := c.view.members.announcements()
	c.nodes.Store(&all)
	present := make(map[uint32]*actors.Shard)
	for _, s := range c.shards {
		if s.shard != nil {
			present[s.number] = s.shard
		}
	}
	c.present.Store(&present)
	c.echoed.Store(int64(c.view.echoed))
	c.ticked.Store(int64(c.view.ticked))
}

func (c *Controller) announce() {
	c.view.announceSoon, c.announced = false, c.own
	c.cfg.Announce(c.own)
}

// update computes what there is to announce, and the assignment that follows.
func (c *Controller) update(now lease.Instant) {
	a := proto.CloneOf(c.cfg.Node)
	a.Joining, a.Leaving = !c.participating, c.leaving
	for _, s := range c.shards {
		switch s.standing() {
		case actors.Opening:
			a.Opening = append(a.Opening, s.number)
		case actors.Open, actors.Draining:
			a.Owned = append(a.Owned, &peer.Ownership{Shard: s.number, Epoch: s.shard.Epoch()})
		case actors.Ended:
		}
		if s.isStalled(now) {
			a.Stalled = append(a.Stalled, s.number)
		}
		a.Confirmed = a.Confirmed || s.commits(now)
		if s.failing > now {
			a.Failing = append(a.Failing, s.number)
		}
		if hasLasted(s.led, leadAfter, now) {
			a.Leads = append(a.Leads, s.number)
		}
	}
	c.view.members.update(a, now)
	c.assigned = c.assigned.with(c.view.candidates())
	a.Assigned = slices.DeleteFunc(c.assigned.of(c.view.self()),
		func(shard uint32) bool { return c.shards[shard].backoff > now })
	c.own = a
}
