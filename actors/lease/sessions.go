package lease

import (
	"bytes"
	"time"

	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/journal"
)

const (
	// MaxSessions is how many sessions a shard may have, unless [Sessions.Max] is another number.
	MaxSessions = 100_000
	// tenantShares divides them: no tenant may have more than one share.
	tenantShares = 16
	// idleFor is how long a session runs without leases after its last request, and after the last wait in it.
	idleFor = time.Minute
)

// SessionKey stands for a session: the hash of its id, see [messages.SessionHash].
type SessionKey [16]byte

// KeyOfSession returns the key of the session with this id.
func KeyOfSession(id string) SessionKey { return SessionKey(messages.SessionHash(id)) }

// Sessions are the sessions of a shard. The states of its resources share one value, on one goroutine: a state puts its
// leases into their sessions, and brings them in line with them. What is decided here is ahead of the journal, as the
// states are; it is lost with the shard's owner, and [Sessions.Restore] makes it anew from the leases that are held.
// No method reads a clock.
type Sessions struct {
	// Max is how many there may be, and of one tenant a sixteenth of it. It is set before the first of them comes.
	Max int

	byKey map[SessionKey]*Session
	// groups has the sessions of each tenant that had some.
	groups map[string]*group
	// epoch and changes make the numbers that [Reply.losses] shows.
	epoch, changes uint64
	news           News
}

// News is what the owner of the sessions has to do after a step of a resource or a change of a session. A session may
// be in a list more than once.
type News struct {
	// Sooner sessions end sooner than was known, or are new: their timers are to be set.
	Sooner []*Session
	// Unsettled sessions have leases that are not in line with them: each of [Session.Resources] needs a [Tick].
	Unsettled []*Session
	// Settled sessions were unsettled, and are not any more. Those that have ended are unknown from now on.
	Settled []*Session
	// Wanted sessions have a lease for which another request has begun to wait, or because of which one was refused. The
	// latter only if they ask for notices.
	Wanted []*Session
}

// NewSessions returns the sessions of a shard that has none yet, in an epoch of its journal.
func NewSessions(epoch uint64) *Sessions {
	return &Sessions{
		Max: MaxSessions, byKey: make(map[SessionKey]*Session), groups: make(map[string]*group), epoch: epoch,
	}
}

// HasNews reports whether [Sessions.News] has any.
func (s *Sessions) HasNews() bool {
	n := &s.news
	return len(n.Sooner)+len(n.Unsettled)+len(n.Settled)+len(n.Wanted) > 0
}

// News returns what there is to do since the last call.
func (s *Sessions) News() News {
	n := s.news
	s.news = News{}
	return n
}

// Len returns how many sessions there are.
func (s *Sessions) Len() int { return len(s.byKey) }

// Find returns a session, nil if it is unknown. One whose deadline has come has ended.
func (s *Sessions) Find(now Instant, key SessionKey) *Session {
	x := s.byKey[key]
	if x == nil {
		return nil
	}
	s.expire(now, x)
	return s.byKey[key] // without leases it is gone
}

// expire ends a session whose deadline has come.
func (s *Sessions) expire(now Instant, x *Session) {
	if x.IsRunning() && x.Deadline() <= now {
		s.expireNow(x)
	}
}

func (s *Sessions) expireNow(x *Session) { s.End(x, messages.Event_EXPIRED, "") }

// End ends a running session. Its leases end with events of the kind and the reason; EXTENDED: they go on by
// themselves. They do so at the next event of their resource, see [News].
func (s *Sessions) End(x *Session, kind messages.Event_Kind, reason string) {
	x.ending, x.reason = kind, reason
	x.wake()
	if len(x.leases) == 0 {
		s.settled(x)
		return
	}
	s.news.Unsettled = append(s.news.Unsettled, x)
}

// Keep lets a running session and all its leases run from now, for a TTL in milliseconds; with lengthen no shorter than
// before. The promise may be given when the session [Session.IsSettled], and that is confirmed: a new owner knows the
// recorded TTLs only.
func (s *Sessions) Keep(now Instant, x *Session, ttlMillis uint32, lengthen bool) {
	deadline := now.Add(ttl(ttlMillis))
	if lengthen {
		deadline = max(deadline, x.deadline)
	}
	if deadline < x.deadline {
		s.news.Sooner = append(s.news.Sooner, x)
	}
	x.deadline, x.lastRequest = deadline, now // mutant: KeepWithoutEffect
	s.rest(now, x)
	x.raise(ttlMillis) // mutant: RaisedTTLIsNotRecorded
	if !x.IsSettled() {
		s.news.Unsettled = append(s.news.Unsettled, x)
	}
}

// enter returns the session of a request that is not refused, and opens it for a TTL if it is not known.
func (s *Sessions) enter(now Instant, id string, ttlMillis uint32, secretHash []byte) *Session {
	key := KeyOfSession(id)
	x := s.byKey[key]
	if x == nil {
		tenant, _ := messages.Unqualify(id)
		x = s.open(key, tenant, ttlMillis, secretHash)
		x.deadline = now.Add(ttl(x.ttl))
	}
	x.lastRequest = now
	s.rest(now, x)
	return x
}

func (s *Sessions) open(key SessionKey, tenant string, ttlMillis uint32, secretHash []byte) *Session {
	x := &Session{Key: key, group: s.groupOf(tenant), ttl: ttlMillis, secretHash: secretHash, losses: s.number()}
	s.byKey[key] = x
	x.group.count++
	s.news.Sooner = append(s.news.Sooner, x)
	return x
}

