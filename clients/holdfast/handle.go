package holdfast

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/holdfast-io/holdfast/clients/holdfast/internal/lease"
	"github.com/holdfast-io/holdfast/clients/internal/alarm"
	"github.com/holdfast-io/holdfast/clients/request"
	"github.com/holdfast-io/holdfast/messages"
)

// handle is a lease that this client holds: when it ends, and how it is renewed. Several [Lock]s share one
// if they are re-entrant. No goroutine belongs to it: its alarm and answers drive it.
type handle struct {
	c     *Client
	claim messages.Claim
	key   string
	terms terms

	mu    sync.Mutex
	phase phase
	locks []*Lock // that have not been released
	// failing: the application has been told of jeopardy.
	failing bool
	renewal renewal
	hints   hints
	// found is why the lease is lost, end when it is over at the service too, unless a renewal was delayed on
	// its way. Both are set when the phase is no longer holding.
	found *Error
	end   time.Time
	alarm alarm.Alarm // calls Wake
}

// phase is how far a handle has come.
type phase uint8

const (
	holding   phase = iota
	releasing       // by its last lock
	gone            // the lease is over, or may be
)

// newHandle returns a handle of a lease that was granted in answer to a request sent then.
func newHandle(c *Client, key string, l *messages.Lease, sent time.Time, t terms) *handle {
	claim, begun := claimOf(l), c.begun
	h := &handle{c: c, key: key, terms: t, claim: claim}
	h.renewal = renewal{
		sender: c.sender, claim: claim, key: key, owner: t.owner,
		Renewal: lease.NewRenewal(lease.New(sent, millis(l.GetRemainingMs()), t.ttl), sent, begun),
	}
	h.hints.sender, h.hints.ends, h.hints.key, h.hints.token = c.sender, c.ends, key, claim.Token
	h.hints.ephemeral, h.hints.verifier = t.ephemeral, h
	h.hints.from = begun.Add((time.Since(begun) + subscribeAfter).Truncate(lease.Coarsest))
	h.alarm.Waker = h
	h.schedule()
	return h
}

// lockKey returns the key of the locks that may share the lease.
func (h *handle) lockKey() lockKey { return lockKey{h.claim.Resource, h.terms.owner} }

// attach adds a lock that shares the lease; nil if that is not held any more.
func (h *handle) attach(ctx context.Context) *Lock {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.valid() || h.c.life.Err() != nil {
		return nil
	}
	l := &Lock{h: h, parent: ctx}
	h.locks = append(h.locks, l)
	return l
}

// valid goes by the clock, since a timer may be late.
func (h *handle) valid() bool { return h.phase == holding && time.Now().Before(h.renewal.Until()) }

// lasts reports whether the lease is renewed to at least this length.
func (h *handle) lasts(ttl time.Duration) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.renewal.Agreed() >= ttl
}

// discard ends a handle that has no lock.
func (h *handle) discard() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.phase = gone
	h.stop()
}

// Wake is called by the alarm.
func (h *handle) Wake() {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch now := time.Now(); {
	case h.phase != holding:
		return
	case !h.valid():
		h.runOut()
		return
	case h.isRenewed() && !now.Before(h.renewal.Due()):
		if h.renewal.Attempts() > 0 {
			h.endanger(request.ErrNoAnswer)
		}
		h.renewal.send(h.answered)
	}
	h.hints.wake(h.renewal.Asked())
	h.schedule()
}

// schedule has Wake called when something is due: a renewal, the subscription to events, or the end.
func (h *handle) schedule() {
	at := h.renewal.Until()
	if due := h.renewal.Due(); h.isRenewed() && due.Before(at) {
		at = due
	}
	if from, ok := h.hints.due(h.renewal.Asked()); ok && from.Before(at) {
		at = from
	}
	h.c.alarms.Set(&h.alarm, at)
}

// isRenewed reports whether the lease is to be prolonged.
func (h *handle) isRenewed() bool { return !h.terms.byHand || len(h.renewal.calls) > 0 }

// renew asks for more time.
func (h *handle) renew() {
	h.renewal.send(h.answered)
	h.schedule()
}

// reconnected asks at once for what may have been lost with the last connection.
func (h *handle) reconnected() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.phase == holding && h.isRenewed() && (h.renewal.HasOpen(0) || h.failing) {
		h.renew()
	}
}

// extend asks for a new TTL and waits for the answer. If ctx ends earlier, the renewals go on to ask.
func (h *handle) extend(ctx context.Context, ttl time.Duration) error {
	h.mu.Lock()
	if h.phase != holding {
		defer h.mu.Unlock()
		if h.found != nil {
			return h.found
		}
		return &Error{Op: string(messages.OpExtend), Resource: h.claim.Resource, Err: ErrReleased}
	}
	done := h.renewal.calls.add(h.c.sender.LastID() + 1)
	h.renewal.Ask(ttl)
	h.renew()
	h.mu.Unlock()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		h.mu.Lock()
		defer h.mu.Unlock()
		h.renewal.calls.remove(done)
		return &Error{Op: string(messages.OpExtend), Resource: h.claim.Resource, Err: ErrUnknown, Cause: request.ContextError(ctx)}
	}
}

