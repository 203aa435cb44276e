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
	// leastPause and mostPause bound the pauses between the tries of a renewal, a twelfth of the TTL. When a
	// caller waits, they are no longer than those of any other request.
	leastPause = 20 * time.Millisecond
	mostPause  = 2 * time.Second
	// grid is by how many steps of its TTL renewals are lined up, so that those of many locks leave in
	// few packets.
	grid = 128
	// coarsest bounds such a step: it has to be well below mostPause, or a try that is put off would be
	// due at once.
	coarsest = 250 * time.Millisecond
)

// renewals are what keeps a lease.
type renewals struct {
	// ttl is what the next try asks for, agreed what the last answer granted.
	ttl, agreed time.Duration
	// request is the try as it is sent, for the TTL that it asks for.
	request    []byte
	requestTTL time.Duration
	// open are the attempts without an answer, the oldest first. Of those since the last answer, sent counts
	// all, and idle those that had no effect while a caller waited.
	open       []attempt
	sent, idle int
	// danger: they have begun to fail.
	danger  bool
	extends []extend
	// at is when the next attempt is due, on the clock of the timers. slot belongs to them.
	at   time.Duration
	slot *slot
}

// attempt is one request for more time.
type attempt struct {
	id   uint64
	sent time.Time
	ttl  time.Duration
}

// ends is when the lease may be over if the service granted what the try asks for.
func (r attempt) ends() time.Time { return r.endsBehind(r.sent) }

// endsBehind is when it may be over if the service had done something before that was asked for then.
func (r attempt) endsBehind(sent time.Time) time.Time {
	if sent.Before(r.sent) {
		sent = r.sent
	}
	return sent.Add(r.ttl - margin(r.ttl))
}

// extend is a caller who waits for the answer to a try that is not older.
type extend struct {
	id   uint64
	done chan error
}

// dueFrom is when the lease is to be renewed: at a third of its TTL, or of what it had left when it was
// granted, and a little less by chance, so that leases taken together are not renewed together.
func (h *handle) dueFrom(sent time.Time) time.Time {
	lasts := h.until.Sub(sent) + margin(h.agreed)
	third := max(min(lasts, h.agreed), 0) / 3 // a grant may come when its lease is as good as over
	return sent.Add(third - rand.N(third/16+1))
}

// due sets when the next try is due, to the moment on the grid before.
func (h *handle) due(at time.Time) {
	h.dueAt(at.Sub(h.c.timers.begun).Truncate(min(h.agreed/grid, h.ttl/grid, coarsest)))
}

// dueAt is due at this very moment, on the clock of the timers.
func (h *handle) dueAt(at time.Duration) {
	h.at = at
	h.wake()
}

// wake has the hold called when the next try is due, or earlier if it is to be followed before.
func (h *handle) wake() {
	next := h.at
	if h.follows() {
		next = min(next, h.followAt)
	}
	h.c.timers.set(h, next)
}

// renew is called when it is due, or was to be before that was put off.
func (h *handle) renew() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.phase != holding {
		return
	}
	now := h.c.timers.now()
	if h.follows() && now >= h.followAt {
		h.follow()
		h.wake()
	}
	if now < h.at || !h.keeps() {
		return
	}
	if h.sent > 0 {
		h.endanger(request.ErrNoAnswer)
	}
	h.try()
}

// keeps reports whether anybody wants the lease prolonged.
func (h *handle) keeps() bool { return !h.terms.byHand || len(h.extends) > 0 }

// reconnected asks at once if an attempt may have been lost with the last connection.
func (h *handle) reconnected() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.phase == holding && h.keeps() && (len(h.open) > 0 || h.danger) {
		h.try()
	}
}

// try asks for more time, and again after a pause unless an answer stops it.
func (h *handle) try() {
	r := attempt{sent: time.Now(), ttl: h.ttl}
	r.id = h.c.sender.Send(h.c.sender.Route(messages.OpExtend, h.key, h.sent), h.encoded(), h.answered)
	pause := min(max(h.ttl/12, leastPause), mostPause)
	if len(h.extends) > 0 {
		pause = min(pause, messages.ResendAfter(h.sent))
	}
	h.sent++
	h.due(r.sent.Add(pause))
	h.open = append(h.open, r)
	if r.ends().Before(h.until) {
		h.bound(r.ends()) // from now on the service may have made it so short
	}
}

// encoded is the request for more time, which is the same every time.
func (h *handle) encoded() []byte {
	if h.requestTTL != h.ttl {
		h.requestTTL = h.ttl
		h.request = request.Encode(&messages.ExtendRequest{
			Owner: h.terms.owner, Token: uint64(h.claim.Token), TtlMs: inMillis(h.ttl),
		})
	}
	return h.request
}

