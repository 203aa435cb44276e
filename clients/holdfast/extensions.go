package holdfast

import (
	"errors"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/clients/holdfast/internal/lease"
	"github.com/holdfast-io/holdfast/clients/internal/clock"
	"github.com/holdfast-io/holdfast/clients/request"
	"github.com/holdfast-io/holdfast/messages"
)

// extensions prolong one lease: they ask the service to extend it, take it into a session, and answer the callers of
// [Lock.Extend] and [Lock.Downgrade]. The mutex of the lease guards them.
type extensions struct {
	lease.Renewal
	of       extended
	mu       *sync.Mutex
	sender   *request.Sender
	sessions *sessions
	resource string
	key      string
	options  *acquireOptions
	// token identifies the lease.
	token Token
	// resting: a session prolongs the lease. over: the lease is not held any more.
	resting, over bool
	// ttl is what the attempts from the number asks on ask for, agreed what the last of them that was granted has asked
	// for. No more than maxKnown of that counts, see [config.maxKnown].
	ttl, agreed, maxKnown time.Duration
	asks                  uint64
	// lastHeld is when the longest hold is over; zero: there is none.
	lastHeld time.Time
	// session is what the attempts of the number since and later ones name; nil: none. The lease may still be in
	// former, until one of these is answered. Both count the lease among those that may be in them, until it has left.
	session, former *session
	since           uint64
	left            bool
	// calls wait for an attempt that they may have caused.
	calls calls
	// downgrading: the attempts of this number and later ones ask for a downgrade, and the callers in downgrades wait
	// for it; 0: it is not asked for.
	downgrading uint64
	downgrades  calls
	// decided is the last attempt that may have asked for a downgrade on which was decided.
	decided uint64
	// growing: the attempts of the number grows and later ones ask for so many tokens in all; 0: for none.
	growing uint32
	grows   uint64
	// header is that of the latest caller; it goes with the attempts for which a caller waits.
	header nats.Header
}

// extended is a lease as its extensions see it: a [handle]. They call it with its mutex held.
type extended interface {
	// adopt receives what the service shows of the lease.
	adopt(l *messages.Lease)
	// moveTo has a keeper prolong the lease, if that does.
	moveTo(k keeper, at time.Time)
	// schedule receives that the next attempt is due at another moment.
	schedule()
	// downgradeOver receives that a downgrade was decided on.
	downgradeOver()
	// shows receives an answer that shows the lease.
	shows(r *messages.Reply)
	// ungrown receives that the lease gets no more tokens.
	ungrown()
	// endanger receives why an attempt had no effect; nil: it had.
	endanger(err error)
	// lose receives that the lease has ended.
	lose(e *Error)
}

// until is when the lease must be considered over.
func (e *extensions) until(kept) time.Time { return e.Until() }

// add has the lease extended again that a session has prolonged. The next attempt is due at a moment.
func (e *extensions) add(_ kept, end, due time.Time) bool {
	if !e.resting {
		return false
	}
	e.resting = false
	e.Resume(end, due)
	return true
}

// remove leaves the lease to a session. Callers are answered on.
func (e *extensions) remove(kept) { e.resting = true }

// isActive reports whether attempts are to be sent.
func (e *extensions) isActive() bool {
	return !e.resting && !e.options.byHand && !e.isAtEnd() || e.isAwaited()
}

// isAtEnd reports whether the lease lasts for the longest hold, as far as an extension can make it.
func (e *extensions) isAtEnd() bool {
	return !e.lastHeld.IsZero() && (e.holdLeft() < e.shortest() || e.lastHeld.Sub(e.End()) < e.shortest())
}

// holdLeft is what is left of the longest hold.
func (e *extensions) holdLeft() time.Duration {
	return clock.Until(e.lastHeld).Truncate(time.Millisecond)
}

// shortest is the shortest TTL that the service grants.
func (e *extensions) shortest() time.Duration { return e.sessions.c.deployment.minTTL() }

// isAwaited reports whether an answer is needed soon: by a caller, or to learn which tokens the lease has.
func (e *extensions) isAwaited() bool { return len(e.calls) > 0 || e.downgrading > 0 || e.growing > 0 }

// next returns when something is due: an attempt, or the end of the lease, which a session reports; zero: nothing is.
func (e *extensions) next() (at time.Time) {
	if !e.resting {
		at = e.Until()
	}
	if e.isActive() && (at.IsZero() || e.Due().Before(at)) {
		at = e.Due()
	}
	return at
}

// wake sends an attempt that is due.
func (e *extensions) wake() {
	if !e.isActive() || clock.Now().Before(e.Due()) {
		return
	}
	if e.Attempts() > 0 {
		e.of.endanger(request.ErrNoAnswer)
	}
	e.send()
}

// renew asks for more time now.
func (e *extensions) renew() {
	e.send()
	e.of.schedule()
}

// reconnected asks at once for what may have been lost with the last connection.
func (e *extensions) reconnected(failing bool) {
	if e.isActive() && (e.HasOpen(0) || failing) {
		e.renew()
	}
}

