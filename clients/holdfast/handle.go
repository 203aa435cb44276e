package holdfast

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/holdfast-io/holdfast/clients/request"
	"github.com/holdfast-io/holdfast/messages"
)

// handle is a lease that this client holds: when it ends, and how it is renewed. Several [Lock]s share one
// if they are re-entrant. No goroutine belongs to it: timers and answers drive it.
//
// The lease is counted on this machine's monotonic clock from the moment when the request was sent that
// the service answered last. The service counts from a later one, so the lease ends here first (Gray and
// Cheriton, Leases, 1989, section 2).
type handle struct {
	c     *Client
	claim messages.Claim
	key   string
	terms terms

	mu    sync.Mutex
	phase phase
	locks []*Lock // that have not been released
	// until is when the lease must be considered over, end when it is over at the service too, unless a
	// renewal was delayed on its way.
	until  time.Time
	end    time.Time
	ending *time.Timer
	// found is why the lease is lost.
	found *Error
	renewals
	following
}

// lockKey returns the key of the locks that may share the lease.
func (h *handle) lockKey() lockKey { return lockKey{h.claim.Resource, h.terms.owner} }

// tell tells the application that renewals have begun to fail, or with nil that the lease is safe.
func (h *handle) tell(err error) { h.c.jeopardy.tell(h.c.life, &h.c.goroutines, h.locks, err) }

// phase is how far a handle has come.
type phase uint8

const (
	holding   phase = iota
	releasing       // by its last lock
	gone            // the lease is over, or may be
)

// margin is how much earlier than the service the client considers a lease over: room for a late timer
// and for clocks that run at different speeds.
func margin(ttl time.Duration) time.Duration {
	return min(max(ttl/8, 15*time.Millisecond), time.Second)
}

// newHandle returns a handle of a lease that was granted in answer to a request sent then.
func newHandle(c *Client, key string, l *messages.Lease, sent time.Time, t terms) *handle {
	h := &handle{
		c: c, key: key, terms: t,
		claim:    messages.Claim{Resource: l.GetResource(), Token: Token(l.GetToken())},
		until:    sent.Add(millis(l.GetRemainingMs()) - margin(t.ttl)),
		renewals: renewals{ttl: t.ttl, agreed: t.ttl},
	}
	h.mu.Lock() // the timers may fire before they are assigned
	defer h.mu.Unlock()
	h.followAt = (c.timers.now() + followAfter).Truncate(coarsest)
	h.ending = time.AfterFunc(time.Until(h.until), h.expire)
	h.due(h.dueFrom(sent))
	return h
}

// attach adds a lock that shares the lease; nil if that is not held any more.
func (h *handle) attach(ctx context.Context) *Lock {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.valid() || h.c.life.Err() != nil {
		return nil
	}
	l := newLock(ctx, h)
	h.locks = append(h.locks, l)
	return l
}

// valid goes by the clock, since a timer may be late.
func (h *handle) valid() bool { return h.phase == holding && time.Now().Before(h.until) }

// lasts reports whether the lease is renewed to at least this length.
func (h *handle) lasts(ttl time.Duration) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.agreed >= ttl
}

// discard ends a handle that has no lock.
func (h *handle) discard() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.phase = gone
	h.stop()
}

// expire gives the lease up if it has not been prolonged meanwhile.
func (h *handle) expire() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.phase != holding {
		return
	}
	if left := time.Until(h.until); left > 0 {
		h.ending.Reset(left)
		return
	}
	h.runOut()
}

// runOut gives the lease up by the clock alone.
func (h *handle) runOut() { h.lose(lost(messages.OpExtend, h.claim.Resource, nil)) }

// bound sets the end of the lease. A timer that comes too early looks again.
func (h *handle) bound(until time.Time) {
	if until.Before(h.until) {
		h.ending.Reset(time.Until(until))
	}
	h.until = until
}

