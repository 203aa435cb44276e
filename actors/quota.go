package actors

import "sync/atomic"

// Quota counts what the shards of a node hold together. A node compares that with its
// limits before it lets requests in; requests at the same moment may exceed them a little. The zero value is ready. It
// is safe for concurrent use.
type Quota struct{ held, waiting, pending atomic.Int64 }

// Held returns how many leases are held.
func (q *Quota) Held() int64 { return q.held.Load() }

// Waiting returns how many requests wait.
func (q *Quota) Waiting() int64 { return q.waiting.Load() }

// Pending returns how many requests are on their way: taken in by a shard, and neither answered nor queued.
func (q *Quota) Pending() int64 { return q.pending.Load() }

// pend counts requests that come, or go if n is negative.
func (q *Quota) pend(n int64) {
	if q != nil {
		q.pending.Add(n)
	}
}

// use is one shard's part of a quota.
type use struct {
	quota         *Quota
	held, waiting int
}

func (u *use) set(held, waiting int) {
	if u.quota == nil || held == u.held && waiting == u.waiting {
		return
	}
	u.quota.held.Add(int64(held - u.held))
	u.quota.waiting.Add(int64(waiting - u.waiting))
	u.held, u.waiting = held, waiting
}
