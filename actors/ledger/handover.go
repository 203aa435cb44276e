package ledger

import (
	"github.com/holdfast-io/holdfast/actors/lease"
	"github.com/holdfast-io/holdfast/messages/journal"
)

// HandOver returns what is left of the leases and the delays at now; nothing if it takes more than so many bytes in a
// record. The name of a resource can be chosen so that its key is that of another lease: of the two the longer time
// counts, and so both have to be there.
func (l *Ledger) HandOver(now lease.Instant, bytes int) lease.Left {
	left := make(lease.Left)
	l.pages.each(func(p *page) {
		for _, e := range p.entries {
			if !e.IsFree() && !left.IsFull(bytes) {
				left.PutImage(now, &e.Image)
			}
		}
	})
	if left.IsFull(bytes) {
		return make(lease.Left)
	}
	return left
}

// Inherited returns what the commit right before the last one hands over, if the last one took the shard over; else
// nil.
func (l *Ledger) Inherited() *journal.HandOver { return l.inherited }
