package ledger

import (
	"cmp"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/holdfast-io/holdfast/actors/lease"
	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/journal"
)

// Query asks for leases that are held, or that hold their resources back.
type Query struct {
	// Tenant says whose resources: empty: those of no tenant, an account: its own, [messages.AllTenants]: all.
	Tenant string
	// Pattern selects resources, by their names within their tenants.
	Pattern messages.Pattern
	// After is the place to go on from, in the order of the listing. A resource of a tenant has its qualified name
	// there.
	After messages.Cursor
	// Limit and Bytes bound the answer. It may be a little larger than Bytes.
	Limit, Bytes int
	// Waiters asks for the queues of the resources, too.
	Waiters bool
	// By asks for the top of a ranking, without an After and without HeldBack.
	By messages.Ranking
	// HeldBack asks for the lost leases that hold their resources back, instead of those that are held.
	HeldBack bool
}

// Selects reports whether the resource, by its qualified name, is asked for.
func (q *Query) Selects(resource string) bool {
	tenant, name := messages.Unqualify(resource)
	if tenant != q.Tenant && q.Tenant != messages.AllTenants {
		return false
	}
	key, err := messages.EncodeKey(name)
	return err == nil && q.Pattern.Matches(key)
}

// Queues returns what waits for a resource, nil if nothing does. The queue lacks its resource and tenant.
type Queues func(resource string) *messages.Queue

// Found is the result of a [Query].
type Found struct {
	Leases []*messages.Lease
	Queues []*messages.Queue
	// More: there are leases behind the last one.
	More bool
}

// scanEntries bounds how many held resources one step of a [Scan] looks at.
const scanEntries = 1024

// Scan answers a [Query] in steps. Leases come in the order of their resources' hashes, and those of one resource in
// the order of their tokens: the order stays the same whatever changes between the steps, and going on from a place
// costs no more than beginning.
type Scan struct {
	query Query
	// after is the place of the query's cursor.
	after place
	// cursor is the hash from which on pages have yet to be looked at.
	cursor uint64
	size   int
	found  Found
}

// NewScan returns a scan that has yet to begin.
func NewScan(q Query) *Scan {
	s := &Scan{query: q}
	if q.After.Resource != "" {
		s.after = newPlace(q.After.Resource)
		s.cursor = s.after.hash
	}
	return s
}

// Step looks at some pages, and reports whether the scan is done. The sessions are those of the ledger's leases.
func (s *Scan) Step(l *Ledger, sessions *lease.Sessions, now lease.Instant, queues Queues) (done bool) {
	if !s.query.Waiters {
		queues = func(string) *messages.Queue { return nil }
	}
	looked := 0
	last := l.pages.from(s.cursor, func(p *page) bool {
		if p.taken+len(p.ephemeral) > 0 {
			looked += len(p.entries) + p.leases + len(p.ephemeral)
			s.found.More = !s.take(p, sessions, now, queues)
		}
		return s.found.More || looked >= scanEntries
	})
	if last == nil || s.found.More {
		return true
	}
	s.cursor = last.end()
	return s.cursor == 0
}

// Result returns what was found.
func (s *Scan) Result() Found { return s.found }

// take adds the leases of a page, and reports whether all of them fitted in.
func (s *Scan) take(p *page, sessions *lease.Sessions, now lease.Instant, queues Queues) bool {
	for _, at := range s.places(p) {
		listed := false
		for _, x := range s.leases(p, at.resource, sessions, now) {
			if at == s.after && x.lease.GetToken() <= uint64(s.query.After.Token) {
				continue
			}
			if len(s.found.Leases) >= s.query.Limit || s.size >= s.query.Bytes {
				return false
			}
			x.lease.Tenant, _ = messages.Unqualify(at.resource)
			s.found.Leases = append(s.found.Leases, x.lease)
			s.size += x.grant.Weight()
			if !listed {
				listed = true
				s.size += s.found.addQueue(at.resource, queues(at.resource))
			}
		}
	}
	return true
}

// addQueue adds the queue of a resource, of which there may be none, and returns its size.
func (f *Found) addQueue(resource string, q *messages.Queue) (size int) {
	if q == nil {
		return 0
	}
	q.Tenant, q.Resource = messages.Unqualify(resource)
	f.Queues = append(f.Queues, q)
	return proto.Size(q)
}

// place is a resource's place in the order of a scan.
type place struct {
	hash     uint64
	resource string
}

func newPlace(resource string) place { return place{journal.Hash(resource), resource} }

func (p place) compare(q place) int {
	return cmp.Or(cmp.Compare(p.hash, q.hash), cmp.Compare(p.resource, q.resource))
}

// places returns the places in a page of the resources of which there are leases behind the cursor, in order.
func (s *Scan) places(p *page) []place {
	var places []place
	add := func(resource string) {
		at := newPlace(resource)
		if behind := at.compare(s.after); behind < 0 || behind == 0 && s.query.After.Token == 0 {
			return
		}
		if s.query.Selects(resource) {
			places = append(places, at)
		}
	}
	s.resources(p, add)
	slices.SortFunc(places, place.compare)
	return places
}

// listed is a lease as a listing shows it.
type listed struct {
	lease *messages.Lease
	grant *journal.Grant
}

// resources calls visit with the resources of a page that have such leases as the query asks for, in any order. No
// ephemeral lease holds its resource back.
func (s *Scan) resources(p *page, visit func(resource string)) {
	if s.query.HeldBack {
		for resource, e := range p.entries {
			if e.HeldBack() {
				visit(resource)
			}
		}
		return
	}
	for resource, e := range p.entries {
		if e.Held() {
			visit(resource)
		}
	}
	for resource := range p.ephemeral {
		if e, ok := p.entries[resource]; !ok || !e.Held() {
			visit(resource)
		}
	}
}

// leases returns those of a resource, in the order of their tokens.
func (s *Scan) leases(p *page, resource string, sessions *lease.Sessions, now lease.Instant) (all []listed) {
	if s.query.HeldBack {
		for l := range p.entries[resource].Lost() {
			all = append(all, listed{l.Loss(now), l.Grant})
		}
		return all
	}
	for _, h := range p.holdings(resource) {
		all = append(all, listed{sessions.Lease(h, now), h.Grant})
	}
	return all
}

// OldestLease returns the lease of a resource that was granted first of those that are held, false if none is.
func (l *Ledger) OldestLease(resource string) (lease.Lease, bool) {
	held := l.pages.page(resource).holdings(resource)
	if len(held) == 0 {
		return lease.Lease{}, false
	}
	return held[0], true
}

// holdings returns the leases of a resource in the order of their tokens.
func (p *page) holdings(resource string) []lease.Lease {
	held := slices.Clone(p.ephemeral[resource])
	if e, ok := p.entries[resource]; ok {
		held = slices.AppendSeq(held, e.Holdings())
	}
	slices.SortFunc(held, func(a, b lease.Lease) int { return cmp.Compare(a.Grant.GetToken(), b.Grant.GetToken()) })
	return held
}
