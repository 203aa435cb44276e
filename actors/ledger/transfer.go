package ledger

import (
	"fmt"
	"iter"

	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/journal"
)

// Pages iterates over all pages in the order of their hashes, as they would be stored behind the last commit. The
// ledger must not change meanwhile.
func (l *Ledger) Pages() iter.Seq[*journal.Record] {
	return func(yield func(*journal.Record) bool) {
		l.pages.from(0, func(p *page) bool { return !yield(p.store(l.tail, l.floor)) })
	}
}

// Adopt takes a resource over from another journal, as a page there has it. It returns [journal.ErrCorrupt] if the
// resource is known already. The pages that it changes are not stored.
func (l *Ledger) Adopt(e *journal.Entry) error {
	p := l.pages.page(e.Name())
	if _, known := p.find(e.Name()); known {
		return fmt.Errorf("%w: resource %s is there twice", journal.ErrCorrupt, messages.QuoteResource(e.Name()))
	}
	p.insert(e)
	l.latest = max(l.latest, e.GetUsedMs())
	p.dirty = true
	l.splitHeavy(p)
	return nil
}

// RaiseFloor raises the low-water mark to at least the token.
func (l *Ledger) RaiseFloor(floor messages.Token) { l.floor = max(l.floor, floor) }
