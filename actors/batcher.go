package actors

import (
	"context"
	"time"

	"github.com/holdfast-io/holdfast/actors/lease"
	"github.com/holdfast-io/holdfast/messages/journal"
)

type (
	// flush lets a term append what is pending, once it has taken in what came before.
	flush struct{}
	// stored reports how an append has ended.
	stored struct{ err error }
)

// appending is a record on its way to its position.
type appending struct {
	after  uint64
	record *journal.Record
}

// batcher is the group commit: one append is in flight, and what is decided meanwhile goes into the next.
type batcher struct {
	mailbox *mailbox
	// appends has room for the one append that may be due.
	appends chan appending
	// maxDecisions and maxBytes bound a commit.
	maxDecisions, maxBytes int
	stallAfter             time.Duration

	// pending are the decisions for the next commits.
	pending  []*decision
	flushing bool
	// sent is the record in flight, nil if there is none; inflight are its decisions.
	sent     *journal.Record
	inflight []*decision
	since    lease.Instant
}

func newBatcher(ctx context.Context, m *mailbox, j Journal, t Tuning) batcher {
	appends := make(chan appending, 1)
	m.work.Go(func() { appendAll(ctx, j, appends, m) })
	return batcher{
		mailbox: m, appends: appends,
		maxDecisions: t.CommitDecisions, maxBytes: t.CommitBytes, stallAfter: t.StallAfter,
	}
}

// appendAll makes the appends of a term until ctx ends with it. One goroutine makes them all, because a new one would
// grow its stack anew.
func appendAll(ctx context.Context, j Journal, appends <-chan appending, m *mailbox) {
	for {
		select {
		case a := <-appends:
			m.send(stored{contain(m.log, func() error { return j.Append(ctx, a.after, a.record) })})
		case <-ctx.Done():
			return
		}
	}
}

// add puts a decision into the next commit. A flush message lets the decisions about those requests into it that are in
// the shard's mailbox already.
func (b *batcher) add(d *decision) {
	d.activation.unconfirmed++
	b.pending = append(b.pending, d)
	if b.sent == nil && !b.flushing {
		b.flushing = true
		b.mailbox.send(flush{})
	}
}

// flushed notes that the flush message has come.
func (b *batcher) flushed() { b.flushing = false }

// next moves as many pending decisions as fit into one commit to those in flight, and returns them.
func (b *batcher) next() []*decision {
	n := b.fitting()
	b.inflight, b.pending = b.pending[:n:n], b.pending[n:]
	return b.inflight
}

// fitting returns how many of the pending decisions fit into one commit, at least one.
func (b *batcher) fitting() int {
	bytes := 0
	for n, d := range b.pending {
		bytes += d.weight()
		if n == b.maxDecisions || n > 0 && bytes > b.maxBytes {
			return n
		}
	}
	return len(b.pending)
}

// append lets the record be appended behind the position.
func (b *batcher) append(position uint64, r *journal.Record) {
	b.sent = r
	b.since = b.mailbox.clock.Now().Instant
	b.appends <- appending{position, r} // it does not block: one append is in flight at a time
}

// stored notes that the append has succeeded. It returns the record and its decisions.
func (b *batcher) stored() (r *journal.Record, done []*decision) {
	r, done = b.sent, b.inflight
	b.sent, b.inflight = nil, nil
	return r, done
}

// isAppending reports whether an append is in flight.
func (b *batcher) isAppending() bool { return b.sent != nil }

// isStalled reports whether the append in flight has taken so much time that no request should queue
// behind it.
func (b *batcher) isStalled() bool {
	return b.sent != nil && b.mailbox.clock.Now().Sub(b.since) > b.stallAfter
}
