package actors

import (
	"context"
	"time"

	"github.com/holdfast-io/holdfast/actors/ledger"
	"github.com/holdfast-io/holdfast/actors/publish"
	"github.com/holdfast-io/holdfast/messages/journal"
)

// handOverPublish is how long a hand-over waits for events to be published. Usually that takes a few
// milliseconds. The next owner publishes the rest, and the shard has no owner until then.
const handOverPublish = 100 * time.Millisecond

type (
	// recordDue lets a term look whether the watermark should be recorded.
	recordDue struct{}
	// publisherEnded says that nothing will be published any more.
	publisherEnded struct{}
	// publishTimeout says that the term has waited long enough for its events.
	publishTimeout struct{}
)

// watermark is how far a term has published its events, and how far the journal says so. Every commit
// records it; a commit without changes does so when none has come for a while, and at the end. The next
// owner then has little to publish again.
type watermark struct {
	mailbox     *mailbox
	ledger      *ledger.Ledger
	recordAfter time.Duration
	backlog     int

	// publisher is nil if no events are published. cancel ends it.
	publisher *publish.Publisher
	cancel    context.CancelFunc
	// seen is the number of the last commit when the timeout was set.
	seen    uint64
	timeout timeout
	// due: a commit is to be appended even if it has no changes.
	due bool
	// finishing: no more commits are given to the publisher; ended: it has ended.
	finishing, ended bool
	bound            timeout
}

// newWatermark begins to publish what is owed and what will be committed.
func newWatermark(ctx context.Context, s *Shard, m *mailbox, l *ledger.Ledger) watermark {
	w := watermark{mailbox: m, ledger: l, recordAfter: s.cfg.Tuning.RecordAfter, backlog: s.cfg.Tuning.Backlog}
	if s.cfg.Publisher == nil {
		return w
	}
	position, number := l.Owed()
	p := publish.New(publish.Config{
		Shard: s.cfg.Shard, Source: s.cfg.Journal, Sink: s.cfg.Publisher, AfterFunc: s.cfg.Clock.AfterFunc,
		Log: s.cfg.Log, Backlog: s.cfg.Tuning.Backlog, Counts: &s.eventCounts,
	}, position, number, l.Head().Number)
	ctx, w.cancel = context.WithCancel(ctx)
	w.publisher = p
	predecessor := s.publisher.Swap(p)
	m.work.Go(func() {
		_ = contain(s.cfg.Log, func() error { p.Run(ctx, predecessor); return nil })
		m.send(publisherEnded{})
	})
	w.recordLater()
	return w
}

// offer gives a commit, which the ledger has just read, to the publisher.
func (w *watermark) offer(c *journal.Commit, bytes int) {
	if w.publisher == nil || w.finishing {
		return
	}
	w.publisher.Offer(publish.Commit{Position: w.ledger.Head().Position, Commit: c, Bytes: bytes})
	w.recordLater()
}

// record returns what the commit of this number records.
func (w *watermark) record(number uint64) uint64 {
	w.due = false
	if w.publisher == nil {
		return number
	}
	return w.publisher.Through()
}

// mayPurge reports whether publishing does not need the journal up to a mark, or the journal has grown so
// much behind it that it is purged all the same.
func (w *watermark) mayPurge(m ledger.Mark) bool {
	return w.publisher == nil || m.Number <= w.publisher.Through() || w.ledger.Head().Bytes-m.Bytes > w.backlog
}

// isUnrecorded reports whether more has been published than the journal says.
func (w *watermark) isUnrecorded() bool {
	head := w.ledger.Head()
	return head.Published < min(head.Changed, w.publisher.Through())
}

// isBehind reports whether there are events that were not published.
func (w *watermark) isBehind() bool {
	return w.publisher != nil && w.publisher.Through() < w.ledger.Head().Changed
}

func (w *watermark) recordLater() {
	head := w.ledger.Head()
	if w.timeout.isSet() || head.Published >= head.Changed {
		return
	}
	w.seen = head.Number
	w.timeout.set(w.mailbox, w.recordAfter, recordDue{})
}

// recordIfQuiet lets a commit record the watermark if none has done so for a while.
func (w *watermark) recordIfQuiet() {
	w.timeout.clear()
	w.due = w.due || w.seen == w.ledger.Head().Number && w.isUnrecorded()
	w.recordLater()
}

// finish publishes the rest and records that, when nothing else is on its way. It reports whether nothing is
// left to do, and is called again until it does. brief: a successor waits, so publishing is bounded and not
// recorded; the successor publishes some events twice.
func (w *watermark) finish(brief bool) bool {
	switch {
	case w.publisher == nil:
		return true
	case !w.finishing:
		w.finishing = true
		w.publisher.Finish()
		if brief {
			w.bound.set(w.mailbox, handOverPublish, publishTimeout{})
		}
	case !w.ended:
	case !brief && w.isUnrecorded():
		w.due = true
	default:
		return true
	}
	return false
}

// giveUp ends the publisher before its time.
func (w *watermark) giveUp() {
	w.cancel()
	w.ended = true
}

func (w *watermark) stop() {
	w.timeout.stop()
	w.bound.stop()
	if w.cancel != nil {
		w.cancel()
	}
}
