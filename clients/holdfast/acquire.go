package holdfast

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/nats-io/nats.go"
	"google.golang.org/protobuf/proto"

	"github.com/holdfast-io/holdfast/clients/internal/clock"
	"github.com/holdfast-io/holdfast/clients/request"
	"github.com/holdfast-io/holdfast/messages"
)

// Acquire locks the resource. The lock is renewed until it is released or lost, at the latest until
// [Client.Close]; [Client.Do] releases it by itself. While another holder has it, the call waits in the
// service's queue, first come first served, until the context ends; through interruptions of the connection,
// restarts and changes of nodes.
//
// When it returns an error, nothing is held: a lease that may have been granted meanwhile is released. It is
// [ErrTimeout] when the context's deadline or [MaxWait] came first, or [ErrUnavailable] if no node could
// decide then, or if three grants came when their lease was nearly over, because the TTL is too short for
// the round trip; the context's own error when it was cancelled; [ErrInvalid], [ErrOverloaded] and
// [ErrExhausted] as the service says; [ErrClosed]. Where a deadline passed, it is also the context's. When the
// connection is closed, the call ends with nats.ErrConnectionClosed, and a lease that was granted runs out.
//
// Such leases are released after the call has returned, for 4 096 calls at a time; beyond that, and while
// the service cannot be reached, the lease runs out by its TTL.
func (c *Client) Acquire(ctx context.Context, resource string, opts ...AcquireOption) (*Lock, error) {
	return c.acquire(ctx, resource, c.cfg.acquireOptions(opts), time.Now())
}

// TryAcquire locks the resource if it is free. If not, it is [ErrHeld], with the [Error.Holder] or the [Error.Lost]. If
// there is no answer in the client's timeout, it is [ErrUnavailable] or [ErrUnknown]; also then nothing is held, as
// with [Client.Acquire].
func (c *Client) TryAcquire(ctx context.Context, resource string, opts ...AcquireOption) (*Lock, error) {
	o := c.cfg.acquireOptions(opts)
	o.maxWait, o.bounded = 0, true
	return c.acquire(ctx, resource, o, time.Now())
}

// Do runs work under a lock: it waits for it as [Client.Acquire] does, and releases it afterwards, also
// after a panic. The context of work is derived from ctx, has its deadline and ends with it; it also ends with
// a cause that is [ErrLost] when the lock is lost, and carries the token.
//
// It returns the error of Acquire, or what work returned; and [ErrLost], joined to that, if the lock was
// not held to the end, so that another holder may have worked at the same time. If the lock cannot be
// released in time, that is not an error of the work and is not returned.
func (c *Client) Do(ctx context.Context, resource string, work func(context.Context, *Lock) error,
	opts ...AcquireOption) (err error) {
	if work == nil {
		return invalid(messages.OpAcquire, resource, noWork)
	}
	l, err := c.Acquire(ctx, resource, opts...)
	if err != nil {
		return err
	}
	under, cancel := context.WithCancelCause(messages.WithClaim(ctx, l.Claim()))
	l.alsoCancel(cancel)
	defer releaseAfter(ctx, l, &err)
	return work(under, l)
}

// releaseAfter releases what work ran under, a [Lock] or [Locks], and adds to the error of work that it was not held to
// the end.
func releaseAfter(ctx context.Context, held interface {
	Valid() bool
	Release(ctx context.Context) error
}, err *error) {
	valid := held.Valid()
	// mutant: LossAtTheEndHidden
	if failure := held.Release(ctx); errors.Is(failure, ErrLost) || !valid && failure != nil {
		*err = errors.Join(*err, failure)
	}
}

const (
	// maxAttemptWait is the wait that one attempt asks for. Every attempt renews it. It runs out if the client is
	// gone.
	maxAttemptWait = time.Minute
	// quietParts is the part of a TTL, a quarter, that may pass between the attempts of a request that waits.
	// When it is granted, that part of the lease may be over, since it is counted from the latest attempt.
	quietParts = 4
	// maxLate is after how many grants that came too late an acquisition gives up.
	maxLate = 3
)

// acquisition is one call of Acquire.
type acquisition struct {
	c             *Client
	options       *acquireOptions
	resource, key string
	lockKey
	id string
	// request is what the latest attempt asked for.
	request  *messages.AcquireRequest
	begun    time.Time
	deadline time.Time // of the context; zero if there is none
	// matters is when the latest attempt cannot matter any more: its wait and a lease granted then are over.
	matters time.Time
	// sent: an attempt was sent. expected is the number of the request for the tombstones; 0: they are not retained for
	// it.
	sent     bool
	expected uint64
	// late counts the grants that came when the lease was nearly over.
	late int
	// began is called when the first request is on its way; nil: nothing is.
	began func()
	// span is that of the call, and outcome what the latest answer said.
	span    span
	outcome messages.Status
}

