package actors

import (
	"context"
	"fmt"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/holdfast-io/holdfast/actors/lease"
	"github.com/holdfast-io/holdfast/actors/ledger"
	"github.com/holdfast-io/holdfast/messages/journal"
)

// term is one node's ownership of a shard, from the opening of the journal to its loss. It joins its parts,
// which know nothing of one another. It belongs to the shard's goroutine.
type term struct {
	shard  *Shard
	writer *journal.Writer
	ctx    context.Context // ends with the term
	cancel context.CancelFunc

	ledger      *ledger.Ledger
	activations *activations
	timers      timers
	batcher     batcher
	compaction  compaction
	sweeper     sweeper
	watermark   watermark
	sessions    *sessions
	links       links
	proofs      proofs
	observation observation
	uses        uses
	// staged is the commit in flight, as the ledger has checked it; nil if there is none.
	staged *ledger.Staged
	// changes counts the changes that were decided.
	changes int
	// draining: no resource is woken any more. handedOver: the commit that hands over is appended, or need not be.
	draining, handedOver bool
	// closing: the last commit closes the journal; nil: another owner of the shard goes on with it.
	closing *journal.Closed
}

// termMessage is what a part of a term sends to the shard's goroutine.
type termMessage struct {
	term    *term
	message any
}

// newTerm begins a term with a ledger that has read the whole journal. If it panics, nothing of the term goes on.
func newTerm(self *actor.PID, s *Shard, l *ledger.Ledger, writer *journal.Writer, decided func(*decision)) *term {
	t := &term{shard: s, writer: writer, ledger: l, observation: newObservation(s), uses: newUses(s.cfg.Quota)}
	t.ctx, t.cancel = context.WithCancel(context.Background())
	begun := false
	defer func() {
		if !begun {
			t.cancel() // mutant: PanicLeavesATerm
			t.uses.end()
		}
	}()
	m := &mailbox{clock: s.cfg.Clock, work: &s.work, log: s.cfg.Log, send: func(message any) {
		s.system.Root.Send(self, &termMessage{t, message})
	}}
	counts := new(tally)
	t.sessions = newSessions(m, l.Head().Epoch, s.cfg.Tuning.MaxSessions, counts)
	t.activations = newActivations(s, m, l, t.sessions.Sessions, counts, decided)
	t.timers = newTimers(m)
	t.links = newLinks(s, &t.timers, l.Head().Epoch, t.activations.waitingFor)
	t.batcher = newBatcher(t.ctx, m, s.cfg.Journal, s.cfg.Tuning)
	t.sweeper = newSweeper(m, l, s.cfg.Tuning)
	now := s.cfg.Clock.Now()
	l.OnHeld(func(resource string, more int) { t.uses.add(resource, more, 0) })
	l.Restart(now, func(resource string, image *lease.Image) {
		t.sessions.Restore(now.Instant, image)
		if deadline := image.Soonest(); deadline < lease.Never {
			t.timers.set(&t.activations.add(resource).timer, deadline)
		}
	})
	t.takeOver(now.Instant)
	t.compaction = newCompaction(t.ctx, s, m, l)
	t.handleNews()
	t.timers.arm()
	t.sweeper.later()
	t.watermark = newWatermark(t.ctx, s, m, l)
	begun = true
	return t
}

// receive handles a message of a part, except [stored].
func (t *term) receive(ctx actor.Context, message any) {
	switch m := message.(type) {
	case flush:
		t.batcher.flushed()
		t.appendNext()
	case timersDue:
		t.wake(ctx)
	case passivateDue:
		t.activations.passivate(ctx)
	case settleDue:
		t.settleSome(ctx)
	case sweepDue:
		t.sweep()
	case recordDue:
		if t.watermark.recordIfQuiet(); t.watermark.due {
			t.appendNext()
		}
	case publisherEnded:
		t.watermark.ended = true
	case publishTimeout:
		t.watermark.giveUp()
	case purged:
		t.compaction.purged(m)
	default:
		panic(fmt.Sprintf("a term does not know %T", m))
	}
}

// request sends a request to its resource, or takes it in if it is about a session.
func (t *term) request(ctx actor.Context, r *Request) {
	switch r.Event.(type) {
	case lease.Keep, lease.EndSession:
		t.sessionRequest(r)
	default:
		t.activations.send(t.activations.activate(ctx, r.Resource), r)
	}
}

