package holdfast

import (
	"context"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/holdfast-io/holdfast/clients/request"
	"github.com/holdfast-io/holdfast/messages"
)

const (
	// leastPause and mostPause bound the pauses between the attempts of a renewal, a twelfth of the TTL. When
	// a caller waits, they are no longer than those of any other request.
	leastPause = 20 * time.Millisecond
	mostPause  = 2 * time.Second
	// grid is by how many steps of its TTL renewals are lined up, so that those of many locks leave in
	// few packets.
	grid = 128
	// coarsest bounds such a step: it has to be well below mostPause, or an attempt that is put off would be
	// due at once.
	coarsest = 250 * time.Millisecond
)

// renewal asks the service to extend a lease, on time and for callers of [Lock.Extend]. Its methods are
// called with the handle's mu held, while the handle holds the lease.
type renewal struct {
	h *handle
	// at is when the next attempt is due, on the clock of the timers.
	at time.Duration
	// sent counts the attempts since the last grant, idle those that had no effect while a caller waited.
	sent, idle int
	// failing: the application has been told of jeopardy.
	failing bool
	calls   calls
	// payload is the request as it is sent, for the TTL that it asks for.
	payload    []byte
	payloadTTL time.Duration
}

// wanted reports whether the lease is to be prolonged.
func (r *renewal) wanted() bool { return !r.h.terms.byHand || len(r.calls) > 0 }

// wake sends an attempt if one is due.
func (r *renewal) wake() {
	if r.h.c.timers.now() < r.at || !r.wanted() {
		return
	}
	if r.sent > 0 {
		r.endanger(request.ErrNoAnswer)
	}
	r.send()
}

// reconnected sends an attempt if one may have been lost with the last connection.
func (r *renewal) reconnected() {
	if r.wanted() && (r.h.lease.HasOpen(0) || r.failing) {
		r.send()
	}
}

// send asks for more time, and again after a pause unless an answer stops that.
func (r *renewal) send() {
	h, ttl, now := r.h, r.h.lease.Asked(), time.Now()
	id := h.c.sender.Send(h.c.sender.Route(messages.OpExtend, h.key, r.sent), r.message(), h.answered)
	pause := min(max(ttl/12, leastPause), mostPause)
	if len(r.calls) > 0 {
		pause = min(pause, messages.ResendAfter(r.sent))
	}
	r.sent++
	r.due(now.Add(pause))
	before := h.lease.Until()
	h.lease.Sent(id, now)
	r.bound(before)
}

// bound sets the timer if the lease ends earlier than before. A timer that fires too early is set again.
func (r *renewal) bound(before time.Time) {
	if until := r.h.lease.Until(); until.Before(before) {
		r.h.ending.Reset(time.Until(until))
	}
}

// message returns the request, which is the same until another TTL is asked for.
func (r *renewal) message() []byte {
	if ttl := r.h.lease.Asked(); r.payloadTTL != ttl {
		r.payloadTTL = ttl
		r.payload = request.Encode(&messages.ExtendRequest{
			Owner: r.h.terms.owner, Token: uint64(r.h.claim.Token), TtlMs: inMillis(ttl),
		})
	}
	return r.payload
}

func (r *renewal) answered(a *request.Answer) {
	if a.NotSent != nil {
		r.noEffect(a.ID, a.NotSent)
		return
	}
	reply, err := a.Reply()
	switch {
	case err != nil:
		r.endanger(err)
	case reply == nil:
		r.noEffect(a.ID, request.ErrNoResponders)
	default:
		r.replied(a.ID, reply)
	}
}

