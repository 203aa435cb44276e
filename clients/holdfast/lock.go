package holdfast

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/holdfast-io/holdfast/clients/internal/clock"
	"github.com/holdfast-io/holdfast/clients/request"
	"github.com/holdfast-io/holdfast/messages"
)

// Lock is a lock that is held. It is safe for concurrent use.
//
// It is held until [Lock.Release], or until it is lost: when the service says so, or when the lease has
// not been renewed in time and may therefore be over. The service says so when it is asked: at each
// renewal, and when the event holdfast.event.<key> shows the lease's end, to which the client subscribes
// if the TTL is at least 3 s and the NATS user may. So a break ends the lock within a second.
//
// When the lock is lost, its context ends, and what runs under it must stop. The context ends before the
// service grants the lock to another holder, by an eighth of the TTL (at least 15 ms, at most 1 s or a
// thousandth of the TTL), as long as this process runs. The time for which the machine was suspended counts, on Linux,
// macOS and Windows: after it, Valid is right at once, and the context ends within a second. A process that is paused
// learns of the loss too late: only a check of the [Lock.Token] at the protected resource stops what it does then.
type Lock struct {
	h *handle
	// parent is the context that it was acquired with.
	parent context.Context
	// token is the one of a cached lease that this use of it has; 0: the lease is not cached.
	token Token

	// These are guarded by the handle's mu. ctx and lost are nil until they are asked for.
	ctx  context.Context
	lost <-chan struct{}
	// over is why the lock is not held any more, nil while it is; cancels are called with it.
	over    error
	cancels []context.CancelCauseFunc

	released first
}

// Resource returns the name of what is locked, in Unicode NFC.
func (l *Lock) Resource() string { return l.h.resource }

// Token returns the fencing token, to be shown to the protected resource with every write. Locks that are shared and
// held at the same time have one in common. It stays the same for as long as the lock is held and not downgraded.
func (l *Lock) Token() Token { return l.Claim().Token }

// leaseToken returns what identifies the lease; 0: there is no lock.
func (l *Lock) leaseToken() Token {
	if l == nil {
		return 0
	}
	return l.h.token()
}

// Claim returns resource and token, as the guards below clients/fence take them.
func (l *Lock) Claim() Claim {
	l.h.mu.Lock()
	defer l.h.mu.Unlock()
	return l.shows()
}

// shows is Claim with the mutex of the handle held.
func (l *Lock) shows() Claim {
	claim := l.h.claim
	if l.token > 0 { // mutant: FirstTokenForEachUse
		claim.Token = l.token
	}
	return claim
}

// Slots returns the numbers of the permits that a shared lock has, in rising order; nil if it is exclusive. No other
// holder has them meanwhile.
func (l *Lock) Slots() []int {
	l.h.mu.Lock()
	defer l.h.mu.Unlock()
	return slices.Clone(l.h.slots)
}

// SlotClaim returns the claim to the part of the protected resource that belongs to slot number Slots()[i]: the name
// of the lock, # and the number, with a token that only the later holders of that slot exceed. So each part keeps a
// mark of its own. It is [ErrInvalid] if the lock has no such slot, or if the name becomes too long.
func (l *Lock) SlotClaim(i int) (Claim, error) {
	l.h.mu.Lock()
	defer l.h.mu.Unlock()
	if i < 0 || i >= len(l.h.slots) {
		return Claim{}, invalid(opSlotClaim, l.h.resource,
			rule("slot", "an index into the lock's "+strconv.Itoa(len(l.h.slots))+" slots", strconv.Itoa(i)))
	}
	claim := Claim{Resource: l.h.resource + "#" + strconv.Itoa(l.h.slots[i]), Token: l.h.id.token}
	if err := claim.Check(); err != nil {
		return Claim{}, invalid(opSlotClaim, l.h.resource, err)
	}
	return claim, nil
}

// opSlotClaim stands in errors.
const opSlotClaim messages.Operation = "slot claim"

// Owner returns in whose name the lock is held.
func (l *Lock) Owner() string { return l.h.options.owner }

// String returns resource and token.
func (l *Lock) String() string { return fmt.Sprintf("%q with token %v", l.Resource(), l.Token()) }

// Context returns a context that ends when the lock is lost, with a cause that is [ErrLost], or
// released, with [ErrReleased]. It has the values and the deadline of the context that the lock was acquired
// with, and carries the token: see [TokenFromContext]. At the deadline it ends with
// context.DeadlineExceeded; the lock is held on. To bound the wait and not the work, use [MaxWait].
//
// It does not end when the other context is cancelled, since a function that returns a lock may cancel its
// own context before. Work that is to end then runs under [Client.Do].
func (l *Lock) Context() context.Context {
	l.h.mu.Lock()
	defer l.h.mu.Unlock()
	if l.over == nil {
		l.h.look()
	}
	if l.ctx == nil {
		under, cancel := detached(messages.WithClaim(l.parent, l.shows()))
		l.endWith(cancel)
		l.ctx = under
	}
	return l.ctx
}

// Lost returns a channel that is closed when the lock is lost, and not when it is released.
func (l *Lock) Lost() <-chan struct{} {
	l.h.mu.Lock()
	defer l.h.mu.Unlock()
	if l.lost == nil {
		lost := make(chan struct{})
		l.endWith(func(cause error) {
			if errors.Is(cause, ErrLost) {
				close(lost)
			}
		})
		l.lost = lost
	}
	return l.lost
}