// answered takes the answer to an attempt in.
func (h *handle) answered(a *request.Answer) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.phase != holding {
		return
	}
	if a.NotSent != nil {
		h.noEffect(a.ID, a.NotSent)
		return
	}
	r, err := a.Reply()
	switch {
	case err != nil:
		h.endanger(err)
	case r == nil:
		h.noEffect(a.ID, request.ErrNoResponders)
	default:
		h.take(a, r)
	}
}

func (h *handle) take(a *request.Answer, r *messages.Reply) {
	switch r.GetStatus() {
	case messages.Status_EXTENDED:
		h.extended(a, r.GetLease())
	case messages.Status_UNAVAILABLE:
		h.noEffect(a.ID, refused(messages.OpExtend, h.claim.Resource, r))
	case messages.Status_OVERLOADED:
		h.failed(a.ID, refused(messages.OpExtend, h.claim.Resource, r))
	case messages.Status_INVALID:
		h.ttl = h.agreed
		h.fulfil(a.ID, refused(messages.OpExtend, h.claim.Resource, r))
		h.failed(a.ID, refused(messages.OpExtend, h.claim.Resource, r))
	default:
		h.lose(lost(messages.OpExtend, h.claim.Resource, r))
	}
}

// extended counts the lease from when the try was sent. Another one that is still open may cut it short,
// also an older one, which can take longer through the other door.
func (h *handle) extended(a *request.Answer, l *messages.Lease) {
	i := slices.IndexFunc(h.open, func(r attempt) bool { return r.id == a.ID })
	if i < 0 {
		return
	}
	h.agreed = h.open[i].ttl
	h.supersede(h.open[i])
	until := a.Sent.Add(millis(l.GetRemainingMs()) - margin(h.agreed))
	awaits := false
	for _, r := range h.open {
		awaits = awaits || r.id > a.ID
		if ends := r.endsBehind(a.Sent); ends.Before(until) {
			until = ends
		}
	}
	h.bound(until)
	h.fulfil(a.ID, nil)
	if !awaits {
		h.rest(a.Sent)
	}
}

// supersede drops a try that was answered and older ones that do not matter any more: they would make
// the lease no shorter, or have been under way for longer than it would last.
func (h *handle) supersede(by attempt) {
	h.open = slices.DeleteFunc(h.open, func(r attempt) bool {
		if r.id > by.id || r.ttl < by.ttl && by.sent.Before(r.ends()) {
			return false
		}
		h.c.sender.Forget(r.id)
		return true
	})
}

// rest waits for the next renewal.
func (h *handle) rest(sent time.Time) {
	h.sent, h.idle = 0, 0
	h.due(h.dueFrom(sent))
	if h.danger {
		h.danger = false
		h.tell(nil)
	}
}

// noEffect drops an attempt on which no node decided. If a caller waits, the next one is soon.
func (h *handle) noEffect(id uint64, err error) {
	h.failed(id, err)
	if len(h.extends) > 0 && (len(h.open) == 0 || h.open[len(h.open)-1].id < id) {
		soon := h.c.timers.now() + request.RetryAfter(h.idle)
		h.idle++
		h.dueAt(min(soon, h.at))
	}
}

// failed drops a try that did nothing. The timer brings the next.
func (h *handle) failed(id uint64, err error) {
	h.open = slices.DeleteFunc(h.open, func(r attempt) bool { return r.id == id })
	h.endanger(err)
}

func (h *handle) endanger(err error) {
	if !h.danger {
		h.danger = true
		h.tell(err)
	}
}

func (h *handle) forgetAll() {
	for _, r := range h.open {
		h.c.sender.Forget(r.id)
	}
	h.c.sender.Forget(h.glanced)
	h.open = nil
}

// prolong asks for a new TTL and waits for the answer. When the caller does not wait so long, the
// renewals go on to ask.
func (h *handle) prolong(ctx context.Context, ttl time.Duration) error {
	h.mu.Lock()
	if h.phase != holding {
		defer h.mu.Unlock()
		return h.over()
	}
	e := extend{done: make(chan error, 1), id: h.c.sender.LastID() + 1}
	h.extends = append(h.extends, e)
	h.ttl = ttl
	h.try()
	h.mu.Unlock()
	select {
	case err := <-e.done:
		return err
	case <-ctx.Done():
		h.abandon(e)
		return &Error{Op: string(messages.OpExtend), Resource: h.claim.Resource, Err: ErrUnknown, Cause: request.ContextError(ctx)}
	}
}

func (h *handle) abandon(e extend) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.extends = slices.DeleteFunc(h.extends, func(other extend) bool { return other.done == e.done })
}

// over says why there is nothing to prolong.
func (h *handle) over() error {
	if h.found != nil {
		return h.found
	}
	return &Error{Op: string(messages.OpExtend), Resource: h.claim.Resource, Err: ErrReleased}
}

// fulfil answers those who wait for this try or an earlier one.
func (h *handle) fulfil(id uint64, err error) {
	h.extends = slices.DeleteFunc(h.extends, func(e extend) bool {
		if e.id > id {
			return false
		}
		e.done <- err
		return true
	})
}
