package ledger

import (
	"fmt"

	"github.com/holdfast-io/holdfast/actors/lease"
	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/journal"
)

// load fills a new page with a stored one.
func (p *page) load(stored *journal.Page) error {
	tombstones := 0
	for _, s := range stored.GetEntries() {
		if s.GetOwnerDigest() != 0 {
			tombstones++
		}
	}
	p.reserve(len(stored.GetEntries())-tombstones, tombstones)
	for _, s := range stored.GetEntries() {
		resource := s.Name()
		if !stored.Covers(resource) {
			return fmt.Errorf("%w: resource %s belongs elsewhere", journal.ErrCorrupt, messages.QuoteResource(resource))
		}
		if _, known := p.find(resource); known {
			return fmt.Errorf("%w: resource %q is there twice", journal.ErrCorrupt, resource)
		}
		p.insert(s)
	}
	p.clean()
	return nil
}

// insert puts in a stored entry of a resource that is not there.
func (p *page) insert(s *journal.Entry) {
	resource := s.Name()
	e := &entry{used: s.GetUsedMs(), Image: lease.Restore(s)}
	if !e.IsFree() || e.OwnerDigest == 0 {
		p.add(resource, e)
	} else {
		p.addTombstone(resource, newTombstone(e))
	}
}

// store returns the page as it is to be stored behind the tail.
func (p *page) store(tail journal.Tail, floor messages.Token) *journal.Record {
	stored := &journal.Page{
		Prefix: p.prefix, Depth: p.depth,
		Number: tail.Number, Epoch: tail.Epoch, Floor: uint64(floor),
		Entries: make([]*journal.Entry, 0, len(p.entries)+len(p.tombstones)),
	}
	for resource, t := range p.tombstones {
		stored.Entries = append(stored.Entries, t.entry(resource).store(resource))
	}
	for resource, e := range p.entries {
		stored.Entries = append(stored.Entries, e.store(resource)) // mutant: PageForgetsTheFree
	}
	r := &journal.Record{Body: &journal.Record_Page{Page: stored}}
	r.SetFormat()
	return r
}

func (e *entry) store(resource string) *journal.Entry {
	s := e.Entry(resource)
	s.UsedMs = e.used
	return s
}