// acquire is Acquire. The wait counts from begun.
func (c *Client) acquire(ctx context.Context, resource string, o *acquireOptions, begun time.Time) (*Lock, error) {
	if err := checkContext(ctx, messages.OpAcquire, resource); err != nil {
		return nil, err
	}
	resource = messages.NormalizeResource(resource) // mutant: NotNormalised
	if o.idle != 0 || c.cache.entries.Load() > 0 {
		return c.acquireCached(ctx, resource, o, begun)
	}
	return c.newAcquisition(resource, o, begun).acquire(ctx)
}

func (c *Client) newAcquisition(resource string, o *acquireOptions, begun time.Time) *acquisition {
	return &acquisition{c: c, options: o, resource: resource, id: rand.Text(), begun: begun}
}

// acquire asks for a lease.
func (a *acquisition) acquire(ctx context.Context) (*Lock, error) {
	a.deadline, _ = ctx.Deadline()
	if err := a.check(); err != nil {
		return nil, invalid(messages.OpAcquire, a.resource, err)
	}
	a.span = a.c.tracing.begin(ctx, messages.OpAcquire, Call{Resource: a.resource, Owner: a.options.owner})
	l, err := a.do(ctx)
	a.span.returned(a.outcome, l.leaseToken(), err)
	return l, err
}

// do asks, in the number of exchanges that it takes.
func (a *acquisition) do(ctx context.Context) (*Lock, error) {
	c, o := a.c, a.options
	if !c.goroutines.Join() {
		return nil, &Error{Op: string(messages.OpAcquire), Resource: a.resource, Err: ErrClosed}
	}
	defer c.goroutines.Leave()
	a.lockKey = lockKey{holder{a.resource, o.owner}, o.kind()}
	defer a.expectNoMore()
	if o.minHold > 0 {
		over := c.handles.withhold(a.holder)
		defer over()
	}
	if o.reentrant {
		a.expect()
		if l, err := a.share(ctx); l != nil || err != nil {
			return l, err
		}
	}
	if err := c.deployment.need(ctx, messages.OpAcquire, a.resource, a.needs()...); err != nil {
		return nil, err
	}
	c.deployment.await(ctx)
	a.options.secret = c.secret()
	a.options.secret.protect(a.request)
	if a.kind == (kind{}) && !o.reentrant && a.wait() > 0 && c.handles.sharedBy(a.lockKey) != nil {
		c.itself.Do(func() {
			slog.Info(
				"holdfast: a call waits for a lock that this client holds itself; "+
					"locks are not reentrant without holdfast.Reentrant", "resource", a.resource)
		})
	}
	for {
		l, again, err := a.once(ctx)
		if !again {
			return l, err
		}
	}
}

// needs returns the features that the acquisition uses.
func (a *acquisition) needs() (all []feature) {
	if a.kind != (kind{}) {
		all = append(all, sharingFeature)
	}
	if a.options.delay > 0 || a.options.confirm {
		all = append(all, delayFeature)
	}
	if a.options.minHold > 0 {
		all = append(all, minHoldFeature)
	}
	if a.c.cfg.disconnect > 0 {
		all = append(all, sessionsFeature)
	}
	return all
}

func (a *acquisition) check() (err error) {
	if a.key, err = messages.EncodeKey(a.resource); err != nil {
		return err
	}
	switch {
	case a.options.missing:
		return rule("option", "not nil", "nil")
	case a.options.maxWait < 0:
		return rule("wait_ms", "not negative", a.options.maxWait.String())
	}
	if err := checkTTL(a.options.ttl); err != nil {
		return err
	}
	for _, d := range []struct {
		field string
		value time.Duration
	}{{"delay_ms", a.options.delay}, {"min_hold_ms", a.options.minHold}} {
		if d.value < 0 || d.value > millis(messages.MaxDelayMillis) {
			return rule(d.field, "0 to "+millis(messages.MaxDelayMillis).String(), d.value.String())
		}
	}
	if err := cmp.Or(a.options.checkMaxHold(), a.options.checkPermits()); err != nil {
		return err
	}
	if a.options.maxHold > 0 {
		a.options.ttl = min(a.options.ttl, a.options.maxHold)
	}
	a.request = a.options.request(a.id, 0)
	return limits.Check(a.request)
}

// share takes part in a lease that this client holds already.
func (a *acquisition) share(ctx context.Context) (*Lock, error) {
	a.c.handles.awaitDowngrades(ctx, a.holder, a.c.life.Done())
	h := a.c.handles.sharedBy(a.lockKey)
	if h == nil || ctx.Err() != nil {
		return nil, nil
	}
	l := h.attach(ctx, a.kind)
	if l == nil || h.lasts(a.options.ttl) {
		return l, nil
	}
	if err := l.Extend(ctx, a.options.ttl); err != nil {
		return nil, errors.Join(err, l.Release(ctx))
	}
	return l, nil
}