// Wanted returns a channel that is closed when the client learns that others wait for the resource, or were refused
// because of this lock: from notices of the service, if it has the feature "notices", and from the answers to renewals.
// It stays closed, also if they wait no more. Who asks for it has the lock taken into a session, where notices come at
// once; that of a lock that is in none, see [PerLockRenewal], comes with the next renewal.
func (l *Lock) Wanted() <-chan struct{} {
	l.h.mu.Lock()
	defer l.h.mu.Unlock()
	return l.h.listen()
}

// Valid reports whether the lock is held at this moment. It looks at the clock, so it is right also
// where the end of the context may be noticed late; it may be outdated as soon as it is returned.
func (l *Lock) Valid() bool {
	l.h.mu.Lock()
	defer l.h.mu.Unlock()
	return l.over == nil && l.h.valid()
}

// Deadline returns when the lock is lost unless it is renewed before, on the monotonic clock of [time.Now]. Every
// renewal moves it, and so does a suspend of the machine, during which that clock stands still.
func (l *Lock) Deadline() time.Time {
	l.h.mu.Lock()
	defer l.h.mu.Unlock()
	return clock.Monotonic(l.h.until())
}

// Extend makes the lease last ttl from now, longer or shorter than what was left, and renewals ask for
// as much from then on. It returns nil when the service has agreed, [ErrLost] when the lock is lost,
// [ErrReleased] after a release, [ErrInvalid] for a TTL that is not allowed; when the context or the
// client's timeout ends first [ErrUnknown], and the lease has to be taken for the shorter of the two. Of calls
// that overlap the shortest TTL counts until the next renewal. With a context that has ended already it changes
// nothing, and is [ErrUnavailable] with the context's error. That of a [Cached] lock is [ErrInvalid].
func (l *Lock) Extend(ctx context.Context, ttl time.Duration) error {
	if err := l.check(ctx, messages.OpExtend, checkTTL(ttl)); err != nil {
		return err
	}
	return l.h.ask(ctx, messages.OpExtend, l, &l.h.extensions.calls, func() { l.h.extensions.extend(ttl) })
}

// check returns why nothing may be asked about the lock: it is [ErrInvalid] for a nil context, and for what breaks a
// rule of the call, and [ErrUnavailable] for a context that has ended.
func (l *Lock) check(ctx context.Context, op messages.Operation, broken error) error {
	if err := checkContext(ctx, op, l.Resource()); err != nil {
		return err
	}
	if l.token > 0 { // mutant: UseChangesTheLease
		broken = rule(string(op), "none of a lock with Cached, whose lease may have other uses", l.String())
	}
	if broken != nil {
		return invalid(op, l.Resource(), broken)
	}
	if ctx.Err() != nil {
		return &Error{Op: string(op), Resource: l.Resource(), Err: ErrUnavailable, Cause: request.ContextError(ctx)}
	}
	return nil
}

// Release gives the lock back. The lock's context ends at once, and after that the service is asked. It
// returns nil if the lock was held to the end, so that no other holder can have had it meanwhile; [ErrLost]
// if not, together with what the service found; [ErrUnavailable] or [ErrUnknown] if there was no answer
// in time, and then the client goes on to ask until the lease has run out; [ErrUnknown], together with
// what the service found, also if an answer was lost and another holder has come before it was repeated.
//
// A lock that is lost already needs no release: the call returns why it was lost and does not wait.
//
// The wait for the answer ends with the context, with the client's timeout, when the lease has run out, and
// when the connection is closed. For the end of a use of a [Cached] lease nothing is asked, so there is no wait. A context
// that has ended already does not count: it is usually the reason
// for the release. A nil context is [ErrInvalid], and releases nothing. Later calls return what the first did; one whose
// context ends before that is [ErrUnknown].
func (l *Lock) Release(ctx context.Context) error {
	if err := checkContext(ctx, messages.OpRelease, l.Resource()); err != nil {
		return err
	}
	if ctx.Err() != nil {
		ctx = context.WithoutCancel(ctx)
	}
	return l.releaseOnce(ctx)
}

// releaseOnce releases the lock once. With a context that has ended it does not wait for the answer.
func (l *Lock) releaseOnce(ctx context.Context) error {
	if l.token > 0 {
		return l.h.endUse(l)
	}
	return l.released.do(ctx, func() error {
		r, err := l.h.detach(l)
		if r != nil {
			err = r.run(ctx)
		}
		return err
	}, func() error {
		return &Error{Op: string(messages.OpRelease), Resource: l.Resource(), Err: ErrUnknown,
			Cause: request.ContextError(ctx)}
	})
}

// alsoCancel ends another context with the lock.
func (l *Lock) alsoCancel(cancel context.CancelCauseFunc) {
	l.h.mu.Lock()
	defer l.h.mu.Unlock()
	l.endWith(cancel)
}

// endWith has a context end with the lock. It is called with the handle's mu held.
func (l *Lock) endWith(cancel context.CancelCauseFunc) {
	if l.over != nil {
		cancel(l.over)
		return
	}
	l.cancels = append(l.cancels, cancel)
}

// end receives that the lock is not held any more, with the handle's mu held.
func (l *Lock) end(cause error) {
	if l.over != nil {
		return
	}
	l.over = cause
	for _, cancel := range l.cancels {
		cancel(cause)
	}
}

// CountsSuspend reports whether clients on this machine count the time for which it is suspended, so that a lock whose
// lease ends meanwhile is lost when it wakes. It is false on systems that do not show that time; there only the check
// of the token at the protected resource helps. A pause of a virtual machine may stop all of its clocks, and is noticed
// by none.
func CountsSuspend() bool { return clock.CountsSuspend() }
