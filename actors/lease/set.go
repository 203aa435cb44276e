package lease

import (
	"maps"

	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/journal"
)

// set replaces the metadata of a lease, which otherwise stays as it is. A repetition changes nothing and is not
// recorded.
func set(t *turn, e Set) {
	r := e.Request
	who := newCaller(r.GetOwner(), r.GetSecret())
	h, ok := t.image.own(who, r.GetToken())
	if !ok {
		t.answer(e.From, notOwn(t, who, r.GetToken(), messages.Status_NOT_HELD))
		return
	}
	if isNews(h.Grant, r) {
		g := with(h.Grant, func(g *journal.Grant) {
			g.Metadata, g.SetOrder = r.GetMetadata(), max(g.GetSetOrder(), r.GetOrder())
		})
		if why := outgrows(t.name(), &t.image, h.Grant, g); why != "" {
			t.answer(e.From, t.overloaded(why))
			return
		}
		t.apply(t.now.Instant, h.Grant, &journal.Change{Kind: messages.Event_UPDATED, Grant: g}) // mutant: SetIsLost
		h.Grant = g
	}
	t.confirm(e.From, messages.Status_UPDATED, h)
	// mutant: SetServesNobody
	t.serve() // the leases may be smaller
}

// isNews reports whether a set is to be recorded: it is not late, and has other metadata or a larger number.
func isNews(g *journal.Grant, r *messages.SetRequest) bool {
	return !isLate(r.GetOrder(), g.GetSetOrder()) &&
		(r.GetOrder() > g.GetSetOrder() || !maps.Equal(g.GetMetadata(), r.GetMetadata()))
}