// decided takes in what a resource decided, and reports whether that was all there is to do: nothing of it
// waits for the journal.
func (t *term) decided(d *decision) (done bool) {
	t.timers.set(&d.activation.timer, d.wake)
	t.timers.arm()
	t.note(d)
	t.observation.decided(d)
	t.changes += len(d.outcome.Changes)
	t.activations.touch(d.activation, d.at)
	if t.sessions.HasNews() {
		defer t.handleNews()
	}
	if d.mustCommit() {
		t.batcher.add(d) // mutant: AnswerBeforeAppend
		return false
	}
	t.observation.final(d)
	t.notifyBroken(d)
	d.activation.done()
	t.answer(d.outcome.Answers)
	return true
}

// note counts the requests that wait and the ephemeral leases.
func (t *term) note(d *decision) {
	a, held := d.activation, d.outcome.InMemory
	if a.waiting() != d.waiting || a.ephemeral != len(held) {
		t.uses.add(a.resource, len(held)-a.ephemeral, d.waiting-a.waiting())
	}
	a.setWaiting(d.waiting, d.since)
	if a.ephemeral > 0 || len(held) > 0 {
		t.ledger.SetEphemeral(a.resource, held)
		a.setEphemeral(len(held), d.ephemeralShared())
	}
}

// panicked puts a resource that panicked in line for its state: it gets it when everything that it decided
// is confirmed. Until then it counts as busy.
func (t *term) panicked(a *activation) {
	t.activations.panicked(a)
	d := &decision{activation: a, reload: true} // its queue and its ephemeral leases are gone
	t.note(d)
	t.batcher.add(d)
}

// wakeAtOnce bounds how many resources one turn wakes, so that a million leases which end together do not
// need a million actors together.
const wakeAtOnce = 1000

// wake sends a tick to the resources whose deadline has come. A term that drains leaves them to the next
// owner: the events could not be published here any more.
func (t *term) wake(ctx actor.Context) {
	t.timers.fired()
	if t.draining {
		return
	}
	due := t.timers.due(t.shard.cfg.Clock.Now().Instant, wakeAtOnce)
	defer t.timers.arm()
	for _, x := range due {
		switch {
		case x.ofLink:
			t.links.send(x.session)
		case x.session != nil:
			t.sessionDue(x.session)
		default:
			t.request(ctx, &Request{Resource: x.resource, Event: lease.Tick{}})
		}
	}
	t.handleNews()
}

// sweep goes on with a pass of the sweeper, and begins a compaction if there is something to forget.
func (t *term) sweep() {
	if t.draining {
		return
	}
	done, expired := t.sweeper.step(t.retention())
	if !done {
		return
	}
	t.compaction.recount()
	if (expired || t.compaction.isDue()) && t.compaction.begin() {
		t.appendNext()
	}
}

func (t *term) retention() ledger.Retention {
	return ledger.Retention{
		Before: t.ledger.Before(t.shard.cfg.Clock.Now().Instant, t.shard.cfg.Tuning.Remember),
		Limit:  t.shard.cfg.Tuning.MaxRemembered,
		InUse:  t.activations.has,
	}
}

// appendNext appends the next page of a compaction, or else a commit of what is pending, unless an append is
// in flight.
func (t *term) appendNext() {
	if t.batcher.isAppending() {
		return
	}
	position, commitWaits := t.ledger.Head().Position, len(t.batcher.pending) > 0
	page, complete := t.compaction.next(commitWaits, t.retention)
	if complete {
		t.compaction.purge(t.watermark.mayPurge)
	}
	switch {
	case page != nil:
		t.append(position, page)
	case commitWaits || t.watermark.due:
		t.append(position, t.nextCommit())
	}
}

func (t *term) append(position uint64, r *journal.Record) {
	t.batcher.append(position, r)
	t.shard.unconfirmed.Store(int64(t.batcher.since))
}

// nextCommit returns the next commit, with as many pending decisions as fit. It panics if no owner could read that
// commit: once it was stored, none could open the shard.
func (t *term) nextCommit() *journal.Record {
	r := t.ledger.Next(t.writer, t.shard.cfg.Clock.Now().UnixMillis)
	c := r.GetCommit()
	c.Published = t.watermark.record(c.GetNumber())
	var at []lease.Instant
	for _, d := range t.batcher.next() {
		c.Changes = append(c.Changes, d.outcome.Changes...)
		for i := range d.outcome.Changes {
			at = append(at, d.outcome.Began(i, d.at))
		}
	}
	staged, err := t.ledger.Stage(c, func(i int) lease.Instant { return at[i] })
	if err != nil { // mutant: CommitIsNotChecked
		// the resources decided what the ledger refuses: a bug
		panic(fmt.Errorf("%s is not stored: %w", r.Describe(), err))
	}
	r.SetFormat()
	t.staged = staged
	return r
}

