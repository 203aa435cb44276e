package holdfast

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/holdfast-io/holdfast/clients/holdfast/internal/lease"
	"github.com/holdfast-io/holdfast/clients/internal/alarm"
	"github.com/holdfast-io/holdfast/clients/internal/clock"
	"github.com/holdfast-io/holdfast/clients/request"
	"github.com/holdfast-io/holdfast/messages"
)

// handle is a lease that this client holds: when it ends, and how it is renewed. Several [Lock]s share one
// if they are re-entrant. No goroutine belongs to it: its alarm and answers drive it.
type handle struct {
	c             *Client
	resource, key string
	options       acquireOptions

	mu    sync.Mutex
	phase phase
	// id identifies the lease, claim is what it shows to the protected resource. kind and slots are what it has. former is
	// its id before it was downgraded; zero: it was not.
	id, former leaseID
	claim      Claim
	kind       kind
	slots      []int
	// metadata are what the service shows of the lease, asked what the latest call asked for that replaces them, and setOrder
	// is its order; 0: it has none. setting is held by the one call that does, which ends within the timeout of the client.
	metadata, asked map[string]string
	setOrder        uint64
	setting         sync.Mutex
	locks           []*Lock // that have not been released
	// failing: the application has been told of jeopardy.
	failing bool
	renewal renewal
	// alone: the next extension names no session.
	alone bool
	// coverage prolongs the lease in place of the renewal; nil: nothing does.
	coverage *coverage
	hints    hints
	// found is why the lease is lost, end when it is over at the service too, unless a renewal was delayed on
	// its way. Both are set when the phase is no longer holding.
	found error
	end   time.Time
	alarm alarm.Alarm // calls Wake
}

// phase is how far a handle has come.
type phase uint8

const (
	holding   phase = iota
	releasing       // by its last lock
	gone            // the lease is over, or may be
)

// newHandle returns a handle of a lease of the resource that was granted in answer to a request sent then.
func newHandle(c *Client, resource, key string, granted *messages.Reply, sent time.Time, o acquireOptions) *handle {
	l, begun := granted.GetLease(), c.begun
	id := leaseID{resource, Token(l.GetToken())}
	h := &handle{
		c: c, resource: resource, key: key, options: o, id: id, claim: Claim{Resource: resource, Token: fenceOf(l)},
		kind: kindOf(l), slots: slotsOf(l), metadata: l.GetMetadata(),
	}
	h.renewal = renewal{
		sender: c.sender, key: key, owner: o.owner, secret: o.secret.value, token: id.token,
		Renewal: lease.NewRenewal(lease.New(sent, millis(l.GetRemainingMs()), o.ttl), sent, begun),
	}
	h.renewal.most, h.renewal.agreed = c.cfg.most(o), o.ttl
	h.renewal.ask(o.ttl)
	if c.everyNodeOffers(messages.FeatureOrder) {
		h.renewal.Above(granted.GetOrder())
	}
	h.hints = hints{
		sender: c.sender, ends: c.ends, key: key, token: id.token, ephemeral: o.ephemeral, mu: &h.mu, verifier: h,
		from: begun.Add((clock.Since(begun) + subscribeAfter).Truncate(lease.Coarsest)),
	}
	h.alarm.Waker = h
	if c.cfg.endsEarly(o) {
		h.renewal.Hasten(clock.Now(), func(int) time.Duration { return 0 })
	}
	h.schedule()
	return h
}

func (h *handle) holder() holder { return holder{h.resource, h.options.owner} }

// lockKey returns the key of the locks that may share the lease.
func (h *handle) lockKey() lockKey { return lockKey{h.holder(), h.kind} }

// tokens returns those of which the lease has tombstones when it is released.
func (h *handle) tokens() []Token {
	if h.former == (leaseID{}) {
		return []Token{h.id.token}
	}
	return []Token{h.id.token, h.former.token}
}

// attach adds a lock that shares the lease; nil if that is not held any more, or not of this kind.
func (h *handle) attach(ctx context.Context, k kind) *Lock {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.valid() || h.c.life.Err() != nil || h.kind != k {
		return nil
	}
	l := &Lock{h: h, parent: ctx}
	h.locks = append(h.locks, l)
	return l
}

// token returns what identifies the lease.
func (h *handle) token() Token {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.id.token
}

// valid goes by the clock, since a timer may be late.
func (h *handle) valid() bool { return h.phase == holding && clock.Now().Before(h.until()) }