// extend has the attempts from now on ask for a TTL, and takes the lease out of its session.
func (e *extensions) extend(ttl time.Duration) {
	e.of.moveTo(e, clock.Now())
	e.ask(ttl)
}

// bound has the attempts from now on ask for no more than what is left of the longest hold. It returns false if that is
// too little, which callers receive.
func (e *extensions) bound() bool {
	if e.lastHeld.IsZero() {
		return true
	}
	left := e.holdLeft()
	if left < e.shortest() {
		late := rule("MaxHold", "longer than the lock was held when it is extended or downgraded", "nearly over")
		e.calls.answer(e.sender.LastID()+1, invalid(messages.OpExtend, e.resource, late))
		if e.downgrading > 0 {
			e.downgraded(invalid(opDowngrade, e.resource, late))
		}
		return false
	}
	if left < e.ttl { // mutant: LongestHoldExceeded
		e.ask(left)
	}
	return true
}

// ask has the attempts from now on ask for a TTL.
func (e *extensions) ask(ttl time.Duration) {
	if ttl != e.ttl {
		e.Change()
	}
	e.ttl, e.asks = ttl, e.sender.LastID()+1
	e.Ask(min(ttl, e.maxKnown))
}

// askDowngrade has the attempts from now on ask for a downgrade.
func (e *extensions) askDowngrade() {
	e.downgrading = e.sender.LastID() + 1
	e.Change()
}

// join has the lease taken into another session now, because what says in which one it may be has changed.
func (e *extensions) join() {
	e.name(e.sessions.of(e.key, e.ttl, e.options))
	if e.session != nil {
		e.renew()
	}
}

// grow has the attempts from now on ask for so many tokens in all, until an answer shows them.
func (e *extensions) grow(tokens uint32) {
	e.growing, e.grows = tokens, e.sender.LastID()+1
	e.Change()
	e.renew()
}

// name has the attempts from now on name a session, nil: none. If that is another one, the lease leaves the session
// that prolongs it.
func (e *extensions) name(x *session) {
	if x != nil && x != e.session && x != e.former && !x.use() {
		x = nil
	}
	if x == e.session {
		return
	}
	if e.former != nil && e.former != x {
		e.former.forsake()
		e.former.disuse()
	}
	e.former, e.session = e.session, x
	e.since = e.sender.LastID() + 1
	e.Change()
	e.of.moveTo(e, clock.Now())
}

// named reports whether an attempt may have named the session. One that asks for a downgrade names none.
func (e *extensions) named(id uint64) bool {
	return e.session != nil && id >= e.since && !e.asksDowngrade(id)
}

// leave receives that the lease is in no session any more, or in one that runs out.
func (e *extensions) leave() {
	if e.left {
		return
	}
	e.left = true
	for _, x := range []*session{e.session, e.former} {
		if x != nil {
			x.disuse()
		}
	}
}

// forsake lets the sessions run out that the lease may be in.
func (e *extensions) forsake() {
	for _, x := range []*session{e.session, e.former} {
		if x != nil {
			x.forsake()
		}
	}
}

// send asks for more time, and is due again after a pause. When a caller waits, the pause is no longer than that
// of any other request. A repeated attempt names the session that the one before has named, if that takes leases yet.
func (e *extensions) send() {
	if !e.bound() {
		return
	}
	if e.downgrading == 0 && (e.Attempts() == 0 || e.session != nil && !e.session.takes(e.ttl)) {
		e.name(e.sessions.of(e.key, e.ttl, e.options))
	}
	now := clock.Now()
	if len(e.calls)+len(e.downgrades) == 0 {
		e.header = nil
	}
	m := request.Message{Header: e.header, Payload: e.message(), Owner: e.options.owner}
	// mutant: OrderForEachAttempt
	id := e.sender.Send(e.sender.Route(messages.OpExtend, e.key, e.Attempts()), m, e.answered)
	var maxPause func(n int) time.Duration
	if e.isAwaited() {
		maxPause = messages.ResendAfter
	}
	e.Sent(id, now, maxPause)
}

// message returns the request, which is the same until something else is asked for.
func (e *extensions) message() []byte {
	m := &messages.ExtendRequest{
		Owner: e.options.owner, Token: uint64(e.token), Secret: e.options.secret.value,
		TtlMs: inMillis(e.ttl), Order: e.Order(),
	}
	switch {
	case e.downgrading > 0:
		m.Limit = readers.limit
	case e.session != nil:
		m.Session = e.session.id
	}
	if e.downgrading == 0 {
		m.Tokens = e.growing
	}
	return request.Encode(m)
}

// answered receives the answer to an attempt.
func (e *extensions) answered(a *request.Answer) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.over {
		return
	}
	reply, err := a.Reply()
	switch {
	case a.NotSent != nil:
		e.noEffect(a.ID, a.NotSent)
	case err != nil:
		e.of.endanger(err)
	case reply == nil:
		e.noEffect(a.ID, request.ErrNoResponders)
	default:
		e.replied(a, reply)
	}
}

