package lease

import (
	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/journal"
)

// Entry returns the image of a resource as it is stored: the last lease apart from the others that are held and from
// those that are lost. The time of its use is missing.
func (i *Image) Entry(resource string) *journal.Entry {
	last := i.leases.last
	e := &journal.Entry{
		Grant: last.Grant, State: last.How, Reserved: uint64(i.Floor), OwnerDigest: i.OwnerDigest,
		RestingMs: last.RestMs, // mutant: RestNotStored
	}
	if last.Grant == nil {
		e.Resource = resource
	}
	for place := range i.leases.len() {
		switch l := i.leases.at(place); {
		case l.isLost():
			// mutant: LostLeasesNotInPages
			e.Lost = append(e.Lost, &journal.Loss{Grant: named(l.Grant, ""), How: l.How})
		case l.isHeld() && !i.leases.isLast(l.token()):
			e.Others = append(e.Others, named(l.Grant, "")) // mutant: OthersNotStored
		}
	}
	return e
}

// Restore returns the image that was stored as an entry. [Image.Restart] sets the deadlines.
func Restore(e *journal.Entry) Image {
	i := Image{
		Floor: messages.Token(e.GetReserved()), OwnerDigest: e.GetOwnerDigest(),
		leases: leases{last: Lease{Grant: e.GetGrant(), How: e.GetState(), RestMs: e.GetRestingMs()}},
	}
	for _, g := range e.GetOthers() {
		i.leases.putEarlier(Lease{Grant: named(g, e.Name()), How: messages.Event_ACQUIRED})
	}
	for _, lost := range e.GetLost() {
		if l := (Lease{Grant: named(lost.GetGrant(), e.Name()), How: lost.GetHow()}); !i.leases.isLast(l.token()) {
			i.leases.putEarlier(l)
		}
	}
	return i
}
