package lease

import (
	"fmt"
	"maps"

	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/journal"
)

// set replaces the metadata of a lease, which otherwise stays as it is. A repetition changes nothing and is not recorded.
func (s *State) set(now Time, e Set, o *Outcome) {
	r := e.Request
	who := newCaller(r.GetOwner(), r.GetSecret())
	h, ok := s.own(who, r.GetToken())
	if !ok {
		o.answer(e.From, s.notOwn(now, who, r.GetToken(), messages.Status_NOT_HELD))
		return
	}
	if isNews(h.Grant, r) {
		g := with(h.Grant, func(g *journal.Grant) {
			g.Metadata, g.SetOrder = r.GetMetadata(), max(g.GetSetOrder(), r.GetOrder())
		})
		if why := s.outgrows(h.Grant, g); why != "" {
			o.answer(e.From, s.overloaded(why))
			return
		}
		s.apply(now, h.Grant, &journal.Change{Kind: messages.Event_UPDATED, Grant: g}, o)
		h.Grant = g
	}
	s.confirm(now, e.From, messages.Status_UPDATED, h, o)
	s.serve(now, o) // the leases may be smaller
}

// isNews reports whether a set is to be recorded: it is not late, and has other metadata or a larger number.
func isNews(g *journal.Grant, r *messages.SetRequest) bool {
	return !isLate(r.GetOrder(), g.GetSetOrder()) &&
		(r.GetOrder() > g.GetSetOrder() || !maps.Equal(g.GetMetadata(), r.GetMetadata()))
}

// outgrows says why a lease may not become as large as this beside the others that are held; empty: it may.
func (s *State) outgrows(before, after *journal.Grant) string {
	more := after.Weight() - before.Weight()
	if n := s.image.Holders(); n > 1 && more > 0 && s.image.Weight()+more > mostWeight {
		return fmt.Sprintf("resource %q: %d leases with their owners and metadata would take more than %d bytes, the most "+
			"that may; set less, or try later", s.name(), n, mostWeight)
	}
	return ""
}
