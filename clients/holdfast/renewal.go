package holdfast

import (
	"time"

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
	// calls wait for an attempt that they may have caused.
	calls calls
	// downgrading: the attempts of this number and later ones ask for a downgrade, and the callers in downgrades wait
	// for it; 0: it is not asked for.
	downgrading uint64
	downgrades  calls
	// decided is the last attempt that may have asked for a downgrade on which was decided.
	decided uint64
	// payload is the request as it is sent, for the TTL that it asks for; 0: there is none.
	payload    []byte
	payloadTTL time.Duration
}

// send asks for more time, and is due again after a pause. When a caller waits, the pause is no longer than that
// of any other request.
func (r *renewal) send(receive func(*request.Answer)) {
	now := clock.Now()
	id := r.sender.Send(r.sender.Route(messages.OpExtend, r.key, r.Attempts()), r.message(), receive)
	if r.isAwaited() {
		r.Sent(id, now, messages.ResendAfter)
	} else {
		r.Sent(id, now, nil)
	}
}

// isAwaited reports whether an answer is needed soon: by a caller, or to learn under which token the lease is held.
func (r *renewal) isAwaited() bool { return len(r.calls) > 0 || r.downgrading > 0 }

// message returns the request, which is the same until something else is asked for.
func (r *renewal) message() []byte {
	if ttl := r.Asked(); r.payloadTTL != ttl {
		r.payloadTTL = ttl
		m := &messages.ExtendRequest{Owner: r.owner, Token: uint64(r.token), TtlMs: inMillis(ttl), Secret: r.secret}
		if r.downgrading > 0 {
			m.Limit = readers.limit
		}
		r.payload = request.Encode(m)
	}
	return r.payload
}

// granted takes a grant in. It returns false if the answer to the attempt does not matter any more.
func (r *renewal) granted(id uint64, l *messages.Lease) bool {
	settled, ok := r.Granted(id, millis(l.GetRemainingMs()))
	if ok {
		r.sender.Forget(settled...)
		r.calls.answer(id, nil)
	}
	return ok
}

// refuse goes back to the TTL that the service has agreed to.
func (r *renewal) refuse(id uint64, err error) {
	r.Ask(r.Agreed())
	r.calls.answer(id, err)
}

// noEffect drops an attempt on which no node decided. If a caller waits, the next one is soon.
func (r *renewal) noEffect(id uint64) {
	r.Drop(id)
	if r.isAwaited() && !r.HasOpen(id) {
		r.Hasten(clock.Now(), request.RetryAfter)
	}
}

// downgrade has the attempts from now on ask for a downgrade.
func (r *renewal) downgrade() { r.downgrading, r.payloadTTL = r.sender.LastID()+1, 0 }

// asksDowngrade reports whether the attempt asked for a downgrade that is not decided yet.
func (r *renewal) asksDowngrade(id uint64) bool { return r.downgrading > 0 && id >= r.downgrading }

// askedDowngrade reports whether the attempt may have asked for a downgrade on which was decided. What refuses it may say
// nothing of the TTL.
func (r *renewal) askedDowngrade(id uint64) bool { return id <= r.decided }

// downgraded takes in what has become of the downgrade, nil if the lease is shared now.
func (r *renewal) downgraded(err error) {
	r.downgrading, r.decided, r.payloadTTL = 0, r.sender.LastID(), 0
	r.downgrades.answer(r.decided+1, err)
}

// become takes in that the lease has another token.
func (r *renewal) become(token Token) { r.token, r.payloadTTL = token, 0 }

// stop expects no more answers.
func (r *renewal) stop() { r.sender.Forget(r.DropAll()...) }

// end answers all callers.
func (r *renewal) end(err error) { r.calls.answer(r.sender.LastID(), err) }