// once asks until there is an answer. again: the answer decided nothing, or the lease is over already.
func (a *acquisition) once(ctx context.Context) (l *Lock, again bool, err error) {
	// mutant: WaitOutlastsClose
	r := request.Request{Op: messages.OpAcquire, Key: a.key, Message: a.message, Stop: a.c.life.Done(),
		Header: a.span.header(), GivesUp: true, Began: a.began}
	if r.Waits = a.wait() > 0; r.Waits {
		r.MaxPause = min(a.options.ttl/quietParts, messages.MaxResend)
	}
	x := a.c.sender.Exchange(r)
	defer x.Finish()
	answer, err := a.run(ctx, x)
	if err != nil {
		a.withdraw(x)
		return nil, false, a.gaveUp(unanswered(messages.OpAcquire, a.resource, err))
	}
	reply, err := answer.Reply()
	if err != nil {
		err = &Error{Op: string(messages.OpAcquire), Resource: a.resource, Err: ErrUnknown, Cause: err}
	} else {
		l, again, err = a.answered(ctx, reply, answer.Sent) // mutant: LeaseFromTheFirstAttempt
	}
	if l == nil && !again {
		a.withdraw(x) // a late copy of the request may come yet
	}
	return l, again, err
}

func (a *acquisition) message() proto.Message {
	if a.sent {
		a.expect()
	}
	a.sent = true
	wait := a.wait()
	a.matters = clock.Now().Add(wait + a.options.ttl)
	a.request.RequestId, a.request.WaitMs = a.id, inMillis(wait) // mutant: AnotherIDForEachAttempt
	return a.request
}

// expect retains the tombstones of leases that are released while the request is under way. A reentrant request may be
// granted one of them, and so may one that was sent several times: the answer to an attempt that is not expected any
// more has the lease released, and a later attempt may have been answered with it before.
func (a *acquisition) expect() {
	if a.expected == 0 {
		a.expected = a.c.handles.expect(a.holder)
	}
}

func (a *acquisition) expectNoMore() {
	if a.expected > 0 {
		a.c.handles.expectNoMore(a.holder, a.expected)
	}
}

// wait is how long the request may stay in the queue from now on. A wait never becomes 0, which would be
// another request.
func (a *acquisition) wait() time.Duration {
	if a.options.tries() {
		return 0
	}
	left := min(maxAttemptWait, a.c.deployment.maxWait()) // mutant: WaitBeyondTheLimit
	if a.options.bounded {
		left = min(left, time.Until(a.begun.Add(a.options.maxWait))) // mutant: WaitCountedAnew
	}
	if !a.deadline.IsZero() {
		left = min(left, time.Until(a.deadline))
	}
	return max(left, time.Millisecond)
}

// run runs the exchange: without a bound of its own, for as long as the caller's context lasts.
func (a *acquisition) run(ctx context.Context, x *request.Exchange) (*request.Answer, error) {
	if !a.options.bounded {
		return x.Run(ctx)
	}
	return x.Within(ctx, time.Until(a.begun.Add(a.options.maxWait+a.c.cfg.timeout)))
}

// answered deals with the answer to an attempt that was sent then.
func (a *acquisition) answered(ctx context.Context, r *messages.Reply, sent time.Time) (*Lock, bool, error) {
	a.outcome = r.GetStatus()
	switch {
	case r.GetStatus() == messages.Status_GRANTED:
		return a.granted(ctx, sent, r)
	case r.GetStatus() == messages.Status_TIMEOUT && a.wait() > time.Millisecond:
		return nil, true, nil // the place in the queue ran out, not the wait
	case r.GetStatus() == messages.Status_RELEASED, r.GetStatus() == messages.Status_EXPIRED:
		a.id = rand.Text() // it was granted, and the lease ended before any answer came
		return nil, true, nil
	case r.GetStatus() == messages.Status_EXHAUSTED && a.options.cached != nil: // fewer than the block may be left
		a.id, a.options.cached, a.request.Tokens = rand.Text(), nil, 0
		return nil, true, nil
	}
	e := refused(messages.OpAcquire, a.resource, r)
	if r.GetStatus() == messages.Status_TIMEOUT {
		if r.GetLease() != nil && a.c.handles.has(r.GetLease()) {
			e.Detail = "this client holds it itself, and locks are not reentrant without the option Reentrant"
		}
		e.Cause = a.expired(ctx)
	}
	return nil, false, e
}

