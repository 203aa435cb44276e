package audit

import (
	"cmp"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/holdfast-io/holdfast/messages"
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
		wrong := s.of(name)
		if e := entries[name]; e != nil {
			r.adopt(e, wrong)
		} else if r.forget(p, wrong) {
			s.Forgotten++
			s.forgot = append(s.forgot, name)
		}
	}
}

// same reports whether the entry of a page is what the journal shows of the resource, whole or shrunk.
func (r *resource) same(e *journal.Entry) bool {
	g := e.GetGrant()
	if len(r.held)+len(r.ended) > 0 {
		return e.GetOwnerDigest() == 0 && e.GetReserved() == r.reserved && e.GetState() == r.state &&
			proto.Equal(g, r.last) && slices.EqualFunc(holdings(e), r.held,
			func(a, b *holding) bool { return proto.Equal(a.Grant, b.Grant) }) &&
			slices.EqualFunc(endedOf(e), r.ended, func(a, b *ended) bool {
				return proto.Equal(a.Grant, b.Grant) && a.how == b.how && a.restMs == b.restMs
			})
	}
	same := requestOf(g) == requestOf(r.last) && isLike(g, r.last) && g.GetToken() == r.last.GetToken() &&
		block(g) == block(r.last)
	if e.GetOwnerDigest() != 0 {
		same = e.GetOwnerDigest() == cmp.Or(r.digest, digestOf(r.last)) && isTombstone(g, r.last)
	}
	if len(e.GetOthers())+len(endedOf(e)) > 0 {
		return false
	}
	if g == nil && r.reserved > r.last.GetToken() {
		return e.GetReserved() == r.reserved // what was granted before does not count any more
	}
	return same && e.GetState() == r.state && e.GetReserved() == r.reserved
}

// holdings are the leases that are held by an entry, the oldest first.
func holdings(e *journal.Entry) (held []*holding) {
	for _, other := range e.GetOthers() {
		other = proto.CloneOf(other)
		other.Resource = e.Name()
		held = append(held, &holding{Grant: other})
	}
	if e.GetState() == messages.Event_ACQUIRED {
		held = append(held, &holding{Grant: e.GetGrant()})
	}
	return held
}

// adopt takes in an entry.
func (r *resource) adopt(e *journal.Entry, wrong func(string, ...any)) {
	isSure := r.known && r.remembered
	if isSure && !r.same(e) {
		wrong("the page has %v, where the journal has token %d of %s (%s), reserved %d, and %d held, %d lost",
			e, r.last.GetToken(), r.last.GetOwner(), r.state, r.reserved, len(r.held), len(r.ended))
	}
	r.adoptEnded(e, isSure)
	held := holdings(e)
	for _, h := range held {
		if place := r.find(h.GetToken()); isSure && place >= 0 {
			h.due, h.rest = r.held[place].due, r.held[place].rest
		}
		r.fence, r.high = max(r.fence, lastFence(h.Grant)), max(r.high, last(h.Grant))
	}
	r.last, r.state, r.reserved, r.digest = e.GetGrant(), e.GetState(), e.GetReserved(), e.GetOwnerDigest()
	r.held = held
	r.unseen = r.unseen || r.reserved > 0 || !isSure
	r.known, r.remembered = true, true
}

// forget takes in that a page has no entry, and reports whether the resource was remembered until then.
func (r *resource) forget(p *journal.Page, wrong func(string, ...any)) (was bool) {
	if r.known && (len(r.held)+len(r.ended) > 0 || p.GetFloor() < r.top()) {
		wrong("the page forgets it where token %d stands (%s), reserved %d, %d held, %d lost; the floor is %d",
			r.last.GetToken(), r.state, r.reserved, len(r.held), len(r.ended), p.GetFloor())
	}
	was = r.remembered
	r.forgotten = r.forgotten || was
	r.remembered, r.above = false, max(r.above, r.top())
	return was
}

// digestOf stands for the owner of a grant, and for the hash of its secret if it has one.
func digestOf(g *journal.Grant) uint64 {
	who := g.GetOwner()
	if hash := g.GetSecretHash(); len(hash) > 0 {
		who += "\x00" + string(hash)
	}
	return max(journal.Hash(who), 1)
}
