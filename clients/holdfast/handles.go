package holdfast

import (
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/holdfast-io/holdfast/clients/holdfast/internal/lease"
	"github.com/holdfast-io/holdfast/clients/internal/clock"
	"github.com/holdfast-io/holdfast/messages"
)

// handles are the leases that a client holds, and tombstones of those that it has released. The zero
// handles has none.
type handles struct {
	c        *core
	sessions *sessions
	ends     *ends

	mu     sync.Mutex
	closed bool
	byID   map[leaseID]*handle
	// former are the handles by the token that their lease had before it was downgraded.
	former map[leaseID]*handle
	// shared are the handles that further locks may share.
	shared     map[lockKey]*handle
	tombstones map[holder]*tombstones
	losses     losses
	downgrades map[holder]*downgrade
	withheld   map[holder]*withheld
}

// errReleased refuses a lease that has been released.
var errReleased = errors.New("released already")

// newHandle returns a handle of a lease of the resource that was granted in answer to a request sent then.
func (s *handles) newHandle(resource, key string, granted *messages.Reply, sent time.Time, o *acquireOptions) *handle {
	c, l := s.c, granted.GetLease()
	id := leaseID{resource, Token(l.GetToken())}
	h := &handle{
		c: c, registry: s, resource: resource, key: key, options: o, id: id,
		claim: Claim{Resource: resource, Token: fenceOf(l)}, // mutant: TokenAsFence
		kind:  kindOf(l), slots: slotsOf(l), metadata: l.GetMetadata(),
	}
	h.mu, h.locks = &h.own, h.lockRoom[:0]
	if o.cached != nil {
		h.mu = &o.cached.mu
		o.cached.offered(id.token, l.GetTokens())
	}
	h.isWanted = granted.GetWaiting() > 0
	h.keeper = &h.extensions
	h.extensions = extensions{
		of: h, mu: h.mu, sender: c.sender, sessions: s.sessions,
		resource: resource, key: key, options: o, token: id.token,
		agreed: o.ttl, maxKnown: c.cfg.maxKnown(o), lastHeld: o.lastHeld(sent),
		// mutant: LeaseFromTheAnswer
		Renewal: lease.NewRenewal(lease.New(sent, millis(l.GetRemainingMs()), o.ttl), sent, c.begun),
	}
	h.extensions.ask(o.ttl)
	if c.deployment.everyNodeOffers(messages.FeatureOrder) {
		h.extensions.Above(granted.GetOrder())
	}
	h.hints = hints{
		sender: c.sender, ends: s.ends, key: key, token: id.token, ephemeral: o.ephemeral, mu: h.mu, verifier: h,
		tried: o.cached != nil && c.cfg.fits(o), // notices tell
		from:  c.begun.Add((clock.Since(c.begun) + subscribeAfter).Truncate(lease.Coarsest)),
	}
	h.alarm.Waker = h
	if c.cfg.endsEarly(o) || o.cached != nil && !h.isWanted && c.cfg.fits(o) {
		h.extensions.Hasten(clock.Now(), func(int) time.Duration { return 0 })
	}
	h.schedule()
	return h
}

// close lets no new handle in.
func (s *handles) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
}

func (s *handles) all() []*handle {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Values(s.byID))
}

// several reports whether more than one lease is held.
func (s *handles) several() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.byID) > 1
}

// add registers a handle, so that a late answer about its lease is not taken for an orphan, and returns it,
// or the handle that has its lease already. It is [ErrClosed] if the client has been closed, and
// errReleased if the lease has been released.
func (s *handles) add(h *handle) (known *handle, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, ErrClosed
	}
	if other := s.find(h.id); other != nil {
		return other, nil
	}
	if s.tombstones[h.holder()].has(h.id.token) {
		return nil, errReleased
	}
	put(&s.byID, h.id, h)
	if h.options.cached == nil {
		put(&s.shared, h.lockKey(), h)
	}
	return h, nil
}

// noticed receives a notice of the service. It is a hint, and ignored without the token of a lease that is held.
func (s *handles) noticed(n *messages.Notice) {
	s.mu.Lock()
	h := s.find(leaseID{n.GetResource(), Token(n.GetToken())})
	s.mu.Unlock()
	if h != nil {
		h.noticed(n.GetEnded())
	}
}

// find is called with mu held.
func (s *handles) find(id leaseID) *handle {
	if h := s.byID[id]; h != nil {
		return h
	}
	return s.former[id]
}

func (s *handles) remove(h *handle) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drop(h)
}

func (s *handles) lost(h *handle) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.losses.add(h.id)
	s.losses.add(h.former)
}

