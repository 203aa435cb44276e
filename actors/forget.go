package actors

import "math"

// memory says what of a ledger may be forgotten: free resources that have not changed since before,
// in Unix milliseconds, and are not in use. Clocks that disagree do no harm: whenever a resource is
// forgotten, its next token is above the shard's floor, which its last one has raised.
type memory struct {
	before int64
	inUse  func(resource string) bool
}

// forget drops what may be forgotten from the page, and raises the floor to its tokens. The page
// must be stored before anything else is, and carries the new floor with it.
func (l *ledger) forget(p *page, m memory) {
	p.oldest = math.MaxInt64
	for resource, e := range p.entries {
		switch {
		case e.Held():
		case e.used < m.before && !m.inUse(resource):
			l.floor = max(l.floor, e.Token())
			p.weight -= weight(e.Grant)
			delete(p.entries, resource)
		default:
			p.oldest = min(p.oldest, e.used)
		}
	}
}

// wants reports whether the page should be written by a compaction.
func (m memory) wants(p *page) bool {
	return p.dirty || !p.stored || p.oldest < m.before
}
