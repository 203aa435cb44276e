package holdfast

import (
	"context"
	"time"

	"github.com/holdfast-io/holdfast/clients/request"
	"github.com/holdfast-io/holdfast/messages"
)

const (
	// subscribeAfter is how long a lease is held before the client subscribes to its events. Most locks are
	// released earlier and cost no subscription.
	subscribeAfter = 500 * time.Millisecond
	// subscribeFrom is the shortest TTL of which the events are subscribed to. Shorter leases are renewed every
	// second or more often.
	subscribeFrom = 3 * time.Second
	// verifyPause is the shortest time between two questions about the same lease, so that forged events
	// cannot make a client flood the service.
	verifyPause = 250 * time.Millisecond
)

// hints are how a handle learns of the end of its lease before the next renewal. A hint ends nothing: the
// service is asked, and its answer decides. The fields are guarded by the handle's mu.
type hints struct {
	h *handle
	// from is when the events are subscribed to, on the clock of the timers. tried: that was done; subscribed:
	// with success.
	from              time.Duration
	tried, subscribed bool
	// peeked is the number of the last stale question.
	peeked uint64
	// verified is when the service was last asked because of a hint, verifying brings the next question.
	verified  time.Time
	verifying *time.Timer
}

// wanted reports whether the events are to be subscribed to. The end of an ephemeral lease makes none.
func (i *hints) wanted() bool {
	return !i.tried && !i.h.terms.ephemeral && i.h.lease.Asked() >= subscribeFrom
}

// wake subscribes to the events if that is due. It is tried once.
func (i *hints) wake() {
	if i.wanted() && i.h.c.timers.now() >= i.from {
		i.tried = true
		i.subscribed = i.h.c.ends.add(i.h)
		i.h.schedule()
	}
}

func (i *hints) stop() {
	if i.subscribed {
		i.subscribed = false
		i.h.c.ends.remove(i.h)
	}
	if i.verifying != nil {
		i.verifying.Stop()
	}
	i.h.c.sender.Forget(i.peeked)
}

// staleGet asks for what the owner of the shard has in its memory, which costs no commit.
var staleGet = request.Encode(&messages.GetRequest{Stale: true})

// peek looks whether the lease has ended before the client subscribed to its events.
func (i *hints) peek() {
	h := i.h
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.phase != holding {
		return
	}
	h.c.sender.Forget(i.peeked)
	i.peeked = h.c.sender.Send(h.c.sender.Route(messages.OpGet, h.key, 0), staleGet, func(a *request.Answer) {
		if r, err := a.Reply(); err == nil && i.differs(r) {
			i.verify()
		}
	})
}

// differs reports whether an answer to get shows that the resource is free or has another holder.
func (i *hints) differs(r *messages.Reply) bool {
	switch r.GetStatus() {
	case messages.Status_FREE:
		return true
	case messages.Status_HELD:
		return Token(r.GetLease().GetToken()) != i.h.claim.Token
	}
	return false
}

// verify asks the service whether the lease has ended, because of a hint. Questions keep a pause; the last
// hint is always followed by one.
func (i *hints) verify() {
	i.h.mu.Lock()
	defer i.h.mu.Unlock()
	if i.h.phase != holding || i.verifying != nil {
		return
	}
	if wait := time.Until(i.verified.Add(verifyPause)); wait > 0 {
		i.verifying = time.AfterFunc(wait, i.verifyNow)
		return
	}
	i.ask()
}

func (i *hints) verifyNow() {
	i.h.mu.Lock()
	defer i.h.mu.Unlock()
	if i.verifying = nil; i.h.phase == holding {
		i.ask()
	}
}

// ask renews the lease, which tells. A lease that is renewed by the caller must keep its length, so there the
// service is only asked.
func (i *hints) ask() {
	i.verified = time.Now()
	if i.h.renewal.wanted() {
		i.h.renewal.send()
		return
	}
	i.h.c.background.add(job{until: i.h.lease.Until(), do: i.confirm})
}

// confirm ends the lease if the service says that it has ended.
func (i *hints) confirm(ctx context.Context) (done bool) {
	h := i.h
	r, done := h.c.chores.clear(ctx, messages.OpGet, h.claim.Resource, &messages.GetRequest{})
	if !i.differs(r) {
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
