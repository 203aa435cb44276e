package actors

import (
	"github.com/holdfast-io/holdfast/actors/ledger"
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
	over  bool
	pages *ledger.Checkpoint
	// yield lets a commit go first: the last record was a page.
	yield   bool
	purging bool
}

// purged is how a purge has ended.
type purged struct {
	tenure   *tenure
	obsolete []string
	err      error
}

// grown reports whether the journal has grown enough since the last compaction.
func (t *tenure) grown() bool {
	limits := t.shard.cfg.Tuning
	head := t.ledger.Head()
	return head.Number-t.fromNumber >= uint64(limits.CompactCommits) || head.Bytes-t.fromBytes >= limits.CompactBytes
}

// takenOver lets the first compaction of a tenure go by what the journal holds already: the bytes that
// no page has, and the commits that no reader was promised.
func (t *tenure) takenOver() {
	limits := t.shard.cfg.Tuning
	t.fromNumber = min(t.ledger.First()+uint64(limits.History), t.ledger.Head().Number)
	t.fromBytes, t.fromFree = t.ledger.Checkpointed(), limits.MaxRemembered
}

// crowded reports whether more free resources are remembered than may be, by so much that a compaction
// is worth its while.
func (t *tenure) crowded() bool {
	return t.ledger.Free() > t.fromFree+t.shard.cfg.Tuning.MaxRemembered/8
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
	head := t.ledger.Head()
	t.running, t.pages, t.fromNumber, t.fromBytes = true, t.ledger.Checkpoint(), head.Number, head.Bytes
	t.appendNext()
}

// nextPage returns the next page to write, nil if there is none or a commit goes first.
func (t *tenure) nextPage() *journal.Record {
	if !t.running || t.yield && len(t.pending) > 0 {
		t.yield = false
		return nil
	}
	r := t.pages.Next(t.retention())
	if r == nil {
		t.purge()
	}
	return r
}

func (t *tenure) retention() ledger.Retention {
	return ledger.Retention{
		Before: t.shard.cfg.Clock.Now().UnixMillis - t.shard.cfg.Tuning.Remember.Milliseconds(),
		Limit:  t.shard.cfg.Tuning.MaxRemembered,
		InUse:  func(resource string) bool { _, ok := t.seats[resource]; return ok },
	}
}

func (t *tenure) pageStored() {
	t.yield = true
	if complete := t.pages.Stored(); complete && t.running {
		t.purge()
	}
}

// purge ends a compaction: the pages hold all up to where it began, so the journal may lose that,
// but for the history that readers were promised, and for what has yet to be published.
func (t *tenure) purge() {
	t.running, t.purging = false, true
	t.fromFree = max(t.ledger.Free(), t.shard.cfg.Tuning.MaxRemembered)
	number := t.ledger.Head().Number
	history := number - min(uint64(t.shard.cfg.Tuning.History), number)
	through, obsolete := t.pages.Purge(func(m ledger.Mark) bool { return m.Number < history && t.mayGo(m) })
	t.shard.work.Go(func() {
		t.tell(purged{t, obsolete, t.shard.cfg.Journal.Purge(t.ctx, through, obsolete)})
	})
}

func (t *tenure) purged(m purged) {
	t.purging = false
	if m.err != nil {
		t.shard.cfg.Log.Warn("cannot purge the journal; the next compaction tries again", "error", m.err)
		t.ledger.KeepObsolete(m.obsolete)
	}
}
