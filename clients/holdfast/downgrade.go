package holdfast

import "context"

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
	if err := h.c.deployment.need(ctx, opDowngrade, h.resource, sharingFeature); err != nil {
		return err
	}
	return h.ask(ctx, opDowngrade, l, &h.extensions.downgrades, func() {
		if h.extensions.downgrading == 0 {
			h.registry.downgrading(h.holder())
			h.extensions.askDowngrade()
		}
	})
}
