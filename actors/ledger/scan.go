package ledger

import (
	"cmp"
	"slices"

	"github.com/holdfast-io/holdfast/actors/lease"
	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/journal"
)

// Query asks for leases that are held.
type Query struct {
	// Pattern selects resources.
	Pattern messages.Pattern
	// After is the resource to go on from, in the order of the listing; empty for the beginning.
	After string
	// Limit and Bytes bound the answer. It may be a little larger than Bytes.
	Limit, Bytes int
}

// scanEntries bounds how many held resources one step of a [Scan] looks at.
const scanEntries = 1024

// Scan answers a [Query] in steps. Leases come in the order of their resources' hashes: the order stays the
// same whatever changes between the steps, and going on from a resource costs no more than beginning.
type Scan struct {
	query Query
	// cursor is the hash from which on pages have yet to be looked at.
	cursor uint64
	size   int
	found  []*messages.Lease
	more   bool
}

// NewScan returns a scan that has yet to begin.
func NewScan(q Query) *Scan {
	s := &Scan{query: q}
	if q.After != "" {
		s.cursor = journal.Hash(q.After)
	}
	return s
}

// Step looks at some pages, and reports whether the scan is done.
func (s *Scan) Step(l *Ledger, now lease.Instant) (done bool) {
	looked := 0
	last := l.pages.from(s.cursor, func(p *page) bool {
		if p.held+len(p.ephemeral) > 0 {
			looked += len(p.entries) + len(p.ephemeral)
			s.more = !s.take(p, now)
		}
		return s.more || looked >= scanEntries
	})
	if last == nil || s.more {
		return true
	}
	s.cursor = last.end()
	return s.cursor == 0
}

// Result returns what was found, and whether there is more.
func (s *Scan) Result() (leases []*messages.Lease, more bool) { return s.found, s.more }

// take adds the leases of a page, and reports whether all of them fitted in.
func (s *Scan) take(p *page, now lease.Instant) bool {
	for _, at := range p.places(s.after(), s.query.Pattern) {
		if len(s.found) == s.query.Limit || s.size >= s.query.Bytes {
			return false
		}
		image := p.present(at.resource)
		s.found = append(s.found, image.Lease(now))
		s.size += weight(image.Grant)
	}
	return true
}

// after is the place to go on from.
func (s *Scan) after() (after place) {
	if s.query.After != "" {
		after = place{journal.Hash(s.query.After), s.query.After}
	}
	return after
}

// place is a resource's place in the order of a scan.
type place struct {
	hash     uint64
	resource string
}

func (p place) compare(q place) int {
	return cmp.Or(cmp.Compare(p.hash, q.hash), cmp.Compare(p.resource, q.resource))
}

// places returns the places of the held resources behind after, in order.
func (p *page) places(after place, pattern messages.Pattern) []place {
	var places []place
	add := func(resource string) {
		at := place{journal.Hash(resource), resource}
		if at.compare(after) <= 0 {
			return
		}
		if key, err := messages.EncodeKey(resource); err == nil && pattern.Matches(key) {
			places = append(places, at)
		}
	}
	for resource, e := range p.entries {
		if e.Held() {
			add(resource)
		}
	}
	for resource := range p.ephemeral {
		add(resource)
	}
	slices.SortFunc(places, place.compare)
	return places
}

// present is the present lease of a resource that is held.
func (p *page) present(resource string) *lease.Image {
	if i, ok := p.ephemeral[resource]; ok {
		return i
	}
	return &p.entries[resource].Image
}
