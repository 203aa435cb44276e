package actors

import (
	"container/list"
	"context"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/holdfast-io/holdfast/actors/lease"
	"github.com/holdfast-io/holdfast/actors/ledger"
	"github.com/holdfast-io/holdfast/messages"
)

// tenure is one node's ownership of a shard, from the opening of the journal to its loss. All in
// it belongs to the shard's actor. What it sends to itself carries the tenure, so that whatever
// arrives after its end is known to be void.
type tenure struct {
	shard  *Shard
	actor  *shardActor // as a stamp: a panic of it ends the tenure too
	props  *actor.Props
	self   *actor.PID
	ledger *ledger.Ledger
	// past outlives the actors of the resources, but not the tenure: what it knows may not be stored.
	past *lease.EndedRequests

	seats   map[string]*seat
	busy    int // of all seats together, as are:
	waiting int
	// volatile counts the ephemeral leases.
	volatile int
	use      use
	spawned  uint64
	idle     *list.List // of *seat that have an actor, the longest unused first

	alarms alarms
	armed  lease.Instant // when the timer for them fires
	disarm func() bool   // stops it
	rest   func() bool   // stops the timer for the next sweep; nil if there is none

	commits
	compaction
	tidying
	watermark
}

// resourceThroughput is how many messages a resource handles before it lets other goroutines run.
const resourceThroughput = 300

func newTenure(ctx actor.Context, s *shardActor, l *ledger.Ledger, a *attempt) *tenure {
	t := &tenure{
		shard:  s.Shard,
		actor:  s,
		self:   ctx.Self(),
		ledger: l,
		past:   lease.NewEndedRequests(),
		seats:  make(map[string]*seat),
		idle:   list.New(),
		armed:  lease.Never,
		disarm: func() bool { return true },
	}
	t.props = actor.PropsFromProducer(
		func() actor.Actor { return &resource{clock: s.cfg.Clock, log: s.cfg.Log} },
		actor.WithMailbox(actor.UnboundedLockfree()),
		// A resource runs on its shard's goroutine: nobody else sends to it, and a step is shorter
		// than waking another goroutine twice.
		actor.WithDispatcher(actor.NewSynchronizedDispatcher(resourceThroughput)),
	)
	t.writer = a.writer
	t.ctx, t.cancel = context.WithCancel(context.Background())
	l.Restart(s.cfg.Clock.Now().Instant, func(resource string, deadline lease.Instant) {
		seat := &seat{tenure: t, resource: resource}
		t.seats[resource] = seat
		t.alarms.set(seat, deadline)
	})
	t.takenOver()
	t.use.quota = s.cfg.Quota
	t.report()
	t.arm()
	t.tidyLater()
	t.publish()
	return t
}

// tell sends the shard a message from any goroutine.
func (t *tenure) tell(m any) { t.shard.system.Root.Send(t.self, m) }

// decided takes in what a resource decided, and reports whether that was all there is to do.
func (t *tenure) decided(d *decision) bool {
	t.alarms.set(d.seat, d.wake)
	t.arm()
	t.note(d)
	t.touch(d.seat, d.at)
	t.sweepLater()
	if d.waits() {
		t.propose(d)
		return false
	}
	t.done(d.seat)
	t.shard.cfg.Outbox.Answer(t.shard.cfg.Shard, d.outcome.Answers)
	return true
}

// note keeps count of who waits and of what is held in memory only.
func (t *tenure) note(d *decision) {
	s := d.seat
	t.waiting += d.waiting - s.waiting
	s.waiting = d.waiting
	if s.volatile || d.volatile != nil {
		t.ledger.SetEphemeral(s.resource, d.volatile)
		t.volatile += count(d.volatile != nil) - count(s.volatile)
		s.volatile = d.volatile != nil
	}
	t.report()
}

func count(is bool) int {
	if is {
		return 1
	}
	return 0
}

// report tells the node's quota how much of it the shard uses.
func (t *tenure) report() { t.use.set(t.ledger.Held()+t.volatile, t.waiting) }

// lost puts a resource that panicked in line for its state: it gets it when all that it decided
// before is confirmed.
func (t *tenure) lost(s *seat) {
	if gone := t.ledger.Ephemeral(s.resource); gone != nil {
		t.past.End(t.shard.cfg.Clock.Now().Instant, gone.Grant, messages.Event_EXPIRED)
	}
	d := &decision{seat: s, reload: true} // nobody waits any more, and an ephemeral lease is gone
	t.note(d)
	s.loading = true
	t.propose(d) // it stays busy until then
}

// wake tells a tenure that an alarm is due.
type wake struct{ tenure *tenure }

// alarmsAtOnce bounds how many resources are woken in one go, so that a million leases which end
// together do not need a million actors together.
const alarmsAtOnce = 1000

func (t *tenure) wakeUp(ctx actor.Context) {
	t.armed = lease.Never
	if t.over {
		return // what would be committed now, nobody here could publish; the next owner wakes them
	}
	now := t.shard.cfg.Clock.Now().Instant
	for range alarmsAtOnce {
		s := t.alarms.due(now)
		if s == nil {
			break
		}
		t.send(ctx, t.seat(ctx, s.resource), &Request{Resource: s.resource, Event: lease.Tick{}})
	}
	t.arm()
}

// arm sets the timer to the first alarm, unless it fires before that anyway.
func (t *tenure) arm() {
	next := t.alarms.next()
	if next >= t.armed {
		return
	}
	t.disarm()
	t.armed = next
	wait := next.Sub(t.shard.cfg.Clock.Now().Instant)
	t.disarm = t.shard.cfg.Clock.AfterFunc(max(wait, 0), func() { t.tell(wake{t}) })
}

// sweep tells a tenure to look for idle resources.
type sweep struct{ tenure *tenure }

func (t *tenure) sweepLater() {
	if t.rest != nil || t.idle.Len() == 0 {
		return
	}
	t.rest = t.shard.cfg.Clock.AfterFunc(t.shard.cfg.Tuning.IdleAfter/2, func() { t.tell(sweep{t}) })
}

func (t *tenure) sweep(ctx actor.Context) {
	t.rest = nil
	if t.passivate(ctx, t.shard.cfg.Clock.Now().Instant) {
		t.tell(sweep{t})
		return
	}
	t.sweepLater()
}

// retire ends the tenure: who waits gets the farewell, and the actors stop when they have done what is
// in their mailboxes, so that all of it comes back. It returns the requests that no actor has.
func (t *tenure) retire(ctx actor.Context, farewell lease.Event) (held []*Request) {
	t.stop()
	t.sendOff(ctx, farewell)
	for _, s := range t.seats {
		for _, r := range s.held {
			t.done(s)
			held = append(held, r)
		}
		s.held = nil
		if s.pid != nil {
			ctx.Poison(s.pid)
		}
	}
	return held
}

func (t *tenure) stop() {
	t.use.set(0, 0)
	t.cancel()
	t.disarm()
	for _, stop := range []func() bool{t.rest, t.timer, t.bound, t.tidyTimer} {
		if stop != nil {
			stop()
		}
	}
}