// expired returns the context's error if its deadline is what ended the wait. The service may answer a
// moment before the deadline, which is then waited for: a millisecond at most.
func (a *acquisition) expired(ctx context.Context) error {
	if a.deadline.IsZero() || time.Until(a.deadline) > time.Millisecond {
		return nil
	}
	select {
	case <-ctx.Done():
		return request.ContextError(ctx)
	case <-a.c.life.Done():
		return nil
	}
}

// granted takes the lease over. If it is over already, or released, another one is asked for.
func (a *acquisition) granted(ctx context.Context, sent time.Time, r *messages.Reply) (*Lock, bool, error) {
	if a.options.reentrant { // the lease may be one of this client's, under a token that is not known yet
		a.c.handles.awaitDowngrades(ctx, a.holder, a.c.life.Done())
	}
	if a.options.minHold > 0 {
		a.options.requestID = a.id
	}
	fresh := a.c.handles.newHandle(a.resource, a.key, r, sent, a.options)
	h, err := a.c.handles.add(fresh)
	var l *Lock
	if err == nil {
		l = h.attach(ctx, a.kind)
	}
	if l == nil || h != fresh {
		fresh.discard()
	}
	switch {
	case l != nil:
		return l, false, nil
	case err == nil && h != fresh && !h.isOf(a.kind): // it has been downgraded since
		a.id = rand.Text()
		return nil, true, nil
	}
	a.giveBack(r.GetLease())
	switch {
	case err == nil && a.c.life.Err() == nil:
		a.late++
	case errors.Is(err, ErrClosed):
		return nil, false, &Error{Op: string(messages.OpAcquire), Resource: a.resource, Err: err}
	}
	if a.late == maxLate {
		// every further grant would use up a token in vain
		return nil, false, &Error{
			Op: string(messages.OpAcquire), Resource: a.resource, Err: ErrUnavailable,
			Cause: fmt.Errorf(
				"%d grants came when their lease was nearly over, the last after %v: a TTL of %v is too short for "+
					"this connection",
				maxLate, clock.Since(sent).Round(time.Millisecond), a.options.ttl),
		}
	}
	a.id = rand.Text()
	return nil, true, nil
}

// gaveUp says why the wait is over. An unknown outcome does not matter to the caller: the lock is not held,
// and will not be.
func (a *acquisition) gaveUp(err error) error {
	var e *Error
	if !errors.As(err, &e) || a.wait() == 0 || errors.Is(err, ErrClosed) || errors.Is(err, nats.ErrConnectionClosed) {
		return err
	}
	switch {
	case errors.Is(e.Cause, context.Canceled):
		e.Err, e.Cause = e.Cause, nil
	case errors.Is(e.Err, ErrUnknown):
		e.Err = ErrTimeout
	}
	return e
}

// withdraw withdraws the request in the background, unless it definitely has no effect: the service then does
// not grant it any more, even if a copy arrives late. If the background is full, or the service cannot be
// reached, the place in the queue and the lease run out by themselves.
func (a *acquisition) withdraw(x *request.Exchange) {
	if !x.Definite() { // mutant: LateGrantKept
		a.c.background.add(a.withdrawal())
	}
}

// withdrawal is the work that withdraws the request. Of a lease with a shortest hold only that leaves nothing behind,
// so the leases of the holder are not given back by their tokens meanwhile.
func (a *acquisition) withdrawal() job {
	id := a.id
	j := job{until: a.matters, do: func(ctx context.Context) bool { return a.settle(ctx, id) }}
	if a.options.minHold > 0 {
		j.end = a.c.handles.withhold(a.holder)
	}
	return j
}

// giveBack gives a lease back that came too late.
func (a *acquisition) giveBack(l *messages.Lease) {
	if a.options.minHold > 0 {
		a.c.background.add(a.withdrawal())
		return
	}
	a.c.handles.giveBack(l, a.options.secret)
}

// settle takes the request out of the queue. If the owner holds a lease that has no handle here, or several, of which
// the answer shows one, the request may have been granted and the answer lost: repeated, it is answered with the same
// grant.
func (a *acquisition) settle(ctx context.Context, id string) (done bool) {
	withdrawal := request.Withdrawal(a.options.owner, id, a.options.secret.value)
	if a.options.minHold > 0 {
		withdrawal.Token = 0 // mutant: RestOfALateGrant
	}
	r, done := a.c.cleanup.clear(ctx, messages.OpRelease, a.resource, withdrawal)
	only := kindOf(r.GetLease()) == kind{}
	if r.GetStatus() != messages.Status_STALE_TOKEN || only && a.c.handles.has(r.GetLease()) {
		return done
	}
	again := a.options.request(id, 0)
	again.Reentrant = false // else it would be granted whatever the owner holds
	if r, done = a.c.cleanup.clear(ctx, messages.OpAcquire, a.resource, again); r.GetStatus() == messages.Status_GRANTED {
		a.c.handles.giveBack(r.GetLease(), a.options.secret)
	}
	return done
}