// until is when the lease must be considered over.
func (h *handle) until() time.Time {
	if h.coverage == nil {
		return h.renewal.Until()
	}
	return lease.Later(h.renewal.Until(), h.coverage.end())
}

// look ends a lease that is over by the clock. The timer may be late.
func (h *handle) look() {
	if h.phase == holding && !h.valid() {
		h.runOut()
	}
}

// lasts reports whether the lease is renewed to at least this length.
func (h *handle) lasts(ttl time.Duration) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.renewal.Agreed() >= ttl
}

// discard ends a handle that has no lock.
func (h *handle) discard() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.phase = gone
	h.renewal.forsake()
	h.stop()
}

// isOf reports whether the lease is of this kind.
func (h *handle) isOf(k kind) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.kind == k
}

// Wake is called by the alarm.
func (h *handle) Wake() {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch now := clock.Now(); {
	case h.phase != holding:
		return
	case !h.valid():
		h.runOut()
		return
	case h.isRenewed() && !now.Before(h.renewal.Due()):
		if h.renewal.Attempts() > 0 {
			h.endanger(request.ErrNoAnswer)
		}
		h.send()
	}
	h.hints.wake(h.renewal.Asked())
	h.schedule()
}

// schedule has Wake called when something is due: a renewal, the subscription to events, or the end, of which a lease in a
// coverage is told.
func (h *handle) schedule() {
	var at time.Time
	first := func(other time.Time) {
		if at.IsZero() || other.Before(at) {
			at = other
		}
	}
	if h.coverage == nil {
		first(h.renewal.Until())
	}
	if h.isRenewed() {
		first(h.renewal.Due())
	}
	if from, ok := h.hints.due(h.renewal.Asked()); ok {
		first(from)
	}
	if at.IsZero() {
		h.c.alarms.Stop(&h.alarm)
		return
	}
	h.c.alarms.Set(&h.alarm, at)
}

// isRenewed reports whether the lease is to be prolonged by itself.
func (h *handle) isRenewed() bool {
	return h.coverage == nil && !h.options.byHand || h.renewal.isAwaited()
}

// renew asks for more time.
func (h *handle) renew() {
	h.send()
	h.schedule()
}

func (h *handle) send() {
	if h.renewal.downgrading == 0 {
		var x *session
		if !h.alone {
			x = h.c.sessions.of(h)
		}
		if h.alone = false; h.renewal.name(x) {
			h.uncover(clock.Now()) // it leaves the session
		}
	}
	h.renewal.send(h.answered)
}

// reconnected asks at once for what may have been lost with the last connection.
func (h *handle) reconnected() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.phase == holding && h.isRenewed() && (h.renewal.HasOpen(0) || h.failing) {
		h.renew()
	}
}

// ask has the renewals ask for what is set, and waits among the callers for the answer. If ctx ends earlier, the renewals
// go on to ask. set is called with mu held.
func (h *handle) ask(ctx context.Context, op messages.Operation, l *Lock, callers *calls, set func()) error {
	s := h.c.tracing.begin(ctx, op, Call{Resource: h.resource, Owner: h.options.owner, Token: h.token()})
	header := s.header()
	err := h.await(ctx, op, l, callers, func() {
		set()
		h.renewal.header = header
	})
	if err != nil {
		s.returned(messages.Status_STATUS_UNSPECIFIED, nil, err)
	} else {
		s.returned(messages.Status_EXTENDED, l, nil)
	}
	return err
}

// await is ask within its span.
func (h *handle) await(ctx context.Context, op messages.Operation, l *Lock, callers *calls, set func()) error {
	ctx, cancel := context.WithTimeoutCause(ctx, h.c.cfg.timeout, request.ErrNoAnswer)
	defer cancel()
	h.mu.Lock()
	if err := h.isOver(op, l); err != nil {
		h.mu.Unlock()
		return err
	}
	done := callers.add(h.c.sender.LastID() + 1)
	set()
	h.renew()
	h.mu.Unlock()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		h.mu.Lock()
		defer h.mu.Unlock()
		callers.remove(done)
		return &Error{Op: string(op), Resource: h.resource, Err: ErrUnknown, Cause: request.ContextError(ctx)}
	}
}

