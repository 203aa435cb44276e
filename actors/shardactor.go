package actors

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/holdfast-io/holdfast/actors/lease"
	"github.com/holdfast-io/holdfast/actors/ledger"
	"github.com/holdfast-io/holdfast/messages/journal"
)

// What a shard tells itself.
type (
	// openedShard is how an attempt to open the shard has ended.
	openedShard struct {
		attempt *attempt
		ledger  *ledger.Ledger
		err     error
	}
	// reopen is due some time after the shard was lost.
	reopen struct{ attempt *attempt }
	// prove asks for an append that shows who owns the shard.
	prove struct{}
)

// attempt is one try to open the shard.
type attempt struct {
	writer *journal.Writer
	cancel context.CancelFunc
	began  lease.Instant
}

// shardActor owns a shard's tenure: the time from one opening of its journal to the next.
type shardActor struct {
	*Shard
	attempt *attempt
	opening opening
	// tenure is nil while the shard is not open; then why says so to those who ask.
	tenure *tenure
	why    string
	// again stops the timer after which the shard is opened again.
	again func() bool
	// taken counts the requests that this actor has taken in, neither answered nor queued.
	taken int64

	handover
}

// Receive implements actor.Actor.
func (s *shardActor) Receive(ctx actor.Context) {
	defer s.reportPanic(ctx)
	switch m := ctx.Message().(type) {
	case *actor.Started:
		s.start(ctx)
	case *Request:
		s.request(ctx, m)
	case *decision:
		s.decided(m)
	case *panicked:
		s.lost(m)
	case *returned:
		s.comeBack(ctx, m)
	case flush:
		s.during(m.tenure, func(t *tenure) { t.flushed() })
	case wake:
		s.during(m.tenure, func(t *tenure) { t.wakeUp(ctx) })
	case sweep:
		s.during(m.tenure, func(t *tenure) { t.sweep(ctx) })
	case stored:
		s.during(m.tenure, func(t *tenure) { s.stored(ctx, t, m) })
	case tidy:
		s.during(m.tenure, func(t *tenure) { t.tidyUp() })
	case record:
		s.during(m.tenure, func(t *tenure) { t.recordIfQuiet() })
	case silent:
		s.during(m.tenure, func(t *tenure) { t.silent = true })
	case purged:
		s.during(m.tenure, func(t *tenure) { t.purged(m) })
	case *openedShard:
		s.opened(ctx, m)
	case reopen:
		s.reopen(ctx, m)
	case hurry:
		s.during(m.tenure, func(t *tenure) { t.hush() })
	case *listing:
		s.list(ctx, m)
	case prove:
		s.prove()
	case leave:
		s.leave(ctx, m.handing)
	case abandon:
		s.abandon(ctx)
	case *actor.Restarting, *actor.Stopping:
		s.end()
		s.leaving = false // what is left to do for the end, the next actor does
	}
	s.endIfDone()
}

// reportPanic lets a panic go on to the guardian, which starts the actor afresh, after it has told
// what the library would not.
func (s *shardActor) reportPanic(ctx actor.Context) {
	if reason := recover(); reason != nil {
		s.cfg.Log.Error("panic in a shard; it starts afresh from its journal",
			"message", fmt.Sprintf("%T", ctx.Message()), "panic", reason, "stack", string(debug.Stack()))
		panic(reason)
	}
}

// during runs f if the message is of the present tenure: what an earlier one left behind is void.
func (s *shardActor) during(t *tenure, f func(*tenure)) {
	if t == s.tenure {
		f(t)
	}
}

func (s *shardActor) start(ctx actor.Context) {
	if s.Standing() >= Leaving {
		s.resume()
		return
	}
	s.stand(Opening)
	s.why = "is being opened"
	s.open(ctx)
}

func (s *shardActor) open(ctx actor.Context) {
	work, cancel := context.WithCancel(context.Background())
	a := &attempt{writer: newWriter(s.cfg.Node), cancel: cancel, began: s.cfg.Clock.Now().Instant}
	s.attempt = a
	self, o := ctx.Self(), &s.opening
	o.records = &s.records
	s.work.Go(func() {
		l, err := o.run(work, s.cfg, a.writer)
		s.system.Root.Send(self, &openedShard{attempt: a, ledger: l, err: err})
	})
}

