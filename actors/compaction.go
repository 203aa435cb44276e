package actors

import (
	"github.com/holdfast-io/holdfast/messages"
)

// compaction writes the pages that have changed, each between two commits so that nobody waits for
// the whole, and then purges what of the journal they have made superfluous.
type compaction struct {
	// grownCommits and grownBytes are how far the journal has grown since the last one began.
	grownCommits, grownBytes int

	running bool
	// over: none begins any more, the shard is closing.
	over bool
	// through is where the journal ended when it began: all up to there will be in pages.
	through uint64
	// cursor is the hash from which on pages have yet to be written, writing the one on its way.
	cursor  uint64
	writing *page
	// yield lets a commit go first: the last record was a page.
	yield bool
	// retired are pages that smaller ones will have replaced when it ends.
	retired []string
	purging bool
}

// purged is how a purge has ended.
type purged struct {
	tenure  *tenure
	retired []string
	err     error
}

// grown notes that the journal has grown by a commit.
func (t *tenure) grown(r *messages.Record) {
	t.grownCommits++
	for _, c := range r.GetCommit().GetChanges() {
		t.grownBytes += weight(c.GetGrant())
	}
}

// compactLater begins a compaction if the journal has grown enough.
func (t *tenure) compactLater() {
	limits := t.shard.cfg.Tuning
	if t.over || t.running || t.purging || t.grownCommits < limits.CompactCommits && t.grownBytes < limits.CompactBytes {
		return
	}
	t.running, t.cursor, t.through = true, 0, t.ledger.position
	t.retired, t.ledger.superseded = t.ledger.superseded, nil
	t.grownCommits, t.grownBytes = 0, 0
	t.appendNext()
}

// nextPage returns the next page to write, nil if there is none or a commit goes first.
func (t *tenure) nextPage() *messages.Record {
	if !t.running || t.yield && len(t.pending) > 0 {
		t.yield = false
		return nil
	}
	m := t.memory()
	t.writing = t.ledger.from(t.cursor, m.wants)
	if t.writing == nil {
		t.purge()
		return nil
	}
	t.ledger.forget(t.writing, m)
	return t.ledger.record(t.writing)
}

func (t *tenure) memory() memory {
	return memory{
		before: t.shard.cfg.Clock.Now().UnixMillis - t.shard.cfg.Tuning.Remember.Milliseconds(),
		inUse:  func(resource string) bool { _, ok := t.seats[resource]; return ok },
	}
}

func (t *tenure) pageStored() {
	t.ledger.position++
	p := t.writing
	p.stored, p.dirty = true, false
	t.writing, t.cursor, t.yield = nil, p.end(), true
	if t.running && t.cursor == 0 {
		t.purge()
	}
}

// purge ends a compaction: the pages hold all up to where it began, so the journal may lose that,
// but for the history that readers were promised.
func (t *tenure) purge() {
	t.running, t.purging = false, true
	keep := uint64(t.shard.cfg.Tuning.History)
	through := min(t.through, t.ledger.marks.before(t.ledger.number-min(keep, t.ledger.number)))
	retired := t.retired
	t.retired = nil
	t.shard.work.Go(func() {
		t.tell(purged{t, retired, t.shard.cfg.Journal.Purge(t.ctx, through, retired)})
	})
}

func (t *tenure) purged(m purged) {
	t.purging = false
	if m.err != nil {
		t.shard.cfg.Log.Warn("cannot purge the journal; the next compaction tries again", "error", m.err)
		t.ledger.superseded = append(m.retired, t.ledger.superseded...)
	}
}
