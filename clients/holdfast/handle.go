package holdfast

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/holdfast-io/holdfast/clients/holdfast/internal/lease"
	"github.com/holdfast-io/holdfast/clients/request"
	"github.com/holdfast-io/holdfast/messages"
)

// handle is a lease that this client holds: when it ends, and how it is renewed. Several [Lock]s share one
// if they are re-entrant. No goroutine belongs to it: timers and answers drive it.
type handle struct {
	c     *Client
	claim messages.Claim
	key   string
	terms terms

	mu    sync.Mutex
	phase phase
	locks []*Lock // that have not been released
	lease lease.Estimate
	// ending fires when the lease must be considered over. If it was prolonged meanwhile, it is set again.
	ending *time.Timer
	// found is why the lease is lost, end when it is over at the service too, unless a renewal was delayed on
	// its way. Both are set when the phase is no longer holding.
	found   *Error
	end     time.Time
	renewal renewal
	hints   hints
	slot    *slot // belongs to the timers
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
	h := &handle{
		c: c, key: key, terms: t, claim: claimOf(l),
		lease: lease.New(sent, millis(l.GetRemainingMs()), t.ttl),
	}
	h.renewal.h, h.hints.h = h, h
	h.mu.Lock() // the timers may fire before they are assigned
	defer h.mu.Unlock()
	h.hints.from = (c.timers.now() + subscribeAfter).Truncate(coarsest)
	h.ending = time.AfterFunc(time.Until(h.lease.Until()), h.expire)
	h.renewal.rest(sent)
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
	l := newLock(ctx, h)
	h.locks = append(h.locks, l)
	return l
}

// valid goes by the clock, since a timer may be late.
func (h *handle) valid() bool { return h.phase == holding && time.Now().Before(h.lease.Until()) }

// lasts reports whether the lease is renewed to at least this length.
func (h *handle) lasts(ttl time.Duration) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.lease.Agreed() >= ttl
}

// discard ends a handle that has no lock.
func (h *handle) discard() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.phase = gone
	h.stop()
}

// wake is called by the timers.
func (h *handle) wake() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.phase != holding {
		return
	}
	h.hints.wake()
	h.renewal.wake()
}

// schedule has wake called when something is due.
func (h *handle) schedule() {
	at := h.renewal.at
	if h.hints.wanted() {
		at = min(at, h.hints.from)
	}
	h.c.timers.set(h, at)
}

// reconnected asks at once for what may have been lost with the last connection.
func (h *handle) reconnected() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.phase == holding {
		h.renewal.reconnected()
	}
}

// answered takes the answer to a renewal in.
func (h *handle) answered(a *request.Answer) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.phase == holding {
		h.renewal.answered(a)
	}
}

// expire gives the lease up if it was not prolonged meanwhile.
func (h *handle) expire() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.phase != holding {
		return
	}
	if left := time.Until(h.lease.Until()); left > 0 {
		h.ending.Reset(left)
		return
	}
	h.runOut()
}

// runOut gives the lease up by the clock alone.
func (h *handle) runOut() { h.lose(lost(messages.OpExtend, h.claim.Resource, nil)) }

// lose ends the lease for all locks that share it.
func (h *handle) lose(e *Error) {
	h.phase, h.found = gone, e
	h.stop()
	for _, l := range h.locks {
		l.end(e)
		close(l.lost)
	}
	h.renewal.calls.answer(h.c.sender.LastID(), e)
}

// stop ends what renews the lease and looks for its end.
func (h *handle) stop() {
	h.ending.Stop()
	h.c.timers.stop(h)
	h.hints.stop()
	h.end = h.lease.End()
	h.c.sender.Forget(h.lease.DropAll()...)
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
	h.renewal.calls.answer(h.c.sender.LastID(), ErrReleased)
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
