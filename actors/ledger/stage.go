package ledger

import (
	"fmt"

	"github.com/holdfast-io/holdfast/actors/lease"
	"github.com/holdfast-io/holdfast/messages/journal"
)

// Staged is a commit that may follow in the journal, and what it makes of its resources.
type Staged struct {
	commit *journal.Commit
	tail   journal.Tail
	// after has the changed resources, in the order of their first changes; places is where each stands, if there are
	// several.
	after  []staged
	places map[string]int
}

type staged struct {
	resource string
	entry
}

// maxSpare is the number of changes of a commit up to which the memory of its stage serves the next one.
const maxSpare = 256

// Stage checks a commit by the rules by which every later owner will read it, and returns what it leads to. The ledger
// does not change. decided is as in [Ledger.Read], and so is the error.
func (l *Ledger) Stage(c *journal.Commit, decided func(change int) lease.Instant) (*Staged, error) {
	s := &Staged{}
	if l.spare != nil {
		s, l.spare = l.spare, nil
	}
	s.commit, s.tail = c, l.tail
	if err := s.tail.Follow(c); err != nil { // mutant: EpochNotRaised
		return nil, err
	}
	if l.closed != nil && !c.GetOpened() {
		return nil, fmt.Errorf("%w: it follows the commit that has closed the journal", journal.ErrCorrupt)
	}
	if h := c.GetHandOver(); h != nil {
		if err := h.Check(); err != nil {
			return nil, err
		}
	}
	if n := len(c.GetChanges()); n > 1 && s.places == nil {
		s.places = make(map[string]int, n)
	}
	for i, change := range c.GetChanges() {
		if err := l.stage(s, change, decided(i)); err != nil {
			return nil, fmt.Errorf("change %d: %w", i, err)
		}
	}
	return s, nil
}

func (l *Ledger) stage(s *Staged, c *journal.Change, decided lease.Instant) error {
	resource := c.Name()
	if resource == "" || c.GetGrant().GetToken() == 0 && c.GetReserved() == 0 {
		return fmt.Errorf("%w: it names no resource or no token", journal.ErrCorrupt)
	}
	p := l.pages.page(resource)
	e := s.entry(p, resource)
	if !p.partial && !l.isPartial(s, p) { // else a page that is read later covers the resource, and this change too
		if err := follows(&e.Image, c); err != nil {
			return err
		}
	}
	e.Apply(c, decided)
	e.used = s.commit.GetAtMs()
	if l.began != (lease.Time{}) {
		e.used = l.usedAt(decided)
	}
	return nil
}

// entry returns the resource as the changes so far have it.
func (s *Staged) entry(p *page, resource string) *entry {
	if place, ok := s.places[resource]; ok {
		return &s.after[place].entry
	}
	if s.places != nil {
		s.places[resource] = len(s.after)
	}
	s.after = append(s.after, staged{resource: resource})
	e := &s.after[len(s.after)-1].entry
	if before, known := p.find(resource); known {
		e.Image = before.Clone()
	}
	return e
}

// isPartial reports whether commits before this one, the first that is read, may have changed the page.
func (l *Ledger) isPartial(s *Staged, p *page) bool {
	return l.tail.Number == 0 && s.commit.GetNumber() > 1 && !p.stored
}

// Apply takes the ledger over a staged commit, which stands at the position. No other record may have been applied
// meanwhile.
func (l *Ledger) Apply(position uint64, s *Staged) {
	c := s.commit
	if l.tail.Number == 0 {
		l.first = c.GetNumber()
		l.pages.each(func(p *page) { p.partial = l.isPartial(s, p) })
	}
	l.tail = s.tail
	l.inherited = nil
	if c.GetOpened() {
		l.inherited = l.handOver
	}
	l.handOver = c.GetHandOver() // mutant: RestIsInheritedTwice
	l.closed = c.GetClosed()
	for i := range s.after {
		l.put(s.after[i].resource, &s.after[i].entry)
	}
	l.latest = max(l.latest, c.GetAtMs())
	l.published, l.writer = max(l.published, c.GetPublished()), c.GetWriter().GetNode()
	l.bytes += commitWeight(c)
	if len(c.GetChanges()) > 0 {
		l.changed = c.GetNumber()
	}
	l.marks.add(Mark{Number: c.GetNumber(), position: position, Bytes: l.bytes})
	l.position = position
	if cap(s.after) <= maxSpare {
		clear(s.after)
		clear(s.places)
		s.after, l.spare = s.after[:0], s
	}
}

func (l *Ledger) put(resource string, e *entry) {
	p := l.pages.page(resource)
	held, free := p.leases, p.free()
	p.put(resource, e)
	l.addHeld(resource, p.leases-held)
	l.free += p.free() - free
	p.dirty, p.since = true, min(p.since, l.bytes)
	l.splitHeavy(p)
}
