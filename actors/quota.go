package actors

import (
	"sync"
	"sync/atomic"

	"github.com/holdfast-io/holdfast/messages"
)

// Quota counts what the shards of a node hold together. A node compares that with its
// limits before it lets requests in; requests at the same moment may exceed them a little. The zero value is ready. It
// is safe for concurrent use.
type Quota struct {
	Share
	// tenants has the [Share] of each tenant that was asked for or that has used a shard.
	tenants sync.Map
}

// Share counts what the shards of a node hold together, of all resources or of those of one tenant. It is safe for
// concurrent use.
type Share struct{ held, waiting, pending atomic.Int64 }

// Held returns how many leases are held.
func (s *Share) Held() int64 { return s.held.Load() }

// Waiting returns how many requests wait.
func (s *Share) Waiting() int64 { return s.waiting.Load() }

// Pending returns how many requests are on their way: taken in by a shard, and neither answered nor queued.
func (s *Share) Pending() int64 { return s.pending.Load() }

// Tenant returns the part of a tenant. It stays the same one; nil for the empty name.
func (q *Quota) Tenant(name string) *Share {
	if name == "" {
		return nil
	}
	share, ok := q.tenants.Load(name)
	if !ok {
		share, _ = q.tenants.LoadOrStore(name, new(Share))
	}
	return share.(*Share) //nolint:forcetypeassert // nothing else is stored
}

// pend counts requests that come, or go if n is negative. They have the share of a tenant, or nil.
func (q *Quota) pend(share *Share, n int64) {
	q.pending.Add(n)
	if share != nil {
		share.pending.Add(n)
	}
}

// uses are one shard's parts of a quota, by tenant; those of no tenant are under the empty name.
type uses struct {
	quota *Quota
	of    map[string]use
}

// use is a part of a share.
type use struct{ held, waiting int }

func newUses(q *Quota) uses { return uses{quota: q, of: make(map[string]use)} }

// add notes that there are more leases of a resource, and that more requests wait for it; fewer if negative.
func (u *uses) add(resource string, held, waiting int) {
	tenant, _ := messages.Unqualify(resource)
	u.addOf(tenant, held, waiting)
}

func (u *uses) addOf(tenant string, held, waiting int) {
	part := u.of[tenant]
	part.held, part.waiting = part.held+held, part.waiting+waiting
	if u.of[tenant] = part; part == (use{}) {
		delete(u.of, tenant)
	}
	u.quota.held.Add(int64(held))
	u.quota.waiting.Add(int64(waiting))
	if tenant != "" {
		share := u.quota.Tenant(tenant)
		share.held.Add(int64(held))
		share.waiting.Add(int64(waiting))
	}
}

// end takes the shard's parts back.
func (u *uses) end() {
	for tenant, part := range u.of {
		u.addOf(tenant, -part.held, -part.waiting)
	}
}
