package holdfast

import (
	"context"
	"time"

	"github.com/holdfast-io/holdfast/clients/request"
	"github.com/holdfast-io/holdfast/messages"
)

// following is how a hold learns of its end before its next renewal.
type following struct {
	// followAt is from when on its end is listened for, counted from the client's birth. followed: that was
	// tried; listed: it is done.
	followAt         time.Duration
	followed, listed bool
	// glanced is the number of the last glance.
	glanced uint64
	// doubted is when the service was last asked because of a hint, doubting brings the next question.
	doubted  time.Time
	doubting *time.Timer
}

// follows reports whether the end of the lease is to be listened for. The end of an ephemeral lease makes
// no event.
func (h *handle) follows() bool {
	return !h.followed && !h.terms.ephemeral && h.ttl >= followFrom
}

// follow listens for the end of the lease. It is tried once.
func (h *handle) follow() {
	h.followed = true
	h.listed = h.c.ends.follow(h)
}

func (h *handle) unfollow() {
	if h.listed {
		h.listed = false
		h.c.ends.unfollow(h)
	}
	if h.doubting != nil {
		h.doubting.Stop()
	}
}

// glance asks for what the owner of the shard has in its memory, which costs no commit: the lease may
// have ended before the client subscribed to its events.
func (h *handle) glance() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.phase != holding {
		return
	}
	h.c.sender.Forget(h.glanced)
	h.glanced = h.c.sender.Send(h.c.sender.Route(messages.OpGet, h.key, 0), glance, h.glimpsed)
}

// glance is the question that glance asks.
var glance = request.Encode(&messages.GetRequest{Stale: true})

// glimpsed takes the answer in. That there is none is no hint.
func (h *handle) glimpsed(a *request.Answer) {
	if r, err := a.Reply(); err == nil && h.differs(r) {
		h.doubt()
	}
}

// differs reports whether an answer to get shows that somebody else or nobody holds the resource.
func (h *handle) differs(r *messages.Reply) bool {
	switch r.GetStatus() {
	case messages.Status_FREE:
		return true
	case messages.Status_HELD:
		return Token(r.GetLease().GetToken()) != h.claim.Token
	}
	return false
}

// doubt asks the service whether the lease has ended, because something hints at it. Questions keep a
// pause; the last hint is always followed by one.
func (h *handle) doubt() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.phase != holding || h.doubting != nil {
		return
	}
	if wait := time.Until(h.doubted.Add(doubtPause)); wait > 0 {
		h.doubting = time.AfterFunc(wait, h.doubtNow)
		return
	}
	h.inquire()
}

func (h *handle) doubtNow() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.doubting = nil; h.phase == holding {
		h.inquire()
	}
}

// inquire renews the lease, which tells; one that is renewed by the caller must keep its length, so the
// service is only asked.
func (h *handle) inquire() {
	h.doubted = time.Now()
	if h.keeps() {
		h.try()
		return
	}
	h.c.later(h.until, h.confirm, nil)
}

// confirm ends the lease if the service says that it has ended.
func (h *handle) confirm(ctx context.Context) (done bool) {
	r, done := h.c.clear(ctx, messages.OpGet, h.claim.Resource, &messages.GetRequest{})
	if !h.differs(r) {
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
