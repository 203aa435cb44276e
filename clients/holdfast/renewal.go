package holdfast

import (
	"time"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/clients/holdfast/internal/lease"
	"github.com/holdfast-io/holdfast/clients/internal/clock"
	"github.com/holdfast-io/holdfast/clients/request"
	"github.com/holdfast-io/holdfast/messages"
)

// renewal asks the service to extend a lease, and answers the callers of [Lock.Extend]. Its owner tells it what
// to do, and guards it.
type renewal struct {
	lease.Renewal
	sender *request.Sender
	key    string
	owner  string
	secret []byte
	// token identifies the lease.
	token Token
	// ttl is what the attempts from the number asks on ask for, agreed what the last of them that was granted has asked for.
	// No more than most of that counts, see [config.most].
	ttl, agreed, most time.Duration
	asks              uint64
	// session is what the attempts of the number since and later ones name; nil: none. The lease may still be in former,
	// until one of these is answered. Both count the lease among those that may be in them, until it is stopped.
	session, former *session
	since           uint64
	stopped         bool
	// calls wait for an attempt that they may have caused.
	calls calls
	// downgrading: the attempts of this number and later ones ask for a downgrade, and the callers in downgrades wait
	// for it; 0: it is not asked for.
	downgrading uint64
	downgrades  calls
	// decided is the last attempt that may have asked for a downgrade on which was decided.
	decided uint64
	// header is that of the latest caller; it goes with the attempts for which a caller waits.
	header nats.Header
}

// ask has the attempts from now on ask for a TTL.
func (r *renewal) ask(ttl time.Duration) {
	if ttl != r.ttl {
		r.Change()
	}
	r.ttl, r.asks = ttl, r.sender.LastID()+1
	r.Ask(min(ttl, r.most))
}

// name has the attempts from now on name a session, nil: none. It reports whether they have named another one.
func (r *renewal) name(x *session) (changed bool) {
	if x != nil && x != r.session && x != r.former && !x.use() {
		x = nil
	}
	if x == r.session {
		return false
	}
	if r.former != nil && r.former != x {
		r.former.forsake()
		r.former.disuse()
	}
	r.former, r.session = r.session, x
	r.since = r.sender.LastID() + 1
	r.Change()
	return true
}

// named reports whether an attempt may have named the session. One that asks for a downgrade names none.
func (r *renewal) named(id uint64) bool {
	return r.session != nil && id >= r.since && !r.asksDowngrade(id)
}

// disuse takes the lease from the sessions that count it.
func (r *renewal) disuse() {
	if r.stopped {
		return
	}
	r.stopped = true
	for _, x := range []*session{r.session, r.former} {
		if x != nil {
			x.disuse()
		}
	}
}

// forsake lets the sessions run out that the lease may be in.
func (r *renewal) forsake() {
	for _, x := range []*session{r.session, r.former} {
		if x != nil {
			x.forsake()
		}
	}
}

// send asks for more time, and is due again after a pause. When a caller waits, the pause is no longer than that
// of any other request.
func (r *renewal) send(receive func(*request.Answer)) {
	now := clock.Now()
	if len(r.calls)+len(r.downgrades) == 0 {
		r.header = nil
	}
	m := request.Message{Header: r.header, Payload: r.message(), Owner: r.owner}
	id := r.sender.Send(r.sender.Route(messages.OpExtend, r.key, r.Attempts()), m, receive)
	var most func(n int) time.Duration
	if r.isAwaited() {
		most = messages.ResendAfter
	}
	r.Sent(id, now, most)
}

// isAwaited reports whether an answer is needed soon: by a caller, or to learn under which token the lease is held.
func (r *renewal) isAwaited() bool { return len(r.calls) > 0 || r.downgrading > 0 }

// message returns the request, which is the same until something else is asked for.
func (r *renewal) message() []byte {
	m := &messages.ExtendRequest{
		Owner: r.owner, Token: uint64(r.token), TtlMs: inMillis(r.ttl), Secret: r.secret, Order: r.Order(),
	}
	switch {
	case r.downgrading > 0:
		m.Limit = readers.limit
	case r.session != nil:
		m.Session = r.session.id
	}
	return request.Encode(m)
}

// granted takes a grant in. It returns false if the answer to the attempt does not matter any more. An order that is not
// its own says that another client extends the lease: then the service has not agreed to what the attempt asked for.
func (r *renewal) granted(id uint64, reply *messages.Reply) bool {
	own := r.Order()
	settled, ok := r.Granted(id, min(millis(reply.GetLease().GetRemainingMs()), r.most), reply.GetOrder())
	if !ok {
		return false
	}
	r.sender.Forget(settled...)
	if r.Order() != own {
		return true
	}
	if id >= r.asks {
		r.agreed = r.ttl
	}
	if r.former != nil && id >= r.since && !r.IsOpenBefore(r.since) {
		r.former.disuse()
		r.former = nil
	}
	r.calls.answer(id, nil)
	return true
}

// noEffect drops an attempt on which no node decided. If a caller waits, the next one is soon.
func (r *renewal) noEffect(id uint64) {
	r.Drop(id)
	if r.isAwaited() && !r.HasOpen(id) {
		r.Hasten(clock.Now(), request.RetryAfter)
	}
}

// asksDowngrade reports whether the attempt asked for a downgrade that is not decided yet.
func (r *renewal) asksDowngrade(id uint64) bool { return r.downgrading > 0 && id >= r.downgrading }

// downgraded takes in what has become of the downgrade, nil if the lease is shared now.
func (r *renewal) downgraded(err error) {
	r.downgrading, r.decided = 0, r.sender.LastID()
	r.Change()
	r.downgrades.answer(r.decided+1, err)
}

// over returns when the lease is over at the service, unless an attempt was delayed on its way.
func (r *renewal) over() time.Time {
	if r.session == nil {
		return r.End()
	}
	return lease.Later(r.End(), r.session.end())
}

// has reports whether the lease is in the session that the attempts name, and will stay there: no attempt from before
// may yet take it out.
func (r *renewal) has(l *messages.Lease) bool {
	return r.session != nil && r.downgrading == 0 && l.GetSession() == r.session.label && !r.IsOpenBefore(r.since)
}

// end answers all callers.
func (r *renewal) end(err error) { r.calls.answer(r.sender.LastID(), err) }
