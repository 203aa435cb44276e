package holdfast

import (
	"time"

	"github.com/holdfast-io/holdfast/clients/holdfast/internal/lease"
	"github.com/holdfast-io/holdfast/clients/request"
	"github.com/holdfast-io/holdfast/messages"
)

// renewal asks the service to extend a lease, and answers the callers of [Lock.Extend]. Its owner tells it what
// to do, and guards it.
type renewal struct {
	lease.Renewal
	sender *request.Sender
	claim  messages.Claim
	key    string
	owner  string
	// calls wait for an attempt that they may have caused.
	calls calls
	// payload is the request as it is sent, for the TTL that it asks for.
	payload    []byte
	payloadTTL time.Duration
}

// send asks for more time, and is due again after a pause. When a caller waits, the pause is no longer than that
// of any other request.
func (r *renewal) send(receive func(*request.Answer)) {
	now := time.Now()
	id := r.sender.Send(r.sender.Route(messages.OpExtend, r.key, r.Attempts()), r.message(), receive)
	if len(r.calls) > 0 {
		r.Sent(id, now, messages.ResendAfter)
	} else {
		r.Sent(id, now, nil)
	}
}

// message returns the request, which is the same until another TTL is asked for.
func (r *renewal) message() []byte {
	if ttl := r.Asked(); r.payloadTTL != ttl {
		r.payloadTTL = ttl
		r.payload = request.Encode(&messages.ExtendRequest{
			Owner: r.owner, Token: uint64(r.claim.Token), TtlMs: inMillis(ttl),
		})
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
	if len(r.calls) > 0 && !r.HasOpen(id) {
		r.Hasten(time.Now(), request.RetryAfter)
	}
}

// stop expects no more answers.
func (r *renewal) stop() { r.sender.Forget(r.DropAll()...) }

// end answers all callers.
func (r *renewal) end(err error) { r.calls.answer(r.sender.LastID(), err) }