func (r *renewal) replied(id uint64, reply *messages.Reply) {
	h := r.h
	switch reply.GetStatus() {
	case messages.Status_EXTENDED:
		r.granted(id, reply.GetLease())
	case messages.Status_UNAVAILABLE:
		r.noEffect(id, refused(messages.OpExtend, h.claim.Resource, reply))
	case messages.Status_OVERLOADED:
		r.failed(id, refused(messages.OpExtend, h.claim.Resource, reply))
	case messages.Status_INVALID:
		h.lease.Ask(h.lease.Agreed())
		r.calls.answer(id, refused(messages.OpExtend, h.claim.Resource, reply))
		r.failed(id, refused(messages.OpExtend, h.claim.Resource, reply))
	default:
		h.lose(lost(messages.OpExtend, h.claim.Resource, reply))
	}
}

func (r *renewal) granted(id uint64, l *messages.Lease) {
	h, before := r.h, r.h.lease.Until()
	sent, settled, ok := h.lease.Granted(id, millis(l.GetRemainingMs()))
	if !ok {
		return
	}
	h.c.sender.Forget(settled...)
	r.bound(before)
	r.calls.answer(id, nil)
	if h.lease.HasOpen(id) {
		return
	}
	r.sent, r.idle = 0, 0
	r.rest(sent)
	if r.failing {
		r.failing = false
		r.tell(nil)
	}
}

// rest waits for the next renewal of a lease that was granted or extended in answer to a request sent
// then. It is a little early by chance, so that leases taken together are not renewed together.
func (r *renewal) rest(sent time.Time) {
	third := r.h.lease.Renewal(sent)
	r.due(sent.Add(third - rand.N(third/16+1)))
}

// due sets when the next attempt is due, to the moment on the grid before.
func (r *renewal) due(at time.Time) {
	l := &r.h.lease
	r.at = at.Sub(r.h.c.timers.begun).Truncate(min(l.Agreed()/grid, l.Asked()/grid, coarsest))
	r.h.schedule()
}

// noEffect drops an attempt on which no node decided. If a caller waits, the next one is soon.
func (r *renewal) noEffect(id uint64, err error) {
	r.failed(id, err)
	if len(r.calls) > 0 && !r.h.lease.HasOpen(id) {
		soon := r.h.c.timers.now() + request.RetryAfter(r.idle)
		r.idle++
		r.at = min(soon, r.at)
		r.h.schedule()
	}
}

// failed drops an attempt that had no effect. The timer brings the next.
func (r *renewal) failed(id uint64, err error) {
	r.h.lease.Drop(id)
	r.endanger(err)
}

func (r *renewal) endanger(err error) {
	if !r.failing {
		r.failing = true
		r.tell(err)
	}
}

// tell tells the application that renewals have begun to fail, or with nil that the lease is safe.
func (r *renewal) tell(err error) {
	r.h.c.jeopardy.tell(r.h.c.life, &r.h.c.goroutines, r.h.locks, err)
}

// prolong asks for a new TTL and waits for the answer. If ctx ends earlier, the renewals go on to ask.
func (h *handle) prolong(ctx context.Context, ttl time.Duration) error {
	h.mu.Lock()
	if h.phase != holding {
		defer h.mu.Unlock()
		if h.found != nil {
			return h.found
		}
		return &Error{Op: string(messages.OpExtend), Resource: h.claim.Resource, Err: ErrReleased}
	}
	done := h.renewal.calls.add(h.c.sender.LastID() + 1)
	h.lease.Ask(ttl)
	h.renewal.send()
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

// calls are callers that wait for an attempt to be answered.
type calls []call

// call waits for the answer to an attempt that is not older than the one of this id.
type call struct {
	id   uint64
	done chan error
}

func (c *calls) add(id uint64) chan error {
	done := make(chan error, 1)
	*c = append(*c, call{id, done})
	return done
}

func (c *calls) remove(done chan error) {
	*c = slices.DeleteFunc(*c, func(w call) bool { return w.done == done })
}

// answer answers the calls that wait for this attempt or an earlier one.
func (c *calls) answer(id uint64, err error) {
	*c = slices.DeleteFunc(*c, func(w call) bool {
		if w.id > id {
			return false
		}
		w.done <- err
		return true
	})
}
