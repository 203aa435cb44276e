package actors

import (
	"context"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/holdfast-io/holdfast/actors/lease"
	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/journal"
)

// commits is the group commit of a tenure: one append is in flight, and what is decided meanwhile
// goes into the next.
type commits struct {
	writer *journal.Writer
	ctx    context.Context // ends with the tenure
	cancel context.CancelFunc

	pending []*decision
	// sent is the record on its way, nil if there is none; inflight are its decisions.
	sent     *journal.Record
	inflight []*decision
	since    lease.Instant
	flushing bool
}

// flush tells a tenure to append what is pending, once it has taken in what came before.
type flush struct{ tenure *tenure }

// stored is how an append has ended.
type stored struct {
	tenure *tenure
	err    error
}

// propose puts a decision into the next append.
func (t *tenure) propose(d *decision) {
	d.seat.unconfirmed++
	t.pending = append(t.pending, d)
	if t.sent == nil && !t.flushing {
		t.flushing = true
		t.tell(flush{t})
	}
}

func (t *tenure) flushed() {
	t.flushing = false
	t.appendNext()
}

// appendNext appends what is pending, or a page of the state when it is its turn.
func (t *tenure) appendNext() {
	if t.sent != nil {
		return
	}
	if r := t.nextPage(); r != nil {
		t.append(r)
		return
	}
	if len(t.pending) > 0 || t.due {
		t.append(t.nextCommit())
	}
}

// nextCommit makes a commit of what is pending, as far as it fits.
func (t *tenure) nextCommit() *journal.Record {
	n := t.fitting()
	t.inflight, t.pending = t.pending[:n:n], t.pending[n:]
	r := t.ledger.Next(t.writer, t.shard.cfg.Clock.Now().UnixMillis)
	c := r.GetCommit()
	c.Published, t.due = t.published(c.GetNumber()), false
	for _, d := range t.inflight {
		c.Changes = append(c.Changes, d.outcome.Changes...)
	}
	return r
}

// fitting returns how many of the pending decisions fit into one commit, at least one.
func (t *tenure) fitting() int {
	limits := t.shard.cfg.Tuning
	bytes := 0
	for n, d := range t.pending {
		bytes += d.weight()
		if n == limits.CommitChanges || n > 0 && bytes > limits.CommitBytes {
			return n
		}
	}
	return len(t.pending)
}

// append sends the record to the journal, on a goroutine of its own.
func (t *tenure) append(r *journal.Record) {
	t.sent = r
	t.since = t.shard.cfg.Clock.Now().Instant
	position := t.ledger.Head().Position
	t.shard.work.Go(func() {
		t.tell(stored{t, t.shard.cfg.Journal.Append(t.ctx, position, r)})
	})
}

// stalled reports whether the journal has kept an append waiting for so long that nothing new
// should queue behind it.
func (t *tenure) stalled() bool {
	return t.sent != nil && t.shard.cfg.Clock.Now().Sub(t.since) > t.shard.cfg.Tuning.StallAfter
}

// confirmed takes the record that is now stored over into the ledger, lets its answers go, and
// returns the decisions that are done.
func (t *tenure) confirmed(ctx actor.Context) []*decision {
	r, done := t.sent, t.inflight
	t.sent, t.inflight = nil, nil
	if r.GetPage() != nil {
		t.pageStored()
	} else {
		t.read(r, done)
	}
	t.appendNext() // the disk works while the answers leave
	for _, d := range done {
		t.release(ctx, d)
	}
	t.compactLater()
	return done
}

// read takes a commit over into the ledger.
func (t *tenure) read(r *journal.Record, done []*decision) {
	at := make([]lease.Instant, 0, len(r.GetCommit().GetChanges()))
	for _, d := range done {
		for range d.outcome.Changes {
			at = append(at, d.at)
		}
	}
	before := t.ledger.Head()
	err := t.ledger.Read(before.Position+1, r, func(i int) lease.Instant { return at[i] })
	if err != nil {
		panic(err) // the resources decided what the ledger cannot be: a bug
	}
	t.announce(r.GetCommit(), t.ledger.Head().Bytes-before.Bytes)
	t.report()
	t.tidyLater()
	for _, d := range done {
		t.tellOperator(d)
	}
}

// tellOperator logs what an operator did, and what one should know.
func (t *tenure) tellOperator(d *decision) {
	for _, change := range d.outcome.Changes {
		g := change.GetGrant()
		switch token := messages.Token(g.GetToken()); {
		case change.GetKind() == messages.Event_BROKEN:
			t.shard.cfg.Log.Info("lock broken", "resource", g.GetResource(), "owner", g.GetOwner(),
				"token", g.GetToken(), "reason", change.GetReason(), "answer_to", d.answerTo())
		case change.GetKind() == messages.Event_ACQUIRED && token >= messages.WarnToken:
			t.shard.lateTokens.Add(1)
			t.shard.cfg.Log.Warn("tokens are running out: move to another name", "resource", g.GetResource(),
				"token", g.GetToken(), "last", uint64(messages.MaxToken))
		}
	}
}

// answerTo is where the answer of the request behind the decision goes. It is all that is known of the
// sender: a request to break names no owner, and NATS does not pass on the user.
func (d *decision) answerTo() string {
	if d.request == nil {
		return ""
	}
	to, _ := d.request.from()
	return to.Subject
}

// release lets the answers of a decision go.
func (t *tenure) release(ctx actor.Context, d *decision) {
	d.seat.unconfirmed--
	t.done(d.seat)
	if d.reload {
		t.reload(ctx, d.seat)
	}
	t.shard.cfg.Outbox.Answer(t.shard.cfg.Shard, d.outcome.Answers)
}

// unfinished reports whether anything has yet to be decided or stored.
func (t *tenure) unfinished() bool { return t.busy > 0 || t.sent != nil }