// answered takes the answer to an attempt in.
func (h *handle) answered(a *request.Answer) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.phase != holding {
		return
	}
	reply, err := a.Reply()
	switch {
	case a.NotSent != nil:
		h.noEffect(a.ID, a.NotSent)
	case err != nil:
		h.endanger(err)
	case reply == nil:
		h.noEffect(a.ID, request.ErrNoResponders)
	default:
		h.replied(a.ID, reply)
	}
}

func (h *handle) replied(id uint64, r *messages.Reply) {
	switch r.GetStatus() {
	case messages.Status_EXTENDED:
		h.granted(id, r.GetLease())
	case messages.Status_UNAVAILABLE:
		h.noEffect(id, refused(messages.OpExtend, h.claim.Resource, r))
	case messages.Status_OVERLOADED, messages.Status_INVALID:
		refusal := refused(messages.OpExtend, h.claim.Resource, r)
		if errors.Is(refusal, ErrInvalid) {
			h.renewal.refuse(id, refusal)
		}
		h.renewal.Drop(id) // the timer brings the next attempt
		h.endanger(refusal)
	default:
		h.lose(lost(messages.OpExtend, h.claim.Resource, r))
	}
}

func (h *handle) granted(id uint64, l *messages.Lease) {
	if !h.renewal.granted(id, l) {
		return
	}
	h.schedule()
	if h.failing && !h.renewal.HasOpen(id) {
		h.failing = false
		h.tell(nil)
	}
}

// noEffect takes in that no node decided on an attempt.
func (h *handle) noEffect(id uint64, err error) {
	h.renewal.noEffect(id)
	h.schedule()
	h.endanger(err)
}

// endanger tells the application, once, that renewals have begun to fail.
func (h *handle) endanger(err error) {
	if !h.failing {
		h.failing = true
		h.tell(err)
	}
}

// tell tells the application that the lease is in danger, or with nil that it is safe.
func (h *handle) tell(err error) { h.c.jeopardy.tell(h.c.life, &h.c.goroutines, h.locks, err) }

// verify asks the service whether the lease has ended, because of a hint. Renewed, it tells. A lease that is
// renewed by the caller must keep its length, so there the service is only asked.
func (h *handle) verify() {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.phase != holding:
	case h.isRenewed():
		h.renew()
	default:
		h.c.background.add(job{until: h.renewal.Until(), do: h.confirm})
	}
}

// confirm ends the lease if the service says that it has ended.
func (h *handle) confirm(ctx context.Context) (done bool) {
	r, done := h.c.chores.clear(ctx, messages.OpGet, h.claim.Resource, &messages.GetRequest{})
	if !differs(r, h.claim.Token) {
		return done
	}
	e := &Error{Op: string(messages.OpGet), Resource: h.claim.Resource, Err: ErrLost, Cause: ErrNotHeld}
	if r.GetStatus() == messages.Status_HELD {
		e.Cause, e.Holder = ErrNotOwner, newLease(r.GetLease())
		if e.Holder.Owner == h.terms.owner {
			e.Cause = ErrStaleToken
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.phase == holding {
		h.lose(e)
	}
	return true
}

// runOut gives the lease up by the clock alone.
func (h *handle) runOut() { h.lose(lost(messages.OpExtend, h.claim.Resource, nil)) }

// lose ends the lease for all locks that share it.
func (h *handle) lose(e *Error) {
	h.phase, h.found = gone, e
	h.stop()
	for _, l := range h.locks {
		l.end(e)
	}
	h.renewal.end(e)
}

// stop ends what renews the lease and looks for its end.
func (h *handle) stop() {
	h.c.alarms.Stop(&h.alarm)
	h.hints.stop()
	h.end = h.renewal.End()
	h.renewal.stop()
	h.c.handles.remove(h)
}

// detach takes a lock away. It returns whether the lease is to be released because that was the last,
// and why it is lost if it is.
func (h *handle) detach(l *Lock) (last bool, found *Error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.phase == holding && !h.valid() {
		h.runOut() // the timer is late
	}
	h.locks = slices.DeleteFunc(h.locks, func(other *Lock) bool { return other == l })
	l.end(ErrReleased)
	switch {
	case h.phase == gone:
		h.postRelease()
		return false, h.found
	case len(h.locks) > 0 || !h.c.handles.releasing(h.claim, h.terms.owner, h):
		return false, nil
	}
	h.phase = releasing
	h.stop()
	h.renewal.end(ErrReleased)
	return true, nil
}

// postRelease posts a release of a lease that ran out by this client's clock, and waits for nothing: the service
// may have prolonged it without the client's knowledge. It is posted once, with the last lock.
func (h *handle) postRelease() {
	if len(h.locks) == 0 && errors.Is(h.found, errDeadline) && time.Now().Before(h.end) {
		h.toRelease().post()
	}
}

// toRelease returns the release of the lease.
func (h *handle) toRelease() *release {
	return &release{c: h.c, claim: h.claim, key: h.key, owner: h.terms.owner, until: h.end}
}

// releaseAll releases all locks that share the lease.
func (h *handle) releaseAll(ctx context.Context) error {
	h.mu.Lock()
	locks := slices.Clone(h.locks)
	h.mu.Unlock()
	var err error
	for _, l := range locks {
		err = l.releaseOnce(ctx) // the last one's says what was found
	}
	return err
}