// isOver returns why nothing can be asked about a lock, nil if it is held. It is called with mu held.
func (h *handle) isOver(op messages.Operation, l *Lock) error {
	switch {
	case l.over == nil && h.phase == holding:
		return nil
	case h.found != nil:
		return h.found
	}
	return &Error{Op: string(op), Resource: h.resource, Err: ErrReleased}
}

// answered takes the answer to an attempt in.
func (h *handle) answered(a *request.Answer) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.phase != holding {
		return
	}
	reply, err := a.Reply()
	switch {
	case a.NotSent != nil:
		h.noEffect(a.ID, a.NotSent)
	case err != nil:
		h.endanger(err)
	case reply == nil:
		h.noEffect(a.ID, request.ErrNoResponders)
	default:
		h.replied(a, reply)
	}
}

func (h *handle) replied(a *request.Answer, r *messages.Reply) {
	id := a.ID
	switch r.GetStatus() {
	case messages.Status_EXTENDED:
		h.granted(a, r)
	case messages.Status_UNAVAILABLE:
		h.noEffect(id, refused(messages.OpExtend, h.resource, r))
	case messages.Status_OVERLOADED, messages.Status_INVALID, messages.Status_EXHAUSTED:
		h.refused(id, refused(messages.OpExtend, h.resource, r))
	default:
		h.lose(lost(messages.OpExtend, h.resource, r))
	}
}

// refused takes in that the service has refused an attempt, which had no effect.
func (h *handle) refused(id uint64, refusal *Error) {
	h.renewal.Drop(id) // the timer brings the next attempt
	switch {
	case errors.Is(refusal, ErrOverloaded):
		h.alone = h.renewal.named(id) // the shard may have too many sessions
	case h.renewal.asksDowngrade(id):
		refusal.Op = string(opDowngrade)
		h.downgraded(refusal)
		if h.isRenewed() {
			h.renew() // nothing was decided on the extension that was asked for with it
		}
		return
	case id <= h.renewal.decided: // what refuses a downgrade that is decided on may say nothing of the TTL
		return
	case h.renewal.named(id): // it may be the session that is refused
		h.c.sessions.refuse()
		h.renew()
		return
	default:
		h.renewal.ask(h.renewal.agreed) // the TTL that the service has agreed to
		h.renewal.calls.answer(id, refusal)
	}
	h.endanger(refusal)
}

func (h *handle) granted(a *request.Answer, r *messages.Reply) {
	l := r.GetLease()
	h.become(a.ID, l)
	if !h.renewal.granted(a.ID, r) {
		return
	}
	switch {
	case h.renewal.has(l):
		h.cover(h.renewal.session.entered(h, a.Sent))
	case h.coverage != nil && l.GetSession() != h.coverage.session.label:
		h.uncover(clock.Now())
	}
	if h.renewal.isAwaited() && !h.renewal.HasOpen(0) { // another client has spoken for the lease
		h.send()
	}
	h.schedule()
	if !h.renewal.HasOpen(a.ID) {
		h.endanger(nil)
	}
}

// cover has the lease prolonged by a coverage, if there is one.
func (h *handle) cover(v *coverage) {
	if v == nil || v == h.coverage {
		return
	}
	if h.coverage != nil {
		h.coverage.remove(h)
	}
	h.coverage = v
}

// uncovered is told that a coverage is over.
func (h *handle) uncovered(v *coverage) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.coverage != v || h.phase != holding {
		return
	}
	h.uncover(clock.Now().Add(rand.N(lease.Spread(h.renewal.Agreed()))))
	h.schedule()
}

// uncover has the lease renewed by itself, from a moment on.
func (h *handle) uncover(due time.Time) {
	if h.coverage == nil {
		return
	}
	h.coverage.remove(h)
	h.renewal.Resume(h.coverage.end(), due)
	h.coverage = nil
}

// keepsFail is told that the keeps of its coverage begin to fail, or that they do no more.
func (h *handle) keepsFail(v *coverage) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.phase == holding && h.coverage == v {
		h.endanger(v.session.failure())
	}
}

// noEffect takes in that no node decided on an attempt.
func (h *handle) noEffect(id uint64, err error) {
	h.renewal.noEffect(id)
	h.schedule()
	h.endanger(err)
}

// endanger tells the application, once, that renewals have begun to fail; with nil that they do not any more.
func (h *handle) endanger(err error) {
	if failing := err != nil; failing != h.failing {
		h.failing = failing
		h.c.tellJeopardy(h.locks, err)
	}
}

