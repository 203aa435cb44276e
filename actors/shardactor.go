package actors

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/holdfast-io/holdfast/actors/lease"
	"github.com/holdfast-io/holdfast/messages/journal"
)

// shardActor serves a shard: it opens the shard, gives requests to the present term, and ends the shard. The
// state of the shard is the state of this machine:
//
//	Opening, Open  --drain-->   Draining: no request is taken any more, queued ones are evicted
//	Draining       --abort-->   Draining: what is not stored yet is given up
//	Draining       --end-->     Ended: everything is answered, published and passed on
//
// A term that is lost is retired. It ends the shard only if another writer has deposed it and requests can be passed
// on.
type shardActor struct {
	*Shard
	opener    opener
	responder responder
	drained   drain

	// term is nil while the shard is not open; then why says so to clients.
	term *term
	why  string
	// stopped: the next actor does what is left to do for the end.
	stopped bool
}

func newShardActor(s *Shard) *shardActor {
	return &shardActor{Shard: s, opener: newOpener(s), responder: responder{shard: s, taken: make(map[*Share]int64)}}
}

// Receive implements actor.Actor.
func (s *shardActor) Receive(ctx actor.Context) {
	defer s.reportPanic(ctx)
	switch m := ctx.Message().(type) {
	case *actor.Started:
		s.start(ctx)
	case requests:
		s.requestAll(ctx, m)
	case *termMessage:
		s.termMessage(ctx, m)
	case *opened:
		s.opened(ctx, m)
	case retry:
		s.retry(ctx, m)
	case *listing:
		s.list(ctx, m)
	case barrier:
		s.barrier()
	case census:
		s.census(m)
	case prove:
		s.prove(m)
	case noListener:
		s.noListener(m)
	case drainShard:
		s.drain(m)
	case abort:
		s.abort(ctx)
	case *actor.Restarting, *actor.Stopping:
		s.stopAll()
		s.stopped = true
	}
	s.endIfDrained()
}

// reportPanic logs what the library would not, and lets the panic go on to the guardian, which restarts the
// actor.
func (s *shardActor) reportPanic(ctx actor.Context) {
	if reason := recover(); reason != nil {
		s.cfg.Log.Error("panic in a shard; it is opened again from its journal",
			"message", fmt.Sprintf("%T", ctx.Message()), "panic", reason, "stack", string(debug.Stack()))
		panic(reason)
	}
}

// start opens the shard, or goes on with the end that an earlier actor, which panicked, had begun.
func (s *shardActor) start(ctx actor.Context) {
	if s.State() >= Draining {
		s.beginDrain(s.passing.Load())
		s.drained.unanswered = errors.New("the shard has panicked")
		return
	}
	if s.began { // an earlier actor has panicked, and this one may do so again
		s.openLater(ctx, "has panicked and is being opened again")
		return
	}
	s.began = true
	s.closed.Store(int64(s.cfg.Clock.Now().Instant))
	s.setState(Opening)
	s.why = beingOpened
	s.opener.begin(ctx.Self())
}

func (s *shardActor) opened(ctx actor.Context, m *opened) {
	if m.attempt != s.opener.attempt || s.State() >= Draining {
		return
	}
	handedOver := m.err == nil && m.ledger.Inherited() != nil
	if m.err == nil {
		m.err = s.beginTerm(ctx, m)
	}
	defer s.attempted(m.err) // last, so that the shard is open when Opened returns
	if m.err != nil {
		level := slog.LevelError
		if errors.Is(m.err, ErrClosed) {
			level = slog.LevelInfo
		}
		s.cfg.Log.Log(context.Background(), level, "cannot open the shard", "error", m.err, "again_in",
			s.cfg.Tuning.ReopenAfter)
		s.openLater(ctx, "cannot be opened: "+m.err.Error())
		return
	}
	s.opener.succeeded()
	head, took := m.ledger.Head(), s.cfg.Clock.Now().Sub(m.attempt.began)
	s.epoch.Store(head.Epoch)
	s.closed.Store(int64(lease.Never))
	s.setState(Open)
	from := takeoverFrom(m.former, s.cfg.Node, handedOver)
	s.cfg.Log.Info("shard open", "epoch", head.Epoch, "commit", head.Number, "held", m.ledger.Held(), "took", took)
	s.cfg.Observer.Opened(s.cfg.Shard, from, took)
}

// beginTerm begins a term with what an attempt has read. A panic is an error, and another attempt comes later.
func (s *shardActor) beginTerm(ctx actor.Context, m *opened) error {
	s.opener.opening.ledger = nil // it is the term's now
	return contain(s.cfg.Log, func() error {
		s.term = newTerm(ctx.Self(), s.Shard, m.ledger, m.attempt.writer, s.decided)
		return nil
	})
}

func (s *shardActor) openLater(ctx actor.Context, why string) {
	s.why = why
	s.reason.Store(&why)
	s.setState(Opening)
	s.opener.later(ctx.Self())
}

func (s *shardActor) retry(ctx actor.Context, m retry) {
	if m.attempt == s.opener.attempt && s.State() < Draining {
		s.opener.begin(ctx.Self())
	}
}

// requestAll counts all requests in before it begins with the first, so that a panic counts them out.
func (s *shardActor) requestAll(ctx actor.Context, all requests) {
	for i := range all {
		s.responder.take(&all[i])
	}
	stalled := s.term != nil && s.term.batcher.isStalled()
	for i := range all {
		s.request(ctx, &all[i], stalled)
	}
}

