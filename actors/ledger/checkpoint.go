package ledger

import "github.com/holdfast-io/holdfast/messages/journal"

// Checkpoint is one pass over the pages of a ledger. It stores those that the bucket does not have as
// they are, and those with something to forget. After it, the commits before it are not needed any more.
type Checkpoint struct {
	ledger *Ledger
	// through is where the journal ended when the pass began: its pages hold everything up to there.
	through uint64
	// cursor is the hash from which on pages have yet to be stored. It is no page, since pages split.
	cursor  uint64
	writing *page
	// obsolete are pages that the bucket has and that this pass makes superfluous.
	obsolete []string
}

// Checkpoint begins a pass. Only one may be under way.
func (l *Ledger) Checkpoint() *Checkpoint {
	c := &Checkpoint{ledger: l, through: l.position, obsolete: l.obsolete}
	l.obsolete = nil
	return c
}

// Next returns the next page to append to the journal, nil if the pass is complete. Nothing else may be
// appended before it: the page carries the low-water mark of what it leaves out.
func (c *Checkpoint) Next(r Retention) *journal.Record {
	l := c.ledger
	p := l.pages.from(c.cursor, r.wants)
	if p == nil {
		return nil
	}
	free := p.free()
	l.floor = max(l.floor, p.forget(r))
	l.free += p.free() - free
	c.writing = p
	return p.store(l.tail, l.floor)
}

// Stored notes that the page which Next returned has been appended, and reports whether the pass is
// complete.
func (c *Checkpoint) Stored() (complete bool) {
	c.ledger.position++
	c.writing.clean()
	c.cursor, c.writing = c.writing.end(), nil
	return c.cursor == 0
}

// Purge returns, after a complete pass, the position up to which the journal may be purged, and the stored
// pages that are obsolete. A commit is kept if mayPurge is false for a mark at or before it. 0: all
// commits are kept.
func (c *Checkpoint) Purge(mayPurge func(Mark) bool) (through uint64, obsolete []string) {
	return min(c.through, c.ledger.marks.before(mayPurge)), c.obsolete
}

// KeepObsolete takes back the pages of a purge that failed, for the next pass.
func (l *Ledger) KeepObsolete(pages []string) { l.obsolete = append(pages, l.obsolete...) }

// Checkpointed returns how many bytes of changes had been read before the first change that no stored page
// has: about where the last complete pass began.
func (l *Ledger) Checkpointed() int {
	since := l.bytes
	l.pages.each(func(p *page) { since = min(since, p.since) })
	return since
}