// verify asks the service whether the lease has ended, because of a hint. Renewed, it tells. A lease that is
// renewed by the caller must keep its length, so there the service is only asked. It is called with mu held.
func (h *handle) verify() {
	switch {
	case h.phase != holding:
	case h.isRenewed():
		h.renew()
	default:
		h.c.background.add(job{until: h.until(), do: h.confirm})
	}
}

// confirm ends the lease if the service says that it has ended.
func (h *handle) confirm(ctx context.Context) (done bool) {
	token := h.token()
	r, done := h.c.chores.clear(ctx, messages.OpGet, h.resource, &messages.GetRequest{})
	if !ended(r, token) {
		return done
	}
	e := &Error{Op: string(messages.OpGet), Resource: h.resource, Err: ErrLost, Cause: ErrNotHeld}
	if r.GetStatus() == messages.Status_HELD {
		e.Cause, e.Holder = ErrNotOwner, newLease(r.GetLease())
		if e.Holder.Owner == h.options.owner {
			e.Cause = ErrStaleToken
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.phase == holding && h.id.token == token && h.renewal.downgrading == 0 { // else it may be held under another token
		h.lose(e)
	}
	return true
}

// runOut gives the lease up by the clock alone.
func (h *handle) runOut() {
	h.renewal.forsake()
	h.lose(lost(messages.OpExtend, h.resource, nil))
}

// lose ends the lease for all locks that share it.
func (h *handle) lose(e *Error) {
	h.phase, h.found = gone, e
	h.stop()
	for _, l := range h.locks {
		l.end(e)
	}
	h.renewal.end(e)
	if h.renewal.downgrading > 0 {
		h.downgraded(e)
	}
}

// stop ends what renews the lease and looks for its end.
func (h *handle) stop() {
	h.c.alarms.Stop(&h.alarm)
	h.hints.stop()
	h.end = h.renewal.over()
	if h.coverage != nil {
		h.coverage.remove(h)
	}
	if h.phase != releasing { // else with the answer to the release
		h.renewal.disuse()
	}
	h.c.sender.Forget(h.renewal.DropAll()...)
	h.c.handles.remove(h)
}

// detach takes a lock away. It returns the release that is to be run because that was the last, nil if there is none,
// and why the lease is lost if it is.
func (h *handle) detach(l *Lock) (r *release, found error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.look()
	h.locks = slices.DeleteFunc(h.locks, func(other *Lock) bool { return other == l })
	l.end(ErrReleased)
	switch {
	case h.phase == gone:
		h.postRelease()
		return nil, h.found
	case len(h.locks) > 0 || !h.c.handles.releasing(nil, h):
		return nil, nil
	}
	h.phase = releasing
	h.stop()
	h.renewal.end(ErrReleased)
	h.renewal.downgrades.answer(h.c.sender.LastID()+1, ErrReleased)
	return h.toRelease(), nil
}

// postRelease posts a release of a lease that ran out by this client's clock, and waits for nothing: the service
// may have prolonged it without the client's knowledge. It is posted once, with the last lock.
func (h *handle) postRelease() {
	if len(h.locks) == 0 && errors.Is(h.found, errDeadline) && clock.Now().Before(h.end) {
		h.toRelease().post()
	}
}

// toRelease returns the release of the lease.
func (h *handle) toRelease() *release {
	r := &release{
		c: h.c, holder: h.holder(), token: h.id.token, key: h.key, secret: h.options.secret.value, tokens: h.tokens(),
		until: h.end, forsake: h.renewal.forsake,
	}
	if h.phase == releasing {
		r.downgrading, r.disuse = h.renewal.downgrading > 0, h.renewal.disuse
	}
	return r
}

// surrender has all locks that share a lease of a coverage released, and returns the release that is to be run, nil if
// there is none. covered: the lease is still in the coverage, so the end of its session releases it.
func (h *handle) surrender(v *coverage) (r *release, covered bool) {
	for _, l := range h.all() {
		l.once.Do(func() { r, l.result = h.detach(l) }) // only the last one has a release
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return r, h.coverage == v
}

// all returns the locks that share the lease.
func (h *handle) all() []*Lock {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.locks)
}

// releaseAll releases all locks that share the lease.
func (h *handle) releaseAll(ctx context.Context) error {
	var err error
	for _, l := range h.all() {
		err = l.releaseOnce(ctx) // the last one's says what was found
	}
	return err
}