// lose ends the lease for all who share it.
func (h *handle) lose(e *Error) {
	h.phase, h.found = gone, e
	h.stop()
	for _, l := range h.locks {
		l.end(e)
		close(l.lost)
	}
	h.fulfil(h.c.sender.LastID(), e)
}

// stop ends what keeps the lease.
func (h *handle) stop() {
	h.end = h.lastEnd()
	h.ending.Stop()
	h.c.timers.stop(h)
	h.unfollow()
	h.forgetAll()
	h.c.handles.remove(h)
}

// lastEnd is when the service considers the lease over at the latest, if every attempt has arrived.
func (h *handle) lastEnd() time.Time {
	end := h.until.Add(margin(h.agreed))
	for _, r := range h.open {
		if ends := r.sent.Add(r.ttl); ends.After(end) {
			end = ends
		}
	}
	return end
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
		h.part()
		return false, h.found
	case len(h.locks) > 0 || !h.c.handles.releasing(h.claim, h.terms.owner, h):
		return false, nil
	}
	h.phase = releasing
	h.stop()
	h.fulfil(h.c.sender.LastID(), ErrReleased)
	return true, nil
}

// part posts a release of a lease that ran out by this client's clock, and waits for nothing: the service
// may have prolonged it without the client's knowledge. It is sent once, when the last lock is released.
func (h *handle) part() {
	if len(h.locks) == 0 && errors.Is(h.found, errDeadline) && time.Now().Before(h.end) {
		h.c.sender.Post(h.c.sender.Route(messages.OpRelease, h.key, 0), request.Encode(h.releaseRequest()))
	}
}

func (h *handle) releaseRequest() *messages.ReleaseRequest {
	return &messages.ReleaseRequest{Owner: h.terms.owner, Token: uint64(h.claim.Token)}
}

// giveUp releases the lease at the service, which then says what it found. It waits no longer than the
// lease may last. A caller who waits less leaves the rest to the client.
func (h *handle) giveUp(ctx context.Context) error {
	r := h.releaseRequest()
	a, err := h.c.askDuring(h.c.duty, ctx, min(h.c.cfg.timeout, time.Until(h.end)), messages.OpRelease, h.claim.Resource, r)
	if err == nil {
		defer h.c.handles.release(h.lockKey())
		return h.released(a)
	}
	if ctx.Err() != nil && h.c.life.Err() != nil { // Close is over, and nothing is done later
		h.c.sender.Post(h.c.sender.Route(messages.OpRelease, h.key, 0), request.Encode(r))
		h.c.handles.release(h.lockKey())
		return &Error{Op: string(messages.OpRelease), Resource: h.claim.Resource, Err: ErrUnknown, Cause: request.ContextError(ctx)}
	}
	h.c.later(h.end, func(ctx context.Context) bool {
		_, done := h.c.clear(ctx, messages.OpRelease, h.claim.Resource, r)
		return done
	}, func() { h.c.handles.release(h.lockKey()) })
	return err
}

func (h *handle) released(a *request.Answer) error {
	reply, err := a.Reply()
	if err != nil {
		return &Error{Op: string(messages.OpRelease), Resource: h.claim.Resource, Err: ErrUnknown, Cause: err}
	}
	switch reply.GetStatus() {
	case messages.Status_RELEASED:
		return nil
	case messages.Status_NOT_HELD, messages.Status_NOT_OWNER, messages.Status_STALE_TOKEN:
		e := lost(messages.OpRelease, h.claim.Resource, reply)
		if !a.Alone {
			e.Err = ErrUnknown // an earlier try may have released it, and others had it since
		}
		return e
	case messages.Status_EXPIRED:
		return lost(messages.OpRelease, h.claim.Resource, reply)
	}
	return refused(messages.OpRelease, h.claim.Resource, reply)
}

// release ends all locks that share the lease.
func (h *handle) release(ctx context.Context) error {
	h.mu.Lock()
	locks := slices.Clone(h.locks)
	h.mu.Unlock()
	var err error
	for _, l := range locks {
		err = l.letGo(ctx) // the last one's says what was found
	}
	return err
}
