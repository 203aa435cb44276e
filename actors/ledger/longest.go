package ledger

import (
	"cmp"
	"math"
	"slices"

	"github.com/holdfast-io/holdfast/actors/lease"
	"github.com/holdfast-io/holdfast/actors/ranking"
	"github.com/holdfast-io/holdfast/messages"
)

// Longest answers a [Query] by HOLD in steps. It begins with the pages that may have the oldest leases, and ends when no
// other one can have any of the first.
type Longest struct {
	query Query
	top   *ranking.Top[held]
	// left are the pages that have yet to be looked at, in the order of what may be in them; nil before the first step.
	left  []span
	found Found
}

// span is the hashes of a page. If the page is split meanwhile, several have them.
type span struct {
	first, end uint64
	granted    int64
}

// held is a lease of a resource.
type held struct {
	resource string
	lease    lease.Lease
}

// NewLongest returns one that has yet to begin.
func NewLongest(q Query) *Longest { return &Longest{query: q, top: ranking.NewTop[held](q.Limit)} }

// Step looks at some pages, and reports whether no other one has to be looked at; see [Scan.Step].
func (s *Longest) Step(l *Ledger, sessions *lease.Sessions, now lease.Instant, queues Queues) (done bool) {
	if s.left == nil {
		s.left = l.spans()
	}
	for looked := 0; len(s.left) > 0 && !s.top.Excludes(s.left[0].granted); s.left = s.left[1:] {
		if looked >= scanEntries {
			return false
		}
		l.pages.from(s.left[0].first, func(p *page) bool {
			looked += len(p.entries) + p.leases + len(p.ephemeral)
			s.look(p)
			return p.end() == s.left[0].end
		})
	}
	s.show(sessions, now, queues)
	return true
}

// Result returns what was found.
func (s *Longest) Result() Found { return s.found }

// spans returns those of the pages with leases that are held, the one that may have the oldest first.
func (l *Ledger) spans() (all []span) {
	l.pages.each(func(p *page) {
		if p.granted < math.MaxInt64 {
			all = append(all, span{p.first(), p.end(), p.granted})
		}
	})
	slices.SortFunc(all, func(a, b span) int { return cmp.Compare(a.granted, b.granted) })
	return all
}

// look adds the leases of a page that may be among the first, and notes when its oldest one was granted.
func (s *Longest) look(p *page) {
	p.granted = math.MaxInt64
	add := func(resource string, h lease.Lease) {
		p.granted = min(p.granted, h.Grant.GetAcquiredAtMs())
		s.add(resource, h)
	}
	for resource, e := range p.entries {
		for h := range e.Holdings() {
			add(resource, h)
		}
	}
	for resource, all := range p.ephemeral {
		for _, h := range all {
			add(resource, h)
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
