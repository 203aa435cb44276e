package actors

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/holdfast-io/holdfast/messages"
)

// What a shard tells itself.
type (
	// openedShard is how an attempt to open the shard has ended.
	openedShard struct {
		attempt *attempt
		ledger  *ledger
		err     error
	}
	// reopen is due some time after the shard was lost.
	reopen struct{ attempt *attempt }
	// closeShard asks for the end.
	closeShard struct{}
)

// attempt is one try to open the shard.
type attempt struct {
	writer *messages.Writer
	cancel context.CancelFunc
}

// shardActor owns a shard's tenure: the time from one opening of its journal to the next.
type shardActor struct {
	*Shard
	attempt *attempt
	// tenure is nil while the shard is not open; then why says so to those who ask.
	tenure *tenure
	why    string
	// again stops the timer after which the shard is opened again.
	again   func() bool
	closing bool
	// taken counts this actor's part of pending.
	taken int64
}

// Receive implements actor.Actor.
func (s *shardActor) Receive(ctx actor.Context) {
	defer s.reportPanic(ctx)
	switch m := ctx.Message().(type) {
	case *actor.Started:
		s.why = "is being opened"
		s.open(ctx)
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
	case listing:
		s.list(m)
	case closeShard:
		s.close(ctx)
	case *actor.Restarting:
		s.end()
	case *actor.Stopping:
		s.end()
	}
	s.closeIfDone()
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

func (s *shardActor) open(ctx actor.Context) {
	work, cancel := context.WithCancel(context.Background())
	a := &attempt{writer: newWriter(s.cfg.Node), cancel: cancel}
	s.attempt = a
	self := ctx.Self()
	s.work.Go(func() {
		l, err := open(work, s.cfg, a.writer)
		s.system.Root.Send(self, &openedShard{attempt: a, ledger: l, err: err})
	})
}

func (s *shardActor) opened(ctx actor.Context, m *openedShard) {
	if m.attempt != s.attempt || s.closing {
		return
	}
	s.attempted(m.err)
	if m.err != nil {
		s.cfg.Log.Error("cannot open the shard", "error", m.err, "again_in", s.cfg.Tuning.ReopenAfter)
		s.reopenLater(ctx, "cannot be opened: "+m.err.Error())
		return
	}
	s.tenure = newTenure(ctx, s, m.ledger, m.attempt)
	s.cfg.Log.Debug("shard open", "epoch", m.ledger.epoch, "commit", m.ledger.number, "held", len(s.tenure.seats))
}

// reopenLater ends what there is and opens the shard again after a while.
func (s *shardActor) reopenLater(ctx actor.Context, why string) {
	s.why = why
	a, self := s.attempt, ctx.Self()
	a.cancel()
	s.again = s.cfg.Clock.AfterFunc(s.cfg.Tuning.ReopenAfter, func() { s.system.Root.Send(self, reopen{a}) })
}

func (s *shardActor) reopen(ctx actor.Context, m reopen) {
	if m.attempt == s.attempt && !s.closing {
		s.open(ctx)
	}
}

// end leaves nothing running behind. Whatever was not answered stays so.
func (s *shardActor) end() {
	s.attempt.cancel()
	if s.again != nil {
		s.again()
	}
	if s.tenure != nil {
		s.tenure.stop()
		s.tenure = nil
	}
	s.pending.Add(-s.taken)
	s.taken = 0
}

func (s *shardActor) request(ctx actor.Context, r *Request) {
	if _, ok := r.from(); ok {
		s.taken++
	}
	switch t := s.tenure; {
	case s.closing:
		s.refuse(r, closingWhy)
	case t == nil:
		s.refuse(r, s.why)
	case t.stalled():
		s.refuse(r, fmt.Sprintf("has had no confirmation from JetStream for %v", s.cfg.Tuning.StallAfter))
	default:
		t.send(ctx, t.seat(ctx, r.Resource), r)
	}
}

func (s *shardActor) decided(d *decision) {
	switch t := d.seat.tenure; {
	case t == s.tenure:
		if t.decided(d) {
			s.settle(d)
		}
	case t.actor == s:
		s.void([]*decision{d}, s.why)
	}
}

func (s *shardActor) lost(m *panicked) {
	t := m.seat.tenure
	if t.actor == s {
		s.settleRequest(m.request)
	}
	if t == s.tenure {
		t.lost(m.seat)
	}
}

func (s *shardActor) comeBack(ctx actor.Context, m *returned) {
	switch t := m.seat.tenure; {
	case t == s.tenure:
		t.done(m.seat)
		t.send(ctx, m.seat, m.request)
	case t.actor == s:
		s.refuse(m.request, s.why)
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
	s.cfg.Log.Warn("shard lost", "epoch", t.ledger.epoch, "error", err)
	s.tenure = nil
	s.reopenLater(ctx, "could not write to its journal and is being opened again")
	if errors.Is(err, messages.ErrConflict) || errors.Is(err, messages.ErrNotStored) {
		s.void(t.inflight, s.why)
	} else {
		for _, d := range t.inflight {
			s.settle(d)
		}
	}
	s.void(t.pending, s.why)
	t.retire(ctx, s.unavailable(s.why))
}

const closingWhy = "is being handed over or shut down"

// close lets those go who wait, and ends when all others have been answered.
func (s *shardActor) close(ctx actor.Context) {
	s.closing = true
	if s.tenure != nil {
		s.tenure.running, s.tenure.over = false, true
		s.tenure.dismiss(ctx, s.unavailable(closingWhy))
	}
}

func (s *shardActor) closeIfDone() {
	if !s.closing || s.taken > 0 || s.tenure != nil && (s.tenure.unfinished() || !s.tenure.windDown()) {
		return
	}
	select {
	case <-s.closed:
	default:
		close(s.closed)
	}
}
