package actors

import (
	"github.com/holdfast-io/holdfast/actors/lease"
	"github.com/holdfast-io/holdfast/messages"
)

// responder refuses requests for a shard actor, and counts those that the actor has taken in and that are
// neither answered nor queued.
type responder struct {
	shard *Shard
	// taken counts them by the share of their tenant; nil is none.
	taken map[*Share]int64
}

// take counts a request in.
func (r *responder) take(q *Request) {
	if q.counted {
		r.taken[q.Share]++
	}
}

// settle counts a request out; nil is none.
func (r *responder) settle(q *Request) {
	if q != nil && q.counted {
		r.taken[q.Share]--
		r.shard.requests.leave(q.Share, 1)
	}
}

// settleAll counts out what is left.
func (r *responder) settleAll() {
	for share, n := range r.taken {
		r.shard.requests.leave(share, n)
	}
	clear(r.taken)
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
