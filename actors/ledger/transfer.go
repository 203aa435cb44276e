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
	l.insert(p, e)
	return nil
}

// Replace puts an entry in the place of what is known of a resource; nil: the resource is forgotten.
func (l *Ledger) Replace(resource string, e *journal.Entry) {
	p := l.pages.page(resource)
	if _, known := p.find(resource); known {
		p.drop(resource)
		p.dirty = true
	}
	if e != nil {
		l.insert(p, e)
	}
}

func (l *Ledger) insert(p *page, e *journal.Entry) {
	p.insert(e)
	l.latest = max(l.latest, e.GetUsedMs())
	p.dirty = true
	l.splitHeavy(p)
}

// Entry returns what a page has of a resource; nil if the resource is not remembered.
func (l *Ledger) Entry(resource string) *journal.Entry {
	e, known := l.pages.page(resource).find(resource)
	if !known {
		return nil
	}
	return e.store(resource)
}

// Floor returns the low-water mark.
func (l *Ledger) Floor() messages.Token { return l.floor }

// RaiseFloor raises the low-water mark to at least the token. If it rises, a page that has it is stored by the next
// checkpoint.
func (l *Ledger) RaiseFloor(floor messages.Token) {
	if floor > l.floor {
		l.floor = floor
		l.pages.from(0, func(*page) bool { return true }).dirty = true
	}
}
