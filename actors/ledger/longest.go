package ledger

import (
	"github.com/holdfast-io/holdfast/actors/lease"
	"github.com/holdfast-io/holdfast/actors/ranking"
	"github.com/holdfast-io/holdfast/messages"
)

// Longest answers a [Query] by HOLD in steps.
type Longest struct {
	query Query
	top   *ranking.Top[held]
	// cursor is the hash from which on pages have yet to be looked at.
	cursor uint64
	found  Found
}

// held is a lease of a resource.
type held struct {
	resource string
	lease    lease.Lease
}

// NewLongest returns one that has yet to begin.
func NewLongest(q Query) *Longest { return &Longest{query: q, top: ranking.NewTop[held](q.Limit)} }

// Step looks at some pages, and reports whether all have been looked at; see [Scan.Step].
func (s *Longest) Step(l *Ledger, sessions *lease.Sessions, now lease.Instant, queues Queues) (done bool) {
	looked := 0
	last := l.pages.from(s.cursor, func(p *page) bool {
		looked += len(p.entries) + p.leases + len(p.ephemeral)
		s.look(p)
		return looked >= scanEntries
	})
	if last != nil {
		if s.cursor = last.end(); s.cursor != 0 {
			return false
		}
	}
	s.show(sessions, now, queues)
	return true
}

// Result returns what was found.
func (s *Longest) Result() Found { return s.found }

// look adds the leases of a page that may be among the first.
func (s *Longest) look(p *page) {
	for resource, e := range p.entries {
		for h := range e.Holdings() {
			s.add(resource, h)
		}
	}
	for resource, all := range p.ephemeral {
		for _, h := range all {
			s.add(resource, h)
		}
	}
}

func (s *Longest) add(resource string, h lease.Lease) {
	if s.top.Excludes(h.Grant.GetAcquiredAtMs()) || !s.query.Selects(resource) {
		return
	}
	at := ranking.Place{First: h.Grant.GetAcquiredAtMs(), Token: h.Grant.GetToken()}
	at.Tenant, at.Name = messages.Unqualify(resource)
	s.top.Add(at, held{resource, h})
}

// show makes the result, as much of it as fits.
func (s *Longest) show(sessions *lease.Sessions, now lease.Instant, queues Queues) {
	size, queued := 0, map[string]bool{}
	s.top.Each(func(at ranking.Place, h held) bool {
		if size >= s.query.Bytes {
			return false
		}
		shown := sessions.Lease(h.lease, now)
		shown.Tenant = at.Tenant
		s.found.Leases = append(s.found.Leases, shown)
		size += h.lease.Grant.Weight()
		if s.query.Waiters && !queued[h.resource] {
			queued[h.resource] = true
			size += s.found.addQueue(h.resource, queues(h.resource))
		}
		return true
	})
}
