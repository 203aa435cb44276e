package lease_test

import (
	"cmp"
	"slices"

	"github.com/holdfast-io/holdfast/actors/lease"
	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/journal"
)

// rules are those by which recorded histories are checked for linearizability, here for one whose
// every instant is known: an operation is called and answered at the instants of the script.
type rules struct {
	owner, id string // of the last grant
	token     uint64
	end       messages.Event_Kind // ACQUIRED while it is held, unspecified if there was none
	lapse     lease.Instant       // not before this may it lapse; after a release or break, when that was
	over      map[[2]string]over  // requests that ended before the last grant, by owner and id
}

// over is how a request ended, and the token of its lease, if it had one. How a reentrant request ended
// that shared a lease is left to the model.
type over struct {
	how   messages.Status
	token uint64
}

func (o over) is(how messages.Status, token uint64) bool {
	return o.how == how && o.token == token || o.how == messages.Status_STATUS_UNSPECIFIED
}

// ended is how the request of an operation has ended, if it has.
func (r *rules) ended(op step) (over, bool) {
	if op.id == "" {
		return over{}, false
	}
	if op.who == r.owner && op.id == r.id {
		switch r.end {
		case messages.Event_ACQUIRED:
			return over{}, false
		case messages.Event_RELEASED:
			return over{messages.Status_RELEASED, r.token}, true
		default:
			return over{messages.Status_EXPIRED, r.token}, true
		}
	}
	o, ok := r.over[[2]string{op.who, op.id}]
	return o, ok
}

// shared notes a reentrant request that the present lease answers.
func (r *rules) shared(op step) {
	if op.id != "" && op.id != r.id {
		r.over[[2]string{op.who, op.id}] = over{token: r.token}
	}
}

// finished notes how a request has ended that the next grant makes the rules forget.
func (r *rules) finished() map[[2]string]over {
	if o, ok := r.ended(step{who: r.owner, id: r.id}); ok {
		r.over[[2]string{r.owner, r.id}] = o
	}
	return r.over
}

// takeOver forgets the requests that ended before the last grant.
func (r *rules) takeOver() { clear(r.over) }

// allow reports whether the operation may have had this answer, and takes the rules over it.
func (r *rules) allow(op step, now lease.Instant, reply *messages.Reply) bool {
	_, known := r.ended(op)
	present := r.end == messages.Event_ACQUIRED && op.who == r.owner && op.id == r.id
	ok := r.admit(op, now, reply)
	if op.verb == "release" && op.id != "" && !known && !present {
		r.over[[2]string{op.who, op.id}] = over{how: messages.Status_CANCELLED}
	}
	return ok
}

