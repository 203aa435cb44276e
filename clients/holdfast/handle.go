package holdfast

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/holdfast-io/holdfast/clients/holdfast/internal/lease"
	"github.com/holdfast-io/holdfast/clients/internal/alarm"
	"github.com/holdfast-io/holdfast/clients/internal/chance"
	"github.com/holdfast-io/holdfast/clients/internal/clock"
	"github.com/holdfast-io/holdfast/clients/request"
	"github.com/holdfast-io/holdfast/messages"
)

// handle is a lease that this client holds: what it is, its locks, and the keeper that prolongs it. Several [Lock]s
// share one if they are re-entrant, and one at a time has it if it is [cached]. No goroutine belongs to it: its alarm and
// answers drive it.
type handle struct {
	c             *core
	registry      registry
	resource, key string
	options       *acquireOptions

	// mu guards what follows: own, or the mutex of the cached lease.
	mu    *sync.Mutex
	own   sync.Mutex
	phase phase
	// id identifies the lease, claim is what it shows to the protected resource. kind and slots are what it has. former
	// is its id before it was downgraded; zero: it was not.
	id, former leaseID
	claim      Claim
	kind       kind
	slots      []int
	// metadata are what the service shows of the lease, asked what the latest call asked for that replaces them, and
	// setOrder is its order; 0: it has none. setting is held by the one call that does, which ends within the timeout
	// of the client.
	metadata, asked map[string]string
	setOrder        uint64
	setting         sync.Mutex
	// locks are those that have not been released; at first they take lockRoom, since most leases have one.
	locks    []*Lock
	lockRoom [1]*Lock
	// wanted is closed when others are known to want the resource, nil until it is asked for; isWanted: they are.
	wanted   chan struct{}
	isWanted bool
	// withdrawn: the request is withdrawn, and the lease not released, as if it had not been granted.
	withdrawn bool
	// failing: the application has received that the lease is in jeopardy.
	failing bool
	// keeper prolongs the lease: its extensions or a session.
	keeper     keeper
	extensions extensions
	hints      hints
	// found is why the lease is lost, end when it is over at the service too, unless a renewal was delayed on
	// its way. Both are set when the phase is no longer holding.
	found error
	end   time.Time
	alarm alarm.Alarm // calls Wake
}

// registry has the handles of a client: [handles].
type registry interface {
	remove(h *handle)
	// lost notes that the lease of a handle is lost, or may be.
	lost(h *handle)
	// change registers a handle anew whose lease has another id: become sets what it is now.
	change(h *handle, become func())
	// releasing reports whether the lease of a handle may be released. Then released has to be called.
	releasing(l *messages.Lease, h *handle) bool
	released(k holder, tokens [2]Token)
	// downgrading notes that a lease of a holder may change its token, downgradeOver that this is decided.
	downgrading(k holder)
	downgradeOver(k holder)
}

// phase is how far a handle has come.
type phase uint8

const (
	holding   phase = iota
	releasing       // by its last lock
	gone            // the lease is over, or may be
)

func (h *handle) holder() holder { return holder{h.resource, h.options.owner} }

// lockKey returns the key of the locks that may share the lease.
func (h *handle) lockKey() lockKey { return lockKey{h.holder(), h.kind} }

// tokens returns those of which the lease has tombstones when it is released; 0: none.
func (h *handle) tokens() [2]Token { return [2]Token{h.id.token, h.former.token} }

// attach adds a lock that shares the lease; nil if that is not held any more, or not of this kind.
func (h *handle) attach(ctx context.Context, k kind) *Lock {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.valid() || h.c.life.Err() != nil || h.kind != k {
		return nil
	}
	if c := h.options.cached; c != nil {
		return c.open(ctx, h)
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

// until is when the lease must be considered over. What is known by its keeper and by its extensions is right, so the
// later end is.
func (h *handle) until() time.Time {
	until := lease.Later(h.extensions.Until(), h.keeper.until(h))
	if h.extensions.lastHeld.IsZero() {
		return until
	}
	return lease.Earlier(until, h.extensions.lastHeld)
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
	return h.extensions.Agreed() >= ttl
}

// discard ends a handle that has no lock.
func (h *handle) discard() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.phase = gone
	h.extensions.forsake()
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
	if h.look(); h.phase != holding {
		return
	}
	h.extensions.wake()
	h.hints.wake(h.extensions.Asked())
	h.schedule()
}

// schedule has Wake called when something is due: an extension, the subscription to events, or the end, which a session
// reports for its leases.
func (h *handle) schedule() {
	if c := h.options.cached; c != nil {
		c.safe = time.Time{} // mutant: SafeForEver
	}
	at := h.extensions.next()
	if from, ok := h.hints.due(h.extensions.Asked()); ok && (at.IsZero() || from.Before(at)) {
		at = from
	}
	if at.IsZero() {
		h.c.alarms.Stop(&h.alarm)
		return
	}
	h.c.alarms.Set(&h.alarm, at)
}

// moveTo has another keeper prolong the lease, if that does. It begins with the end that the lease has.
func (h *handle) moveTo(k keeper, at time.Time) {
	if k.add(h, h.keeper.until(h), at) && k != h.keeper {
		h.keeper.remove(h)
		h.keeper = k
	}
}

// keeperLost has the lease extended by itself, soon.
func (h *handle) keeperLost(k keeper) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.keeper == k && h.phase == holding {
		h.moveTo(&h.extensions, clock.Now().Add(chance.Below(lease.Spread(h.extensions.Agreed()))))
		h.schedule()
	}
}

