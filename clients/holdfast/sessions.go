package holdfast

import (
	"maps"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/holdfast-io/holdfast/clients/internal/clock"
	"github.com/holdfast-io/holdfast/messages"
)

const (
	// maxTTLs bounds for how many lengths of leases a client has sessions in each shard.
	maxTTLs = 16
	// minRefusal and maxRefusal bound how long no session is begun after the service has refused one, or has answered
	// none. The time doubles.
	minRefusal = time.Minute
	maxRefusal = time.Hour
)

// PerLockRenewal has the client renew each lock by itself. By default a client that holds several locks keeps those of
// each shard and TTL alive with one request, in a session, if the deployment has the feature "sessions". What is known
// of each lock is the same in both ways.
func PerLockRenewal() Option {
	return func(c *config) error {
		c.perLock = true
		return nil
	}
}

// ReleaseOnDisconnect has the locks of the client released early if its connection is gone: when another request waits
// for one of them, and NATS has reported for this time, 5 s to 24 h, that the client does not listen. By default they
// stay locked for the rest of their TTL. A process that is stopped, and a cable that is unplugged, are not noticed in
// this way. The client counts its locks as lost when nothing was answered for d, so d should be several times the time
// that it needs to connect again, and it is the TTL of the locks if that is longer.
//
// A lock has this a moment after it was acquired, when the client has taken it into a session; never if it is
// [Reentrant] or has [NoRenewal]. Beside [PerLockRenewal] it is [ErrInvalid]. The deployment must have the feature
// "sessions", else Acquire is [ErrInvalid].
func ReleaseOnDisconnect(d time.Duration) Option {
	return func(c *config) error {
		shortest, longest := millis(messages.MinDisconnectMillis), millis(messages.MaxDisconnectMillis)
		if d < shortest || d > longest {
			return rule("ReleaseOnDisconnect", shortest.String()+" to "+longest.String(), d.String())
		}
		c.disconnect = d
		return nil
	}
}

// sessions are those of a client: at most one for each shard and TTL at a time. Single locks need none.
type sessions struct {
	c *core
	// several reports whether the client holds more than one lease.
	several func() bool
	// proven: the latest keeps were answered, so the user may send them.
	proven atomic.Bool

	mu      sync.Mutex
	current map[sessionKind]*session
	// refused is until when no session is begun, refusal how long that is.
	refused time.Time
	refusal time.Duration
}

// sessionKind are what the leases of a session have in common.
type sessionKind struct {
	shard messages.Shard
	ttl   time.Duration
	// secret: they have the secret of the client. listens: notices about them are asked for.
	secret, listens bool
}

// of returns the session that the extensions of a lease are to name, nil if none.
func (s *sessions) of(key string, ttl time.Duration, o *acquireOptions) *session {
	if !s.may(o) {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	shard := s.c.deployment.info.Load().layout().Of(key) // mu is held, so that divide leaves no session of former shards
	k := sessionKind{shard: shard, ttl: ttl, secret: o.secret.value != nil, listens: s.listens(o)}
	if clock.Now().Before(s.refused) {
		return nil
	}
	x := s.current[k]
	if x == nil && s.lengths(ttl) <= maxTTLs {
		x = newSession(s, k)
		put(&s.current, k, x)
	}
	return x
}

// may reports whether a lease may be in a session. Others may extend a reentrant one, which takes it out.
func (s *sessions) may(o *acquireOptions) bool {
	if !s.c.cfg.fits(o) || !s.c.deployment.everyNodeOffers(messages.FeatureSessions) {
		return false
	}
	return s.c.cfg.disconnect > 0 || s.listens(o) || s.several()
}

// listens reports whether notices about a lease are to be asked for.
func (s *sessions) listens(o *acquireOptions) bool {
	return (o.listens || o.cached != nil) && s.c.deployment.everyNodeOffers(messages.FeatureNotices)
}

// fits reports whether leases with these options may be in sessions.
func (c *config) fits(o *acquireOptions) bool {
	return !c.perLock && !o.byHand && !o.reentrant && o.maxHold == 0
}

// endsEarly reports whether such a lease may come into a session that ends when the client is not connected.
func (c *config) endsEarly(o *acquireOptions) bool { return c.disconnect > 0 && c.fits(o) }

// maxKnown returns how long such a lease is known to last from the sending of a request about it: the time for which
// the client may not be connected begins anew with each request that names the session.
func (c *config) maxKnown(o *acquireOptions) time.Duration {
	if c.endsEarly(o) {
		return c.disconnect // mutant: DisconnectIsForgotten
	}
	return math.MaxInt64
}

// lengths returns how many TTLs there are with this one.
func (s *sessions) lengths(ttl time.Duration) int {
	all := map[time.Duration]struct{}{ttl: {}}
	for k := range s.current {
		all[k.ttl] = struct{}{}
	}
	return len(all)
}

// keep returns the request that keeps a session.
func (s *sessions) keep(k sessionKind) *messages.KeepRequest {
	r := &messages.KeepRequest{TtlMs: inMillis(k.ttl)}
	if k.secret && s.c.deployment.everyNodeOffers(messages.FeatureKeepSecret) {
		r.Secret = s.c.cfg.secret.value
	}
	if s.c.cfg.disconnect > 0 {
		r.DisconnectMs, r.Alive = inMillis(s.c.cfg.disconnect), s.c.sender.Listens()
	}
	if r.Notices = k.listens; r.Notices && s.c.deployment.everyNodeOffers(messages.FeatureBatch) {
		r.Alive = s.c.sender.Listens() // without batches the service cannot reach it
	}
	return r
}

// drop forgets a session that is over.
func (s *sessions) drop(x *session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current[x.kind] == x {
		delete(s.current, x.kind)
	}
}

// divide ends the sessions of other generations of shards than this one, as far as the client is concerned: their
// leases are spread over several shards. Each moves with its next extension, which is soon, into the session of its
// present shard.
func (s *sessions) divide(generation uint32) {
	for _, x := range s.all() {
		if x.kind.shard.Generation != generation { // mutant: SessionsOfFormerShards
			x.shut()
		}
	}
}

// prove receives that a keep was answered.
func (s *sessions) prove() {
	s.proven.Store(true)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refusal = 0
}

// refuse has no session begin for a time.
func (s *sessions) refuse() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refusal = min(max(2*s.refusal, minRefusal), maxRefusal)
	s.refused = clock.Now().Add(s.refusal)
}

func (s *sessions) all() []*session {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Values(s.current))
}
