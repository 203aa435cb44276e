package lease

import (
	"bytes"
	"fmt"

	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/journal"
)

// settleSessions brings the leases in line with their sessions, and reports whether any was not.
func (s *State) settleSessions(now Time, o *Outcome) (some bool) {
	if !s.image.inSession() {
		return false
	}
	var unsettled []Lease
	for h := range s.image.Holdings() {
		if x := s.sessions.of(h.Grant); x != nil && !s.isInLine(now, x, h) {
			unsettled = append(unsettled, h)
		}
	}
	for _, h := range unsettled {
		s.settleLease(now, s.sessions.of(h.Grant), h, o)
	}
	return len(unsettled) > 0
}

// isInLine reports whether a lease is as its session wants it.
func (s *State) isInLine(now Time, x *Session, h Lease) bool {
	s.sessions.expire(now.Instant, x)
	return x.IsRunning() && h.Grant.GetTtlMs() >= x.ttl
}

// settleLease brings a lease in line with its session.
func (s *State) settleLease(now Time, x *Session, h Lease, o *Outcome) {
	switch x.ending {
	case messages.Event_KIND_UNSPECIFIED:
		s.extended(now, h, with(h.Grant, func(g *journal.Grant) { g.TtlMs = x.ttl }), o)
	case messages.Event_EXTENDED:
		s.orphan(now, x, h, o)
	default:
		s.end(now, h, x.ending, x.reason, o)
	}
}

// orphan takes a lease out of its session with the rest of its time. Its TTL stays, so that a new owner lets it run in
// full; here it counts from when the rest would be all of it.
func (s *State) orphan(now Time, x *Session, h Lease, o *Outcome) {
	began := x.deadline.Add(-ttl(h.Grant.GetTtlMs()))
	if !h.isEphemeral() {
		o.began(began)
	}
	s.extended(Time{Instant: began, UnixMillis: now.UnixMillis}, h, with(h.Grant, func(g *journal.Grant) { g.Session = nil }), o)
}

// otherSession returns why a reentrant request cannot have this lease of its owner, nil if it can. A lease does not move
// into another session: that one may end sooner than its holder counts on.
func otherSession(h Lease, r *messages.AcquireRequest) error {
	session := h.Grant.GetSession()
	if r.GetSession() == "" || bytes.Equal(session, messages.SessionHash(r.GetSession())) {
		return nil
	}
	own := "none: the owner holds a lease without a session"
	if label := messages.SessionLabel(session); label != "" {
		own = fmt.Sprintf("%q or none: the owner holds a lease of session %[1]q", label)
	}
	return messages.Invalid("session", own+", which a reentrant acquire does not move; release the lease and acquire another",
		fmt.Sprintf("%q", messages.SessionLabel(messages.SessionHash(r.GetSession()))))
}

// hear notes that the client of a request that names a session is connected, whatever the answer is.
func (s *State) hear(now Time, r *messages.AcquireRequest) {
	if r.GetSession() == "" {
		return
	}
	x := s.sessions.Find(now.Instant, KeyOfSession(r.GetSession()))
	if x != nil && bytes.Equal(x.secretHash, r.GetSecretHash()) {
		x.heard = now.Instant
	}
}

// refusedSession returns the answer to a request for a lease with the hash of its secret which cannot be in the session,
// nil if it can, or is to be in none. A session that is not known can be opened.
func (s *State) refusedSession(now Time, id string, secretHash []byte) *messages.Reply {
	if id == "" {
		return nil
	}
	tenant, _ := messages.Unqualify(id)
	switch x := s.sessions.Find(now.Instant, KeyOfSession(id)); {
	case x == nil && !s.sessions.hasRoom(tenant):
		most := s.sessions.most
		return s.overloaded(fmt.Sprintf("the shard has as many sessions with leases as it may, %d, and of a tenant %d; try later",
			most, most/tenantShares))
	case x == nil:
		return nil
	case !x.IsRunning():
		return s.overloaded("the session is ending; use a new one")
	case !bytes.Equal(x.secretHash, secretHash):
		return s.invalid(messages.Invalid("secret_hash", "that of the first request of the session", "another"))
	}
	return nil
}

// move keeps the sessions of the leases as a change leaves them. before is the lease as it was, nil for a new one.
func (s *State) move(now Time, before *journal.Grant, c *journal.Change) {
	if len(before.GetSession()) > 0 {
		s.sessions.leave(now.Instant, before, isLoss(c))
		s.moved = true
	}
	if isHeld(c.GetKind()) && len(c.GetGrant().GetSession()) > 0 {
		s.sessions.join(c.GetGrant())
		s.moved = true
	}
}

// isLoss reports whether a lease has ended without the will of its owner.
func isLoss(c *journal.Change) bool {
	switch c.GetKind() {
	case messages.Event_RELEASED:
		return c.GetReason() != "" && c.GetReason() != downgraded
	default:
		return !isHeld(c.GetKind())
	}
}

// awaitSessions tells the sessions of the leases whether requests wait for these, if that may have changed.
func (s *State) awaitSessions() {
	waits := s.Waiting() > 0
	if waits == s.awaited && !s.moved {
		return
	}
	s.awaited, s.moved = waits, false
	if !s.image.inSession() {
		return
	}
	for h := range s.image.Holdings() {
		s.sessions.await(h.Grant, waits)
	}
}