// keeperFails reports to the application that keeps fail, or that they do no more.
func (h *handle) keeperFails(k keeper, failure func() error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.keeper == k && h.phase == holding {
		h.endanger(failure())
	}
}

// reconnected asks at once for what may have been lost with the last connection.
func (h *handle) reconnected() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.phase == holding {
		h.extensions.reconnected(h.failing)
	}
}

// ask has the extensions ask for what is set, and waits among the callers for the answer. If ctx ends earlier, the
// extensions go on to ask. set is called with mu held.
func (h *handle) ask(
	ctx context.Context, op messages.Operation, l *Lock, callers *calls, set func(),
) (err error) {
	s := h.c.tracing.begin(ctx, op, Call{Resource: h.resource, Owner: h.options.owner, Token: h.token()})
	defer func() { s.returned(messages.Status_EXTENDED, h.token(), err) }()
	header := s.header()
	ctx, cancel := context.WithTimeoutCause(ctx, h.c.cfg.timeout, request.ErrNoAnswer)
	defer cancel()
	h.mu.Lock()
	if err := h.isOver(op, l); err != nil {
		h.mu.Unlock()
		return err
	}
	done := callers.add(h.c.sender.LastID() + 1)
	set()
	h.extensions.header = header
	h.extensions.renew()
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

// adopt receives what the service shows of the lease, which has another token if it was downgraded. The answer to an
// attempt from before may come late.
func (h *handle) adopt(l *messages.Lease) {
	now := leaseID{h.resource, Token(l.GetToken())}
	if now.token <= h.id.token {
		return
	}
	h.registry.change(h, func() {
		h.former, h.id, h.kind = h.id, now, kindOf(l)
	})
	h.claim.Token, h.slots = fenceOf(l), slotsOf(l)
	h.hints.token, h.extensions.token = now.token, now.token
}

// listen returns what is closed when others want the resource, and has notices sent for the lease.
func (h *handle) listen() <-chan struct{} {
	if h.wanted == nil {
		h.wanted = make(chan struct{})
		if h.isWanted {
			close(h.wanted)
		}
	}
	if !h.options.listens && h.phase == holding {
		h.options.listens = true
		if h.c.cfg.fits(h.options) && !h.isWanted {
			h.extensions.join()
		}
	}
	return h.wanted
}

// shown returns the lease as an answer would show it.
func (h *handle) shown() *Lease {
	return &Lease{Resource: h.resource, Owner: h.options.owner, Token: h.id.token, Fence: h.id.token,
		TTL: h.options.ttl, Remaining: max(clock.Until(h.extensions.lastEnd()), 0), Ephemeral: h.options.ephemeral,
		Metadata: maps.Clone(h.metadata)}
}

// shows receives an answer that shows the lease: who waits for its resource, and how many tokens it has.
func (h *handle) shows(r *messages.Reply) {
	if h.phase == holding && r.GetWaiting() > 0 {
		h.want()
	}
	if c := h.options.cached; c != nil {
		c.grown(r.GetLease().GetTokens())
	}
}

// ungrown receives that the lease gets no more tokens.
func (h *handle) ungrown() { h.options.cached.ungrown() }

// want receives that others want the resource. It is called with mu held.
func (h *handle) want() {
	if h.isWanted {
		return
	}
	h.isWanted = true // mutant: NoticeIgnored
	if h.wanted != nil {
		close(h.wanted)
	}
	if c := h.options.cached; c != nil {
		c.close(true)
	}
}

// wantedOf receives the names of resources that others want.
func (h *handle) wantedOf(names map[string]struct{}) {
	if _, is := names[h.resource]; is {
		h.noticed(false)
	}
}

// noticed receives that others want the resource, or that an operator has ended the lease, which the service is asked
// then.
func (h *handle) noticed(ended bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.phase != holding:
	case ended:
		h.hints.hint()
	default:
		h.want()
	}
}

// downgradeOver receives that the token of the lease is known.
func (h *handle) downgradeOver() { h.registry.downgradeOver(h.holder()) }

// endanger reports to the application, once, that renewals have begun to fail; with nil that they do not any more.
func (h *handle) endanger(err error) {
	if failing := err != nil; failing != h.failing {
		h.failing = failing
		h.c.jeopardy.report(h.locks, err)
	}
}

