package actors

import "sync/atomic"

// Quota counts what the shards of a node hold together. Whoever lets requests in compares that with
// its limits; what is under way at the same moment may go a little over. The zero value is ready. It
// is safe for concurrent use.
type Quota struct{ held, waiting atomic.Int64 }

// Held returns how many resources are held.
func (q *Quota) Held() int64 { return q.held.Load() }

// Waiting returns how many requests wait.
func (q *Quota) Waiting() int64 { return q.waiting.Load() }

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
