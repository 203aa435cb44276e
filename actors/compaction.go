package actors

import (
	"github.com/holdfast-io/holdfast/messages/journal"
)

// compaction writes the pages that have changed, each between two commits so that nobody waits for
// the whole, and then purges what of the journal they have made superfluous.
type compaction struct {
	// fromNumber and fromBytes are where the ledger stood when the last one began.
	fromNumber uint64
	fromBytes  int
	// fromFree is how many free resources there were when the last one ended, but at least the limit.
	fromFree int

	running bool
	// over: none begins any more, and no alarm rings: the shard is leaving.
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

// grown reports whether the journal has grown enough since the last compaction.
func (t *tenure) grown() bool {
	limits := t.shard.cfg.Tuning
	return t.ledger.number-t.fromNumber >= uint64(limits.CompactCommits) || t.ledger.bytes-t.fromBytes >= limits.CompactBytes
}

// takenOver lets the first compaction of a tenure go by what the journal holds already: the bytes that
// no page has, and the commits that no reader was promised.
func (t *tenure) takenOver() {
	limits := t.shard.cfg.Tuning
	t.fromNumber = min(t.ledger.first+uint64(limits.History), t.ledger.number)
	t.fromBytes, t.fromFree = t.ledger.lacking(), limits.MaxRemembered
}

// crowded reports whether more free resources are remembered than may be, by so much that a compaction
// is worth its while.
func (t *tenure) crowded() bool {
	return t.ledger.free > t.fromFree+t.shard.cfg.Tuning.MaxRemembered/8
}

// compactLater begins a compaction if there is enough to do.
func (t *tenure) compactLater() {
	if t.grown() || t.crowded() {
		t.compact()
	}
}

// compact begins a compaction, unless there is one or the shard leaves.
func (t *tenure) compact() {
	if t.over || t.running || t.purging {
		return
	}
	t.running, t.cursor, t.through = true, 0, t.ledger.position
	t.retired, t.ledger.superseded = t.ledger.superseded, nil
	t.fromNumber, t.fromBytes = t.ledger.number, t.ledger.bytes
	t.appendNext()
}

// nextPage returns the next page to write, nil if there is none or a commit goes first.
func (t *tenure) nextPage() *journal.Record {
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
		limit:  t.shard.cfg.Tuning.MaxRemembered,
		inUse:  func(resource string) bool { _, ok := t.seats[resource]; return ok },
	}
}

func (t *tenure) pageStored() {
	t.ledger.position++
	p := t.writing
	p.clean()
	t.writing, t.cursor, t.yield = nil, p.end(), true
	if t.running && t.cursor == 0 {
		t.purge()
	}
}

// purge ends a compaction: the pages hold all up to where it began, so the journal may lose that,
// but for the history that readers were promised, and for what has yet to be published.
func (t *tenure) purge() {
	t.running, t.purging = false, true
	t.fromFree = max(t.ledger.free, t.shard.cfg.Tuning.MaxRemembered)
	history := t.ledger.number - min(uint64(t.shard.cfg.Tuning.History), t.ledger.number)
	through := min(t.through, t.ledger.marks.before(func(m mark) bool { return m.number < history && t.mayGo(m) }))
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