// verify asks the service whether the lease has ended, because of a hint. Extended, it shows that. A lease that is
// extended by the caller must keep its length, so there the service is only asked. It is called with mu held.
func (h *handle) verify() {
	switch {
	case h.phase != holding:
	case h.extensions.isActive():
		h.extensions.renew() // mutant: HintBelieved
	default:
		h.c.background.add(job{until: h.until(), do: h.confirm})
	}
}

// confirm ends the lease if the service says that it has ended.
func (h *handle) confirm(ctx context.Context) (done bool) {
	token := h.token()
	r, done := h.c.cleanup.clear(ctx, messages.OpGet, h.resource, &messages.GetRequest{})
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
	// a lease that is downgraded may be held under another token
	if h.phase == holding && h.id.token == token && h.extensions.downgrading == 0 {
		h.lose(e)
	}
	return true
}

// runOut gives the lease up by the clock alone.
func (h *handle) runOut() {
	h.extensions.forsake()
	e := lost(messages.OpExtend, h.resource, nil)
	if h.extensions.isAtEnd() {
		e.Cause = ErrMaxHold
	}
	h.lose(e)
}

// lose ends the lease for all locks that share it.
func (h *handle) lose(e *Error) {
	h.phase, h.found = gone, e
	h.registry.lost(h)
	h.stop()
	for _, l := range h.locks {
		l.end(e)
	}
	if h.extensions.downgrading > 0 {
		h.extensions.downgraded(e)
	}
	h.extensions.answer(e)
	if c := h.options.cached; c != nil {
		c.lost()
		h.postRelease()
	}
}

// stop ends what prolongs the lease and looks for its end.
func (h *handle) stop() {
	h.c.alarms.Stop(&h.alarm)
	h.hints.stop()
	h.end = h.extensions.lastEnd()
	h.keeper.remove(h)
	if h.phase != releasing { // else with the answer to the release
		h.extensions.leave()
	}
	h.extensions.stop()
	h.registry.remove(h)
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
	case len(h.locks) > 0:
		return nil, nil
	}
	return h.letGo(), nil
}

// endUse takes away the lock that is the use of a cached lease, and returns why it was lost, if it was. Repeated, it
// returns the same.
func (h *handle) endUse(l *Lock) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := clock.Now()
	if h.phase == holding && !h.options.cached.certain(now) {
		h.look()
	}
	if i := slices.Index(h.locks, l); i >= 0 {
		h.locks = slices.Delete(h.locks, i, i+1)
		l.end(ErrReleased)
		if h.phase == holding {
			h.options.cached.free(now)
		} else {
			h.postRelease()
		}
	}
	if errors.Is(l.over, ErrReleased) {
		return nil
	}
	return l.over
}

// letGo returns the release of a lease that is held and has no lock. No other one is returned afterwards.
func (h *handle) letGo() *release {
	h.registry.releasing(nil, h)
	h.phase = releasing
	h.stop()
	h.extensions.answer(ErrReleased)
	return h.toRelease()
}

// forget has the release leave no rest of a shortest hold behind, unless another lock shares the lease.
func (h *handle) forget() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.withdrawn = h.options.requestID != "" && len(h.locks) == 1
}

// postRelease posts a release of a lease that ran out by this client's clock, and waits for nothing: the service
// may have prolonged it without the client's knowledge. It is posted once, with the last lock.
func (h *handle) postRelease() {
	byClock := errors.Is(h.found, errDeadline) || errors.Is(h.found, ErrMaxHold)
	if len(h.locks) == 0 && byClock && clock.Now().Before(h.end) {
		h.toRelease().post()
	}
}

// toRelease returns the release of the lease.
func (h *handle) toRelease() *release {
	r := &release{
		c: h.c, holder: h.holder(), token: h.id.token, key: h.key, secret: h.options.secret.value,
		until: h.end, lease: h,
	}
	if h.withdrawn {
		r.requestID = h.options.requestID // mutant: RestOfAnIncompleteSet
	}
	return r
}

// forsake implements [released].
func (h *handle) forsake() { h.extensions.forsake() }

// released implements [released]. What it reads does not change any more.
func (h *handle) released() {
	h.registry.released(h.holder(), h.tokens())
	h.extensions.leave()
	if h.options.cached != nil {
		h.options.cached.returned()
	}
	if h.extensions.downgrading > 0 {
		h.registry.downgradeOver(h.holder())
	}
}

// all returns the locks that share the lease.
func (h *handle) all() []*Lock {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.locks)
}

// releaseAll releases all locks that share the lease, and has a cached one returned, which the client's goroutines count.
func (h *handle) releaseAll(ctx context.Context) error {
	if c := h.options.cached; c != nil {
		c.end()
	}
	var err error
	for _, l := range h.all() {
		err = l.releaseOnce(ctx) // the last one's says what was found
	}
	return err
}