func (e *extensions) replied(a *request.Answer, r *messages.Reply) {
	switch r.GetStatus() {
	case messages.Status_EXTENDED:
		e.granted(a, r)
		e.of.shows(r)
	case messages.Status_UNAVAILABLE:
		e.noEffect(a.ID, refused(messages.OpExtend, e.resource, r))
	case messages.Status_OVERLOADED, messages.Status_INVALID, messages.Status_EXHAUSTED:
		e.refused(a.ID, refused(messages.OpExtend, e.resource, r))
	default:
		e.of.lose(lost(messages.OpExtend, e.resource, r))
	}
}

// granted receives a grant. An order that is not its own says that another client extends the lease: then the service
// has not agreed to what the attempt asked for.
func (e *extensions) granted(a *request.Answer, r *messages.Reply) {
	l := r.GetLease()
	if l.GetTokens() >= e.growing {
		e.growing = 0
	}
	e.of.adopt(l)
	if e.asksDowngrade(a.ID) {
		e.downgraded(nil)
	}
	own := e.Order()
	settled, ok := e.Granted(a.ID, min(millis(l.GetRemainingMs()), e.maxKnown), r.GetOrder())
	if !ok {
		return
	}
	e.sender.Forget(settled...)
	if e.Order() == own {
		e.agree(a.ID)
	}
	switch {
	case e.isIn(l):
		e.of.moveTo(e.session, a.Sent)
	case e.session == nil || l.GetSession() != e.session.label:
		e.of.moveTo(e, clock.Now())
	}
	if e.isAwaited() && !e.HasOpen(0) { // another client has asked for something else
		e.send()
	}
	e.of.schedule()
	if !e.HasOpen(a.ID) {
		e.of.endanger(nil)
	}
}

// agree takes in that the service has agreed to what the attempt asked for.
func (e *extensions) agree(id uint64) {
	if id >= e.asks {
		e.agreed = e.ttl
	}
	if e.former != nil && id >= e.since && !e.IsOpenBefore(e.since) {
		e.former.disuse()
		e.former = nil
	}
	e.calls.answer(id, nil)
}

// isIn reports whether the lease is in the session that the attempts name, and will stay there: no attempt from before
// may yet take it out.
func (e *extensions) isIn(l *messages.Lease) bool {
	// mutant: LateExtensionTakesOut
	return e.session != nil && e.downgrading == 0 && l.GetSession() == e.session.label && !e.IsOpenBefore(e.since)
}

// noEffect drops an attempt on which no node decided. If a caller waits, the next one is soon.
func (e *extensions) noEffect(id uint64, err error) {
	e.Drop(id)
	if e.isAwaited() && !e.HasOpen(id) {
		e.Hasten(clock.Now(), request.RetryAfter)
	}
	e.of.schedule()
	e.of.endanger(err)
}

// refused drops an attempt that the service has refused. The alarm brings the next one.
func (e *extensions) refused(id uint64, refusal *Error) {
	e.Drop(id)
	switch {
	case e.growing > 0 && id >= e.grows:
		e.growing = 0
		e.Change()
		if e.isActive() {
			e.renew() // nothing was decided on the time that was asked for with it
		}
		e.of.schedule()
		e.of.ungrown()
		return
	case errors.Is(refusal, ErrOverloaded):
		if e.named(id) { // the shard may have too many sessions
			e.name(nil)
		}
	case e.asksDowngrade(id):
		refusal.Op = string(opDowngrade)
		e.downgraded(refusal)
		if e.isActive() {
			e.renew() // nothing was decided on the extension that was asked for with it
		}
		return
	case id <= e.decided: // what refuses a downgrade that is decided on may say nothing of the TTL
		return
	case e.named(id): // it may be the session that is refused
		e.sessions.refuse()
		e.name(nil)
		e.renew()
		return
	default:
		e.ask(e.agreed) // the TTL that the service has agreed to
		e.calls.answer(id, refusal)
	}
	e.of.schedule()
	e.of.endanger(refusal)
}

// asksDowngrade reports whether the attempt asked for a downgrade that is not decided yet.
func (e *extensions) asksDowngrade(id uint64) bool { return e.downgrading > 0 && id >= e.downgrading }

// downgraded takes in what has become of the downgrade that was asked for, nil if the lease is shared now.
func (e *extensions) downgraded(err error) {
	e.downgrading, e.decided = 0, e.sender.LastID()
	e.Change()
	e.downgrades.answer(e.decided+1, err)
	e.of.downgradeOver()
}

// lastEnd returns when the lease is over at the service, unless an attempt or a keep was delayed on its way.
func (e *extensions) lastEnd() time.Time {
	if e.session == nil {
		return e.End()
	}
	return lease.Later(e.End(), e.session.lastEnd())
}

// stop expects no more answers. Then call [extensions.leave], and answer the callers.
func (e *extensions) stop() {
	e.over = true
	e.sender.Forget(e.DropAll()...)
}

// answer answers all callers.
func (e *extensions) answer(err error) {
	e.calls.answer(e.sender.LastID()+1, err)
	e.downgrades.answer(e.sender.LastID()+1, err)
}
