package ledger

import (
	"strings"

	"github.com/holdfast-io/holdfast/actors/lease"
)

// Suspend notes what is not recorded of a resource that loses its actor: which of its reserved tokens have been issued,
// how the last ephemeral lease has ended, and that it was in use until now. The resource has no ephemeral lease.
func (l *Ledger) Suspend(resource string, i lease.Image, now lease.Instant) {
	p := l.pages.page(resource)
	e, known := p.find(resource)
	if i.Reserved == 0 || !known {
		return
	}
	e.used = max(e.used, l.usedAt(now))
	if _, hasTombstone := p.tombstones[resource]; hasTombstone {
		p.tombstones[resource] = newTombstone(e)
	}
	p.suspend(strings.Clone(resource), newTombstone(&entry{Image: i})) // the name may be a part of a larger string
}

func (p *page) suspend(resource string, t tombstone) {
	if p.suspended == nil {
		p.suspended = make(map[string]tombstone)
	}
	p.suspended[resource] = t
}

// Resume returns a copy of what is known of a resource that gets an actor. What [Ledger.Suspend] has noted counts once,
// since the actor may issue reserved tokens without a record.
func (l *Ledger) Resume(resource string) lease.Image {
	i, p := l.Image(resource), l.pages.page(resource)
	t, ok := p.suspended[resource]
	if !ok {
		return i
	}
	delete(p.suspended, resource) // mutant: BlockCountsTwice
	reserved := i.Floor
	if i.IsFree() {
		i = t.entry(resource).Image
	} else {
		i.Floor = t.token
	}
	i.Reserved = reserved
	return i
}