// number returns a number that no session of the shard has had. Sums over shards differ as well as single ones, since
// the bits are mixed (splitmix64).
func (s *Sessions) number() uint64 {
	s.changes++
	n := (s.epoch<<32 + s.changes) * 0x9e3779b97f4a7c15
	n = (n ^ n>>30) * 0xbf58476d1ce4e5b9
	n = (n ^ n>>27) * 0x94d049bb133111eb
	return n ^ n>>31
}

// of returns the session of a present lease, nil if it has none. A lease whose session is not known cannot be held any
// more, but for what is not confirmed yet.
func (s *Sessions) of(g *journal.Grant) *Session {
	if len(g.GetSession()) == 0 {
		return nil
	}
	return s.byKey[SessionKey(g.GetSession())]
}

// follow keeps the sessions of a lease as a change leaves them. before is the lease as it was, nil for a new one.
func (s *Sessions) follow(now Instant, before *journal.Grant, c *journal.Change) {
	if len(before.GetSession()) > 0 {
		s.leave(now, before, isLoss(c), goesOn(before, c))
	}
	if isHeld(c.GetKind()) && len(c.GetGrant().GetSession()) > 0 {
		s.join(c.GetGrant())
	}
}

// goesOn reports whether a change leaves a lease in its session.
func goesOn(before *journal.Grant, c *journal.Change) bool {
	return isHeld(c.GetKind()) && bytes.Equal(before.GetSession(), c.GetGrant().GetSession())
}

// downgraded is the reason of the end of a lease in whose place another one is.
const downgraded = "downgraded"

// isLoss reports whether a lease has ended without the will of its owner.
func isLoss(c *journal.Change) bool {
	switch c.GetKind() {
	case messages.Event_RELEASED:
		return c.GetReason() != "" && c.GetReason() != downgraded
	default:
		return !isHeld(c.GetKind())
	}
}

// join puts a lease into its session.
func (s *Sessions) join(g *journal.Grant) {
	x := s.of(g)
	x.wake()
	x.add(leaseOf(g), g.GetTtlMs())
}

// leave takes a lease out of its session. lost: it has ended otherwise than by a release. returns: it joins the session
// again at once.
func (s *Sessions) leave(now Instant, g *journal.Grant, lost, returns bool) {
	x := s.of(g)
	if x == nil {
		return
	}
	settled := x.IsSettled()
	x.remove(leaseOf(g))
	if !returns { // mutant: ExtendedLeaseIsNoticedAnew
		x.unwant(leaseOf(g))
	}
	if lost {
		x.losses = s.number()
	}
	s.rest(now, x)
	if !settled && x.IsSettled() {
		s.settled(x)
	}
}

// settled notes that nothing of a session is left to be settled.
func (s *Sessions) settled(x *Session) {
	if !x.IsRunning() && s.byKey[x.Key] == x {
		delete(s.byKey, x.Key)
		x.group.count--
	}
	s.news.Settled = append(s.news.Settled, x)
}

// await notes whether requests wait for a lease.
func (s *Sessions) await(g *journal.Grant, waits bool) {
	x := s.of(g)
	switch {
	case x == nil:
		return
	case waits:
		if x.awaited == nil {
			x.awaited = make(map[string]struct{})
		}
		x.awaited[g.GetResource()] = struct{}{}
		s.news.Wanted = append(s.news.Wanted, x)
	default:
		delete(x.awaited, g.GetResource())
	}
	if x.wanted != nil {
		x.wanted.await(leaseOf(g), waits)
	}
}

// refused notes that a request was refused because of a lease.
func (s *Sessions) refused(g *journal.Grant) {
	if x := s.of(g); x != nil && x.wanted != nil {
		x.wanted.ask(leaseOf(g))
		s.news.Wanted = append(s.news.Wanted, x)
	}
}

// Restore puts the leases of a resource into their sessions, as a new owner does who knows nothing but them: a session
// runs for the greatest of their TTLs from now.
func (s *Sessions) Restore(now Instant, i *Image) {
	if !i.inSession() {
		return
	}
	for h := range i.Holdings() {
		g := h.Grant
		if len(g.GetSession()) == 0 {
			continue
		}
		x := s.of(g)
		if x == nil {
			tenant, _ := messages.Unqualify(g.GetResource())
			x = s.open(SessionKey(g.GetSession()), tenant, g.GetTtlMs(), g.GetSecretHash())
		}
		if x.IsRunning() {
			x.raise(g.GetTtlMs())
			x.deadline = max(x.deadline, now.Add(ttl(x.ttl)))
		}
		s.join(g)
	}
}

// Reset makes the leases of a resource those of its image, after a panic in which its state was lost.
func (s *Sessions) Reset(now Instant, resource string, i *Image) {
	var changed []*Session
	for _, x := range s.byKey {
		if x.forget(resource) {
			x.losses = s.number()
			s.rest(now, x)
			changed = append(changed, x)
		}
	}
	s.Restore(now, i)
	for _, x := range changed {
		if x.IsSettled() {
			s.settled(x)
		} else {
			s.news.Unsettled = append(s.news.Unsettled, x)
		}
	}
}

// Deadline returns when a present lease ends: with its session, if it has one.
func (s *Sessions) Deadline(h Lease) Instant {
	if len(h.Grant.GetSession()) == 0 {
		return h.Deadline
	}
	if x := s.of(h.Grant); x != nil {
		return x.deadline
	}
	return 0
}

// Lease returns the public view of a present lease at now.
func (s *Sessions) Lease(h Lease, now Instant) *messages.Lease {
	return h.Grant.Lease(s.Deadline(h).Sub(now))
}
