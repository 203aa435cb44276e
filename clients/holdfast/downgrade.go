package holdfast

import (
	"context"

	"github.com/holdfast-io/holdfast/messages"
)

// opDowngrade stands in errors.
const opDowngrade messages.Operation = "downgrade"

// Downgrade makes an exclusive lock a shared one, as of [Shared], without letting go of it: those that wait to share it
// get it at once, and no exclusive holder comes in between. There is no way back: release the lock, and acquire again.
//
// The lock has a new token then, and a new [Lock.Claim], so that the protected resource can refuse what was sent under
// the former one. Contexts that were made before carry the former claim on: what is written after the downgrade takes
// the claim from the lock. All locks that share the lease are downgraded with it, and its time begins anew.
//
// It returns nil when the service has agreed, also if the lock was shared like that already; [ErrInvalid] if
// others hold beside it, as beside one of several [Permits], or the deployment has no shared leases; [ErrExhausted] if
// the resource has no token left; [ErrLost] when the lock is lost, [ErrReleased] after a release. When the
// context or the client's timeout ends first it is [ErrUnknown]: the client goes on to ask, and the lock may become
// shared later. With a context that has ended already it changes nothing, and is [ErrUnavailable] with the context's
// error.
func (l *Lock) Downgrade(ctx context.Context) error {
	if err := l.check(ctx, opDowngrade, nil); err != nil {
		return err
	}
	h := l.h
	if err := h.c.need(ctx, opDowngrade, h.resource, sharingFeature); err != nil {
		return err
	}
	return h.ask(ctx, opDowngrade, l, &h.renewal.downgrades, func() {
		if h.renewal.downgrading == 0 {
			h.c.handles.downgrading(h.holder())
			h.renewal.downgrading = h.c.sender.LastID() + 1
			h.renewal.Change()
		}
	})
}

// become takes in what the lease is after an extension. The answer to an attempt from before a downgrade may come late.
func (h *handle) become(id uint64, l *messages.Lease) {
	if now := (leaseID{h.resource, Token(l.GetToken())}); now.token > h.id.token {
		h.c.handles.change(h, func() {
			h.former, h.id, h.kind = h.id, now, kindOf(l)
		})
		h.claim.Token, h.slots = fenceOf(l), slotsOf(l)
		h.hints.token = now.token
		h.renewal.token = now.token
	}
	if h.renewal.asksDowngrade(id) {
		h.downgraded(nil)
	}
}

// downgraded takes in what has become of a downgrade that was asked for.
func (h *handle) downgraded(err error) {
	h.renewal.downgraded(err)
	h.c.downgraded(h.holder())
}

// downgrade is a downgrade of a holder's lease that is asked for, and not decided.
type downgrade struct {
	// leases is how many are downgraded.
	leases int
	// orphans are grants that nothing waited for: each may be one of those leases, under its new token.
	orphans []*messages.Lease
	over    chan struct{}
}

// downgrading notes that one lease more may change its token.
func (s *handles) downgrading(k holder) {
	s.mu.Lock()
	defer s.mu.Unlock()
	d := s.downgrades[k]
	if d == nil {
		d = &downgrade{over: make(chan struct{})}
		put(&s.downgrades, k, d)
	}
	d.leases++
}

// downgraded notes that one lease less may change its token. After the last it returns the orphans, which are known now.
func (s *handles) downgraded(k holder) []*messages.Lease {
	s.mu.Lock()
	defer s.mu.Unlock()
	d := s.downgrades[k]
	if d.leases--; d.leases > 0 {
		return nil
	}
	delete(s.downgrades, k)
	close(d.over)
	return d.orphans
}

// downgraded gives back what was granted meanwhile and has no handle.
func (c *Client) downgraded(k holder) {
	for _, l := range c.handles.downgraded(k) {
		c.giveBack(l, c.secret())
	}
}

// awaitDowngrades waits until it is known which leases of the holder have which tokens.
func (s *handles) awaitDowngrades(ctx context.Context, k holder, stop <-chan struct{}) {
	s.mu.Lock()
	d := s.downgrades[k]
	s.mu.Unlock()
	if d == nil {
		return
	}
	select {
	case <-d.over:
	case <-ctx.Done():
	case <-stop:
	}
}