func (r *rules) admit(op step, now lease.Instant, reply *messages.Reply) bool {
	held := r.end == messages.Event_ACQUIRED
	after := *r // as it is if it has lapsed
	if held && now >= r.lapse {
		after.end = messages.Event_EXPIRED
	}
	free := after.end != messages.Event_ACQUIRED
	mine := r.end != messages.Event_KIND_UNSPECIFIED && op.who == r.owner && (op.token == 0 || op.token == r.token)
	shown := reply.GetLease()
	same := held && shown.GetOwner() == r.owner && shown.GetToken() == r.token
	past, over := r.ended(op)
	lapsed := false
	if !over {
		past, over = after.ended(op)
		lapsed = over
	}
	named := op.verb == "release" && op.id != "" && op.token == 0

	switch verb, status := op.verb, reply.GetStatus(); {
	case status == messages.Status_OVERLOADED, status == messages.Status_UNAVAILABLE, status == messages.Status_EXHAUSTED:
		return true

	case verb == "acquire" && status == messages.Status_GRANTED && same && op.who == r.owner && (op.reentrant || op.id == r.id):
		if op.reentrant {
			r.shared(op)
			r.lapse = max(r.lapse, op.at.Add(op.ttl))
		}
		return true
	case verb == "acquire" && status == messages.Status_GRANTED:
		start := op.at
		if op.wait > 0 {
			start = max(op.at, r.lapse)
		}
		ok := free && !over && shown.GetToken() == r.token+1
		*r = rules{op.who, op.id, shown.GetToken(), messages.Event_ACQUIRED, start.Add(op.ttl), after.finished()}
		return ok
	case verb == "acquire" && status == messages.Status_HELD:
		return same && (!op.reentrant || op.who != r.owner)
	case verb == "acquire" && (status == messages.Status_RELEASED || status == messages.Status_EXPIRED):
		if lapsed {
			*r = after
		}
		return over && past.is(status, shown.GetToken())
	case verb == "acquire" && status == messages.Status_CANCELLED && over:
		return past.is(status, 0)
	case verb == "acquire": // TIMEOUT, CANCELLED
		return held

	case named && status == messages.Status_RELEASED && held && op.who == r.owner && op.id == r.id:
		r.finish(messages.Event_RELEASED, now)
		return true
	case named && (status == messages.Status_RELEASED || status == messages.Status_EXPIRED):
		if lapsed {
			*r = after
		}
		return over && past.is(status, past.token)
	case named && status == messages.Status_NOT_HELD:
		return !over || past.is(messages.Status_CANCELLED, 0)

	case verb == "release" && status == messages.Status_RELEASED:
		ok := mine && (held || r.end == messages.Event_RELEASED)
		r.finish(messages.Event_RELEASED, now)
		return ok
	case verb == "release" && status == messages.Status_CANCELLED:
		return held
	case verb == "extend" && status == messages.Status_EXTENDED:
		r.lapse = op.at.Add(op.ttl)
		return mine && held
	case verb == "break" && status == messages.Status_RELEASED:
		ok := op.token == r.token && (held || r.end == messages.Event_BROKEN)
		r.finish(messages.Event_BROKEN, now)
		return ok
	case verb == "break" && status == messages.Status_STALE_TOKEN:
		return op.token != r.token

	case verb == "undeliverable": // as if the waiter had given it back
		r.finish(messages.Event_RELEASED, now)
		return held && op.token == r.token

	case status == messages.Status_EXPIRED:
		*r = after
		return op.who == r.owner && (r.end == messages.Event_EXPIRED || r.end == messages.Event_BROKEN)
	case verb == "break" && status == messages.Status_NOT_HELD:
		*r = after
		return free
	case status == messages.Status_NOT_HELD:
		*r = after
		ranOut := mine && r.end == messages.Event_EXPIRED
		repeated := mine && r.end == messages.Event_RELEASED && verb == "release"
		return free && !ranOut && !repeated
	case status == messages.Status_NOT_OWNER:
		return same && r.owner != op.who
	case status == messages.Status_STALE_TOKEN:
		return same && op.who == r.owner && op.token != 0 && op.token != r.token

	case verb == "get" && status == messages.Status_HELD:
		return same
	case verb == "get" && status == messages.Status_FREE:
		*r = after
		return free && (shown.GetToken() == r.token || r.end == messages.Event_KIND_UNSPECIFIED && shown == nil)
	}
	return false
}

func (r *rules) finish(end messages.Event_Kind, now lease.Instant) {
	if r.end == messages.Event_ACQUIRED {
		r.end, r.lapse = end, now
	}
}

// inEffect sorts the answers of one outcome by when they took effect: a release comes before
// the grant that follows from it, though it is answered after. Those without a change keep to
// the side where they are: waits that have run out first, the request itself last. An undeliverable grant counts
// as answered if it took a grant back.
func inEffect(o lease.Outcome, s step) []lease.Answer {
	answers := slices.Clone(o.Answers)
	release := func(c *journal.Change) bool { return c.GetKind() == messages.Event_RELEASED }
	if s.verb == "undeliverable" && slices.ContainsFunc(o.Changes, release) {
		answers = append(answers, lease.Answer{
			To: messages.ReplyTo{Subject: s.from}, Reply: &messages.Reply{Status: messages.Status_RELEASED},
		})
	}
	place := func(a lease.Answer) int {
		i := slices.IndexFunc(o.Changes, func(c *journal.Change) bool { return reports(a, c) })
		switch {
		case i >= 0:
			return i
		case a.To.Subject == s.from:
			return len(o.Changes)
		default:
			return -1
		}
	}
	return slices.SortedStableFunc(slices.Values(answers), func(a, b lease.Answer) int {
		return cmp.Compare(place(a), place(b))
	})
}

// reports reports whether the answer tells of the change.
func reports(a lease.Answer, c *journal.Change) bool {
	switch c.GetKind() {
	case messages.Event_ACQUIRED:
		return a.Reply.GetStatus() == messages.Status_GRANTED && a.Reply.GetLease().GetToken() == c.GetGrant().GetToken()
	case messages.Event_RELEASED, messages.Event_BROKEN:
		return a.Reply.GetStatus() == messages.Status_RELEASED
	default:
		return false
	}
}
