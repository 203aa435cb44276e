package lease

import "container/list"

// group is the sessions of one tenant, or of none.
type group struct {
	count int
	// idle are those that run without leases, the one first that was used least lately.
	idle list.List
}

// rest notes that a running session has no leases, or was used without.
func (s *Sessions) rest(now Instant, x *Session) {
	if x.used = max(x.used, now); len(x.leases) > 0 || !x.IsRunning() {
		return
	}
	if x.idle != nil {
		x.group.idle.MoveToBack(x.idle)
		return
	}
	x.idle = x.group.idle.PushBack(x)
	s.news.Sooner = append(s.news.Sooner, x)
}

// wake notes that a session has leases, or is gone.
func (x *Session) wake() {
	if x.idle != nil {
		x.group.idle.Remove(x.idle)
		x.idle = nil
	}
}

// groupOf returns the sessions of a tenant.
func (s *Sessions) groupOf(tenant string) *group {
	g := s.groups[tenant] // mutant: TenantsShareTheBoundOfSessions
	if g == nil {
		g = &group{}
		s.groups[tenant] = g
	}
	return g
}

// hasRoom reports whether a tenant, or none, may open a session. If there are too many, one without leases ends for it:
// of the tenant itself, or else of the one that has most of these.
func (s *Sessions) hasRoom(tenant string) bool {
	g := s.groupOf(tenant)
	full := len(s.byKey) >= s.Max
	if !full && (tenant == "" || g.count < s.Max/tenantShares) { // mutant: SessionsOfATenantUnbounded
		return true
	}
	if full && g.idle.Len() == 0 {
		for _, other := range s.groups {
			if other.idle.Len() > g.idle.Len() {
				g = other
			}
		}
	}
	if g.idle.Len() == 0 {
		return false
	}
	s.expireNow(g.idle.Front().Value.(*Session))
	return true
}
