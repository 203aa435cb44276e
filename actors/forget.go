package actors

import (
	"cmp"
	"slices"
)

// memory says what of a ledger may be forgotten: free resources that are not in use, if they have not
// changed since before, in Unix milliseconds, and the oldest beyond limit. Clocks that disagree do no
// harm: whenever a resource is forgotten, its next token is above the shard's floor, which its last one
// has raised.
type memory struct {
	before int64
	limit  int
	inUse  func(resource string) bool
}

// share is how many free resources the page may remember: its part of the limit. Hashes spread them
// evenly, so that each page can forget by itself, and no turn of the shard looks at all.
func (m memory) share(p *page) int { return (m.limit + 1<<p.depth - 1) >> p.depth }

// wants reports whether the page should be written by a compaction.
func (m memory) wants(p *page) bool {
	return p.dirty || !p.stored || p.free() > m.share(p) || m.outlived(p)
}

// outlived reports whether the page has something that was remembered for long enough.
func (m memory) outlived(p *page) bool {
	return p.oldest < m.before && slices.ContainsFunc(p.forgettable(m), func(s spare) bool { return s.used < m.before })
}

// spare is a free resource that is not in use.
type spare struct {
	used     int64
	resource string
}

// compare puts the oldest first; where many are of the same time, names decide.
func (s spare) compare(o spare) int {
	return cmp.Or(cmp.Compare(s.used, o.used), cmp.Compare(s.resource, o.resource))
}

// forgettable returns all of the page that may be forgotten, in no order.
func (p *page) forgettable(m memory) (all []spare) {
	for resource, e := range p.entries {
		if !e.Held() && !m.inUse(resource) {
			all = append(all, spare{e.used, resource})
		}
	}
	for resource, t := range p.tombstones {
		if !m.inUse(resource) {
			all = append(all, spare{t.used(), resource})
		}
	}
	return all
}

// forget drops what may be forgotten from the page, and raises the floor to its tokens. The page
// must be stored before anything else is, and carries the new floor with it.
func (l *ledger) forget(p *page, m memory) {
	excess := p.free() - m.share(p)
	if p.oldest >= m.before && excess <= 0 {
		return
	}
	free, tombstones := p.free(), len(p.tombstones)
	all := p.forgettable(m)
	if excess > 0 {
		slices.SortFunc(all, spare.compare)
	}
	for i, s := range all {
		if i < excess || s.used < m.before {
			l.drop(p, s.resource)
		}
	}
	p.tombstones = refit(p.tombstones, tombstones)
	p.measure()
	l.free += p.free() - free
}

// drop forgets one free resource.
func (l *ledger) drop(p *page, resource string) {
	e, _ := p.find(resource)
	l.floor = max(l.floor, e.Token())
	if _, ok := p.tombstones[resource]; ok {
		p.removeTombstone(resource)
	} else {
		p.remove(resource, e)
	}
}