// drop is called with mu held, and that of the handle.
func (s *handles) drop(h *handle) {
	if s.byID[h.id] == h {
		delete(s.byID, h.id)
	}
	if s.former[h.former] == h {
		delete(s.former, h.former)
	}
	if s.shared[h.lockKey()] == h {
		delete(s.shared, h.lockKey())
	}
}

// change registers a handle anew whose lease has been downgraded: become sets what it is now.
func (s *handles) change(h *handle, become func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	known := s.byID[h.id] == h
	s.drop(h)
	become()
	if !known {
		return
	}
	put(&s.byID, h.id, h)
	put(&s.former, h.former, h)
	if s.shared[h.lockKey()] == nil {
		put(&s.shared, h.lockKey(), h)
	}
}

// has reports whether the lease has a handle.
func (s *handles) has(l *messages.Lease) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.find(idOf(l)) != nil
}

// sharedBy returns the handle that a further lock may share, nil if there is none.
func (s *handles) sharedBy(k lockKey) *handle {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.shared[k]
}

// expect notes that a request is under way that may be granted a lease which is released meanwhile. It returns the
// number of the request, for [handles.expectNoMore].
func (s *handles) expect(k holder) uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tombstonesOf(k).expect()
}

func (s *handles) expectNoMore(k holder, request uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tombstones[k].expectNoMore(request) {
		delete(s.tombstones, k)
	}
}

// releasing notes that a lease is about to be released, with its handle if it had one. It returns false if
// another handle has the lease or has lost it, if the release is under way already, or if it may turn out that a handle
// has it: of two concurrent releases one would find another holder, and take the lock for lost. If it returns true, the caller
// releases the lease and calls [handles.released].
func (s *handles) releasing(l *messages.Lease, h *handle) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if h != nil {
		s.drop(h)
		for _, token := range h.tokens() {
			if token > 0 {
				s.tombstonesOf(h.holder()).add(token)
			}
		}
		return true
	}
	k, id := holder{l.GetResource(), l.GetOwner()}, idOf(l)
	// mutant: SecondGrantGivenBack, LostLeaseGivenBack
	if s.find(id) != nil || s.losses.has(id) || s.tombstones[k].has(id.token) {
		return false
	}
	if d := s.downgrades[k]; d != nil {
		d.orphans = append(d.orphans, l)
		return false
	}
	if w := s.withheld[k]; w != nil {
		w.orphans = append(w.orphans, l)
		return false
	}
	s.tombstonesOf(k).add(id.token)
	return true
}

// released notes that the releases of a holder's leases are over.
func (s *handles) released(k holder, tokens [2]Token) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, token := range tokens {
		if token > 0 && s.tombstones[k].released(token) {
			delete(s.tombstones, k)
		}
	}
}

// tombstonesOf is called with mu held.
func (s *handles) tombstonesOf(k holder) *tombstones {
	if s.tombstones[k] == nil {
		put(&s.tombstones, k, newTombstones())
	}
	return s.tombstones[k]
}

// withheld are grants to a holder that nothing waited for, while requests for leases with a shortest hold are under way.
// One of them may be theirs: released by its token it would hold its resource back.
type withheld struct {
	requests int
	orphans  []*messages.Lease
}

// withhold counts a request for a lease with a shortest hold, until the function is called. After the last of a holder
// the orphans are given back.
func (s *handles) withhold(k holder) (end func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.withheld[k] == nil {
		put(&s.withheld, k, new(withheld))
	}
	s.withheld[k].requests++
	return func() {
		for _, l := range s.withheldOver(k) {
			s.giveBack(l, s.c.secret())
		}
	}
}

// withheldOver counts one request less, and returns the orphans after the last.
func (s *handles) withheldOver(k holder) []*messages.Lease {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := s.withheld[k]
	if w.requests--; w.requests > 0 {
		return nil
	}
	delete(s.withheld, k)
	return w.orphans
}

// giveBack releases a lease in the background, unless it has a handle or had one that has lost it.
func (s *handles) giveBack(l *messages.Lease, secret secret) {
	if !s.releasing(l, nil) {
		return
	}
	k, token := holder{l.GetResource(), l.GetOwner()}, Token(l.GetToken())
	r := &release{
		c: s.c, holder: k, token: token, secret: secret.value, until: clock.Now().Add(millis(l.GetTtlMs())),
		lease: orphan{s, k, token},
	}
	r.later()
}

// orphan is a lease that is given back. It has no handle, and is in no session.
type orphan struct {
	of *handles
	holder
	token Token
}

func (o orphan) forsake() {}

func (o orphan) released() { o.of.released(o.holder, [2]Token{o.token}) }
