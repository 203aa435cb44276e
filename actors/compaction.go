package actors

import (
	"context"
	"log/slog"

	"github.com/holdfast-io/holdfast/actors/lease"
	"github.com/holdfast-io/holdfast/actors/ledger"
	"github.com/holdfast-io/holdfast/messages/journal"
)

// purged reports how a purge has ended.
type purged struct {
	obsolete []string
	err      error
}

// compaction stores the pages that have changed, each between two commits so that no request waits for all
// of them, and then purges the commits that they replace.
type compaction struct {
	mailbox *mailbox
	journal Journal
	ctx     context.Context // ends with the term
	log     *slog.Logger
	limits  Tuning
	ledger  *ledger.Ledger

	// number and bytes are the ledger's when the last one began.
	number uint64
	bytes  int
	// factor is how many times the limits of the tuning the journal may grow: more if the pages are large, so that
	// storing all of them costs no more than some times what has been appended.
	factor int
	// free is how many free resources there were when the last one ended, but at least the limit.
	free int

	// pages is the pass under way, or the last one; running: it has pages to store.
	pages   *ledger.Checkpoint
	running bool
	// began is when the last one began, and observer receives how long it took.
	began    lease.Instant
	observer Observer
	// yield lets a commit go first: the last record was a page.
	yield bool
	// purging: a purge is under way. stopped: none begins any more.
	purging, stopped bool
}

// newCompaction counts the growth of the journal from what it holds already: the bytes that no page has, and
// the commits beyond the promised history.
func newCompaction(ctx context.Context, s *Shard, m *mailbox, l *ledger.Ledger) compaction {
	limits := s.cfg.Tuning
	return compaction{
		mailbox: m, journal: s.cfg.Journal, ctx: ctx, log: s.cfg.Log, limits: limits, ledger: l,
		observer: s.cfg.Observer,
		number:   min(l.First()+uint64(limits.History), l.Head().Number),
		bytes:    l.Checkpointed(), free: limits.MaxRemembered,
		factor: growth(l, limits),
	}
}

// growth returns the factor for a ledger: the journal may grow to half of what the pages have.
func growth(l *ledger.Ledger, limits Tuning) int {
	return max(1, l.Figures().Bytes/(2*limits.CompactBytes))
}

// isDue reports whether the journal has grown enough since the last one, or the number of
// free resources exceeds the limit by enough to make another one worth its cost.
func (c *compaction) isDue() bool {
	head := c.ledger.Head()
	return head.Number-c.number >= uint64(c.factor*c.limits.CompactCommits) ||
		head.Bytes-c.bytes >= c.factor*c.limits.CompactBytes ||
		c.ledger.Free() > c.free+c.limits.MaxRemembered/8
}

// begin begins one, unless one is under way or the shard drains, and reports whether it did.
func (c *compaction) begin() bool {
	if c.stopped || c.running || c.purging {
		return false
	}
	head := c.ledger.Head()
	c.running, c.pages, c.number, c.bytes = true, c.ledger.Checkpoint(), head.Number, head.Bytes
	c.began = c.mailbox.clock.Now().Instant
	return true
}

// stop stops it where it is. A page that is in flight may still be stored.
func (c *compaction) stop() { c.running, c.stopped = false, true }

// next returns the next page to append. nil: there is none, or a commit goes first. complete: all pages are
// stored.
func (c *compaction) next(commitWaits bool, retention func() ledger.Retention) (page *journal.Record, complete bool) {
	if !c.running || c.yield && commitWaits {
		c.yield = false
		return nil, false
	}
	page = c.pages.Next(retention())
	return page, page == nil
}

// stored notes that the page has been appended, and reports whether all pages are stored.
func (c *compaction) stored() (complete bool) {
	c.yield = true
	return c.pages.Stored() && c.running
}

// purge ends it: the pages hold everything up to where it began, so the journal may lose that, except the
// history that readers were promised, and what the watermark keeps.
func (c *compaction) purge(mayPurge func(ledger.Mark) bool) {
	c.running, c.purging = false, true
	c.free = max(c.ledger.Free(), c.limits.MaxRemembered)
	c.factor = growth(c.ledger, c.limits)
	number := c.ledger.Head().Number
	history := number - min(uint64(c.limits.History), number)
	through, obsolete := c.pages.Purge(func(m ledger.Mark) bool { return m.Number < history && mayPurge(m) })
	c.mailbox.work.Go(func() {
		err := contain(c.log, func() error { return c.journal.Purge(c.ctx, through, obsolete) })
		c.mailbox.send(purged{obsolete, err})
	})
}

func (c *compaction) purged(m purged) {
	c.purging = false
	c.observer.Compacted(c.mailbox.clock.Now().Sub(c.began))
	if m.err != nil {
		c.log.Warn("cannot purge the journal; the next compaction tries again", "error", m.err)
		c.ledger.KeepObsolete(m.obsolete)
	}
}

// recount lets the number of free resources count anew: some that were in use may be idle now.
func (c *compaction) recount() { c.free = c.limits.MaxRemembered }