func (s *shardActor) opened(ctx actor.Context, m *openedShard) {
	if m.attempt != s.attempt || s.leaving {
		return
	}
	defer s.attempted(m.err) // whoever waits for it sees the shard open
	if m.err != nil {
		s.cfg.Log.Error("cannot open the shard", "error", m.err, "again_in", s.cfg.Tuning.ReopenAfter)
		s.reopenLater(ctx, "cannot be opened: "+m.err.Error())
		return
	}
	s.opening = opening{}
	s.tenure = newTenure(ctx, s, m.ledger, m.attempt)
	head := m.ledger.Head()
	s.epoch.Store(head.Epoch)
	s.stand(Open)
	s.cfg.Log.Info("shard open", "epoch", head.Epoch, "commit", head.Number, "held", len(s.tenure.seats),
		"took", s.cfg.Clock.Now().Sub(m.attempt.began))
}

// reopenLater ends what there is and opens the shard again after a while.
func (s *shardActor) reopenLater(ctx actor.Context, why string) {
	s.why = why
	s.stand(Opening)
	a, self := s.attempt, ctx.Self()
	a.cancel()
	s.again = s.cfg.Clock.AfterFunc(s.cfg.Tuning.ReopenAfter, func() { s.system.Root.Send(self, reopen{a}) })
}

func (s *shardActor) reopen(ctx actor.Context, m reopen) {
	if m.attempt == s.attempt && !s.leaving {
		s.open(ctx)
	}
}

// end leaves nothing running behind. Whatever was not answered stays so.
func (s *shardActor) end() {
	if s.attempt != nil {
		s.attempt.cancel()
	}
	if s.again != nil {
		s.again()
	}
	if s.tenure != nil {
		s.tenure.stop()
		s.tenure = nil
	}
	s.requests.leave(s.taken)
	s.taken = 0
}

func (s *shardActor) request(ctx actor.Context, r *Request) {
	if _, ok := r.from(); ok {
		s.taken++
	}
	switch t := s.tenure; {
	case s.leaving:
		s.turnAway(r, s.why)
	case t == nil:
		s.refuse(r, s.why)
	case t.stalled():
		s.refuse(r, fmt.Sprintf("has had no confirmation from JetStream for %v", s.cfg.Tuning.StallAfter))
	default:
		t.send(ctx, t.seat(ctx, r.Resource), r)
	}
}

func (s *shardActor) decided(d *decision) {
	s.surrendered(d)
	switch t := d.seat.tenure; {
	case t == s.tenure:
		if t.decided(d) {
			s.settle(d)
		}
	case t.actor == s:
		s.void(t, []*decision{d}, s.why)
	}
}

func (s *shardActor) lost(m *panicked) {
	t := m.seat.tenure
	if t.actor == s {
		s.settleRequest(m.request)
	}
	if t == s.tenure {
		t.lost(m.seat)
	} else {
		t.done(m.seat)
	}
}

func (s *shardActor) comeBack(ctx actor.Context, m *returned) {
	t := m.seat.tenure
	t.done(m.seat)
	switch {
	case t == s.tenure:
		t.send(ctx, m.seat, m.request)
	case t.actor == s:
		s.turnAway(m.request, s.why)
	}
}

// stored takes in how an append has ended.
func (s *shardActor) stored(ctx actor.Context, t *tenure, m stored) {
	if m.err != nil {
		s.lose(ctx, t, m.err)
		return
	}
	for _, d := range t.confirmed(ctx) {
		s.settle(d)
	}
}

// lose ends a tenure whose journal has refused an append, or does not say. Only if it is certain
// that nothing was stored may the decisions in that append be answered at all.
func (s *shardActor) lose(ctx actor.Context, t *tenure, err error) {
	s.cfg.Log.Warn("shard lost", "epoch", t.ledger.Head().Epoch, "error", err)
	s.tenure = nil
	switch {
	case s.leaving:
	case s.deposed(err):
		s.depart(true)
	default:
		s.reopenLater(ctx, "could not write to its journal and is being opened again")
	}
	if errors.Is(err, journal.ErrConflict) || errors.Is(err, journal.ErrNotStored) {
		s.void(t, t.inflight, s.why)
	} else {
		s.leaveUnanswered(t, t.inflight, err)
	}
	s.void(t, t.pending, s.why)
	s.last = t
	for _, r := range t.retire(ctx, s.farewell(s.why)) {
		s.turnAway(r, s.why)
	}
}

// prove has an append show whether the shard is still this node's.
func (s *shardActor) prove() {
	if t := s.tenure; t != nil && t.sent == nil && !s.leaving {
		t.record()
	}
}