// request takes in a request; stalled: the journal confirms nothing.
func (s *shardActor) request(ctx actor.Context, r *Request, stalled bool) {
	switch t := s.term; {
	case s.State() >= Draining:
		s.turnAway(r)
	case t == nil:
		s.responder.refuse(r, s.why)
	case stalled:
		since := s.cfg.Clock.Now().Sub(s.Unconfirmed())
		s.responder.refuse(r, fmt.Sprintf("%s for %v", unconfirmed, since.Round(time.Second)))
	default:
		t.request(ctx, r)
	}
}

// turnAway keeps a request for the successor, or refuses it. The end of a session, which may have ended some leases, is
// left without an answer then.
func (s *shardActor) turnAway(r *Request) {
	switch {
	case s.drained.keepLate(r):
	case endsSession(r):
		s.responder.settle(r)
	default:
		s.responder.refuse(r, s.why)
	}
}

// decided takes in what a resource decided, or that it has panicked. Without a term, the one that was lost is being
// retired.
func (s *shardActor) decided(d *decision) {
	s.drained.keepQueued(d.activation.resource, d.outcome.Surrendered)
	switch {
	case s.term == nil:
		s.responder.revoke([]*decision{d}, s.why)
	case !d.made:
		s.responder.settle(d.request)
		s.term.panicked(d.activation)
	case s.term.decided(d):
		s.responder.settle(d.request)
	}
}

// termMessage handles a message of the present term. Those of an earlier one are void.
func (s *shardActor) termMessage(ctx actor.Context, m *termMessage) {
	if m.term != s.term {
		return
	}
	result, ok := m.message.(stored)
	switch {
	case !ok:
		s.term.receive(ctx, m.message)
	case result.err != nil:
		s.lose(ctx, result.err)
	default:
		for _, d := range s.term.stored() {
			s.responder.settle(d.request)
		}
	}
}

// lose retires the present term: the journal has refused an append, or its outcome is unknown. Only if the
// decisions in that append are certain not to be stored may they be answered.
func (s *shardActor) lose(ctx actor.Context, err error) {
	t := s.term
	s.term = nil
	s.closed.Store(int64(s.Unconfirmed()))
	s.cfg.Log.Warn("shard lost", "epoch", t.ledger.Head().Epoch, "error", err)
	if errors.Is(err, journal.ErrConflict) {
		s.cfg.Observer.Conflicted(s.cfg.Shard)
	}
	t.proofs.settle(fmt.Errorf("%w: shard %d has lost its journal: %w", ErrUnavailable, s.cfg.Shard, err))
	switch {
	case s.State() >= Draining:
	case s.cfg.Pass != nil && errors.Is(err, journal.ErrConflict):
		s.beginDrain(true)
	default:
		s.openLater(ctx, "could not write to its journal and is being opened again")
	}
	s.dropInFlight(t.batcher.inflight, err)
	s.responder.revoke(t.batcher.pending, s.why)
	for _, r := range t.retire(ctx, s.drained.evict(s.unavailable(s.why))) {
		s.turnAway(r)
	}
}

func (s *shardActor) dropInFlight(decisions []*decision, err error) {
	if errors.Is(err, journal.ErrConflict) || errors.Is(err, journal.ErrNotStored) {
		s.responder.revoke(decisions, s.why)
		return
	}
	s.responder.drop(decisions)
	if s.State() >= Draining && len(decisions) > 0 {
		s.drained.unanswered = err
	}
}

func (s *shardActor) barrier() {
	if s.term != nil && s.State() == Open {
		s.term.barrier()
	}
}

func (s *shardActor) noListener(m noListener) {
	if s.term != nil && s.State() == Open {
		s.term.noListener(m)
	}
}

// drain begins the end of the shard.
func (s *shardActor) drain(m drainShard) {
	if s.State() >= Draining {
		return
	}
	s.beginDrain(m.successor)
	if s.term != nil {
		s.term.closing = m.closed
		s.drained.brief = m.successor && m.closed == nil
		for _, r := range s.term.drain(s.drained.evict(s.unavailable(s.why))) {
			s.turnAway(r)
		}
	} else {
		s.opener.cancel()
	}
}

func (s *shardActor) beginDrain(successor bool) {
	s.why = "is being handed over or shut down"
	s.drained.begin(successor, s.cfg.Pass)
	s.passing.Store(s.drained.pass != nil)
	s.setState(Draining)
}

// abort gives up what is not stored yet.
func (s *shardActor) abort(ctx actor.Context) {
	if s.term != nil {
		s.lose(ctx, errors.New("the time to store what was decided is up"))
	}
}

// endIfDrained ends a shard that drains, when nothing of it is on its way.
func (s *shardActor) endIfDrained() {
	switch {
	case s.State() != Draining || s.stopped:
		return
	case s.term != nil && !s.term.isDrained(s.drained.brief):
		return
	}
	s.drained.passOn(s.responder.settle)
	if !s.requests.end() {
		return // the mailbox has more
	}
	s.stopAll()
	s.leftOver = s.drained.unanswered
	s.setState(Ended)
	close(s.ended)
}

// stopAll stops everything that the actor has started. Requests that were not answered stay so.
func (s *shardActor) stopAll() {
	s.opener.stop()
	if s.term != nil {
		s.term.end()
		s.term = nil
	}
	s.responder.settleAll()
}
