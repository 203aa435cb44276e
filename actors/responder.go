package actors

import (
	"github.com/holdfast-io/holdfast/actors/lease"
	"github.com/holdfast-io/holdfast/messages"
)

// responder refuses requests for a shard actor, and counts those that the actor has taken in and that are
// neither answered nor queued.
type responder struct {
	shard *Shard
	// taken counts those of no tenant, takenBy those of each tenant.
	taken   int64
	takenBy map[string]int64
}

// take counts a request in.
func (r *responder) take(q *Request) {
	if _, ok := q.replyTo(); ok {
		r.count(q.tenant(), 1)
	}
}

// count adds to the requests of a tenant, or of none.
func (r *responder) count(tenant string, n int64) {
	if tenant == "" {
		r.taken += n
		return
	}
	if r.takenBy[tenant] += n; r.takenBy[tenant] == 0 {
		delete(r.takenBy, tenant)
	}
}

// settle counts a request out; nil is none.
func (r *responder) settle(q *Request) {
	if q == nil {
		return
	}
	if _, ok := q.replyTo(); ok {
		tenant := q.tenant()
		r.count(tenant, -1)
		r.shard.requests.leave(tenant, 1)
	}
}

// settleAll counts out what is left.
func (r *responder) settleAll() {
	r.shard.requests.leave("", r.taken)
	r.taken = 0
	for tenant, n := range r.takenBy {
		r.shard.requests.leave(tenant, n)
	}
	clear(r.takenBy)
}

// refuse answers a request that was not decided.
func (r *responder) refuse(q *Request, why string) {
	if to, ok := q.replyTo(); ok {
		r.unavailable(lease.Answer{To: to}, why)
	}
	r.settle(q)
}

// revoke answers decisions that are certain not to be stored, but for the end of a session, whose earlier part may be.
func (r *responder) revoke(decisions []*decision, why string) {
	for _, d := range decisions {
		if endsSession(d.request) {
			continue
		}
		for _, a := range d.outcome.Answers {
			r.unavailable(lease.Answer{To: a.To, Waited: a.Waited}, why)
		}
	}
	r.drop(decisions)
}

// drop leaves decisions without an answer, because it is not known whether they were stored.
func (r *responder) drop(decisions []*decision) {
	for _, d := range decisions {
		d.activation.done()
		r.settle(d.request)
	}
}

// unavailable gives an answer its reply, and sends it.
func (r *responder) unavailable(a lease.Answer, why string) {
	a.Reply = &messages.Reply{
		Status: messages.Status_UNAVAILABLE, Error: r.shard.unavailable(why), Lasting: r.shard.lasts(),
	}
	r.shard.cfg.Outbox.Answer(r.shard.cfg.Shard, []lease.Answer{a})
}
