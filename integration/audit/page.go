package audit

import (
	"cmp"

	"github.com/holdfast-io/holdfast/messages/journal"
)

// page checks that a page says what the journal says.
func (s *Shard) page(p *journal.Page) {
	s.Pages++
	if s.tail.Number == 0 && !s.partial {
		s.wrong("", "it stands before the first commit")
	}
	if err := s.tail.Check(p); err != nil {
		s.wrong("", "%v", err)
	}
	if s.tail.Number == 0 {
		s.tail = journal.Tail{Number: p.GetNumber(), Epoch: p.GetEpoch()}
	}
	if p.GetFloor() < s.floor {
		s.wrong("", "it lowers the floor from %d to %d", s.floor, p.GetFloor())
	}
	s.floor = p.GetFloor()
	entries := make(map[string]*journal.Entry)
	for _, e := range p.GetEntries() {
		if !p.Covers(e.Name()) {
			s.wrong(e.Name(), "it belongs to another page")
		}
		entries[e.Name()] = e
		s.resource(e.Name())
	}
	for name, r := range s.resources {
		if !p.Covers(name) {
			continue
		}
		wrong := func(format string, args ...any) { s.wrong(name, format, args...) }
		if e := entries[name]; e != nil {
			r.adopt(e, wrong)
		} else if r.forget(p, wrong) {
			s.Forgotten++
		}
	}
}

// same reports whether the entry of a page is what the journal tells of the resource, whole or shrunk.
func (r *resource) same(e *journal.Entry) bool {
	g := e.GetGrant()
	owner := g.GetOwner() == r.last.GetOwner() && g.GetRequestId() == r.last.GetRequestId()
	if e.GetOwnerDigest() != 0 {
		owner = !r.held() && e.GetOwnerDigest() == cmp.Or(r.digest, max(journal.Hash(r.last.GetOwner()), 1))
	}
	if g == nil && r.reserved > r.last.GetToken() {
		return e.GetReserved() == r.reserved // what was granted before does not count any more
	}
	return owner && g.GetToken() == r.last.GetToken() && e.GetState() == r.state && e.GetReserved() == r.reserved
}

// adopt takes in an entry.
func (r *resource) adopt(e *journal.Entry, wrong func(string, ...any)) {
	if r.known && r.remembered && !r.same(e) {
		wrong("the page has %v, where the journal has token %d of %s (%s), reserved %d",
			e, r.last.GetToken(), r.last.GetOwner(), r.state, r.reserved)
	}
	if !r.known || !r.remembered {
		r.due = 0
	}
	r.last, r.state, r.reserved, r.digest = e.GetGrant(), e.GetState(), e.GetReserved(), e.GetOwnerDigest()
	r.known, r.remembered = true, true
}

// forget takes in that a page has no entry, and reports whether the resource was remembered until then.
func (r *resource) forget(p *journal.Page, wrong func(string, ...any)) (was bool) {
	if r.known && (r.held() || p.GetFloor() < r.top()) {
		wrong("the page forgets it where token %d stands (%s), reserved %d; the floor is %d",
			r.last.GetToken(), r.state, r.reserved, p.GetFloor())
	}
	was = r.remembered
	r.remembered, r.above = false, max(r.above, r.top())
	return was
}