// stored applies the record that is stored now, lets its answers leave, and returns the decisions that are
// done.
func (t *term) stored() []*decision {
	r, done := t.batcher.stored()
	began, now := t.batcher.since, t.shard.cfg.Clock.Now()
	t.shard.unconfirmed.Store(int64(lease.Never))
	t.shard.confirmed.Store(int64(began))
	if r.GetPage() == nil {
		t.apply(r, done, now.Sub(began))
	} else if t.compaction.stored() {
		t.compaction.purge(t.watermark.mayPurge)
	}
	t.appendNext() // the disk works while the answers leave
	if len(t.sessions.settlements) > 0 {
		t.settleOn()
	}
	t.proofs.confirm(began)
	t.confirmed(r.GetCommit(), done, now)
	if t.compaction.isDue() && t.compaction.begin() {
		t.appendNext()
	}
	return done
}

// apply takes the ledger over the commit of these decisions, which was stored within the time that it took.
func (t *term) apply(r *journal.Record, decisions []*decision, took time.Duration) {
	before := t.ledger.Head()
	t.ledger.Apply(before.Position+1, t.staged)
	t.staged = nil
	t.watermark.offer(r.GetCommit(), t.ledger.Head().Bytes-before.Bytes)
	t.sweeper.later()
	t.observation.committed(r.GetCommit(), decisions, took)
}

// confirmed lets the answers of decisions leave. Those to batches leave together, so that they share messages; the
// others leave one by one, so that the first are sent while the rest is confirmed. c is their commit, confirmed now.
func (t *term) confirmed(c *journal.Commit, decisions []*decision, now lease.Time) {
	var batched []lease.Answer
	for _, d := range decisions {
		d.retract(c, now.Sub(d.at))
		t.notifyBroken(d)
		d.activation.unconfirmed--
		d.activation.done()
		if d.reload {
			t.reload(d.activation)
		}
		answers := d.outcome.Answers
		for i := range answers {
			answers[i].Committed = now.Instant
		}
		if len(answers) > 0 && answers[0].To.Batched {
			batched = append(batched, answers...)
		} else {
			t.answer(answers)
		}
	}
	t.answer(batched)
}

func (t *term) answer(answers []lease.Answer) {
	if len(answers) > 0 {
		t.shard.cfg.Outbox.Answer(t.shard.cfg.Shard, answers)
	}
}

// reload gives a resource that panicked its state back. If the tick itself panicked, its timer is gone. It is
// set again with a delay, so that a resource that always panics does not spin.
func (t *term) reload(a *activation) {
	image := t.activations.load(a)
	if t.sessions.Len() > 0 {
		t.sessions.Reset(t.shard.cfg.Clock.Now().Instant, a.resource, &image)
		t.handleNews()
	}
	if !image.IsFree() {
		later := t.shard.cfg.Clock.Now().Add(t.shard.cfg.Tuning.ReopenAfter)
		if soonest := image.Soonest(); soonest < lease.Never {
			later = max(soonest, later)
		}
		t.timers.set(&a.timer, later)
		t.timers.arm()
	}
	t.activations.resume(a)
}

// barrier lets a commit without changes show who owns the shard, unless an append in flight does so.
func (t *term) barrier() {
	if !t.batcher.isAppending() {
		t.watermark.due = true
		t.appendNext()
	}
}

// drain evicts the queued requests, and lets nothing begin that need not. It returns the requests about sessions that
// have no answer yet.
func (t *term) drain(evict lease.Event) (undecided []*Request) {
	t.draining = true
	t.compaction.stop()
	t.activations.evict(evict)
	return t.sessions.stop()
}

// isDrained reports whether everything has been decided, stored, published, recorded and handed over. It publishes and
// records as soon as nothing else is left to do; brief as in [watermark.finish].
func (t *term) isDrained(brief bool) bool {
	if t.activations.busy > 0 || t.batcher.isAppending() {
		return false
	}
	if t.watermark.finish(brief) {
		return t.handOver()
	}
	if t.watermark.due {
		t.appendNext()
	}
	return false
}

// retire ends a term that was lost. It evicts the queued requests and stops the actors. It returns the requests that
// were not decided.
func (t *term) retire(ctx actor.Context, evict lease.Event) (held []*Request) {
	t.end()
	t.activations.evict(evict)
	return append(t.activations.stopAll(ctx), t.sessions.stop()...)
}

// end stops the timers and goroutines of the term, and takes its part of the quota back.
func (t *term) end() {
	t.uses.end()
	t.cancel()
	t.shard.unconfirmed.Store(int64(lease.Never))
	t.proofs.settle(fmt.Errorf("%w: shard %d is not open any more", ErrUnavailable, t.shard.cfg.Shard))
	t.watermark.stop()
	for _, timeout := range []*timeout{&t.timers.timeout, &t.activations.timeout, &t.sweeper.timeout} {
		timeout.stop()
	}
}
