package actors

import (
	"sync"
	"sync/atomic"
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

// use is one shard's part of a share.
type use struct {
	share         *Share
	held, waiting int
}

func (u *use) set(held, waiting int) {
	if held == u.held && waiting == u.waiting {
		return
	}
	u.share.held.Add(int64(held - u.held))
	u.share.waiting.Add(int64(waiting - u.waiting))
	u.held, u.waiting = held, waiting
}

// uses are one shard's parts of a quota: of all resources, and of those of each tenant.
type uses struct {
	use
	quota   *Quota
	tenants map[string]*use
}

func newUses(q *Quota) uses {
	return uses{use: use{share: &q.Share}, quota: q, tenants: make(map[string]*use)}
}

// setTenant notes how much the shard uses of a tenant's share.
func (u *uses) setTenant(tenant string, held, waiting int) {
	part := u.tenants[tenant]
	if part == nil {
		part = &use{share: u.quota.Tenant(tenant)}
		u.tenants[tenant] = part
	}
	part.set(held, waiting)
	if held == 0 && waiting == 0 {
		delete(u.tenants, tenant)
	}
}

// end takes the shard's parts back.
func (u *uses) end() {
	u.set(0, 0)
	for tenant := range u.tenants {
		u.setTenant(tenant, 0, 0)
	}
}
