package lease

import (
	"bytes"
	"fmt"

	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/journal"
)

// settleSessions brings the leases in line with their sessions, and reports whether any was not.
func settleSessions(t *turn) (some bool) {
	if !t.image.inSession() {
		return false
	}
	var unsettled []Lease
	for h := range t.image.Holdings() {
		if x := t.sessions.of(h.Grant); x != nil && !isInLine(t, x, h) {
			unsettled = append(unsettled, h)
		}
	}
	for _, h := range unsettled {
		settleLease(t, t.sessions.of(h.Grant), h)
	}
	return len(unsettled) > 0
}

// isInLine reports whether a lease is as its session wants it.
func isInLine(t *turn, x *Session, h Lease) bool {
	t.sessions.expire(t.now.Instant, x)
	return x.IsRunning() && h.Grant.GetTtlMs() >= x.ttl
}

// settleLease brings a lease in line with its session.
func settleLease(t *turn, x *Session, h Lease) {
	switch x.ending {
	case messages.Event_KIND_UNSPECIFIED:
		t.extend(t.now.Instant, h, with(h.Grant, func(g *journal.Grant) { g.TtlMs = x.ttl }))
	case messages.Event_EXTENDED: // mutant: LeaseOutlivesItsSession
		orphan(t, x, h)
	default:
		t.end(h, x.ending, x.reason)
	}
}

// orphan takes a lease out of its session with the rest of its time. Its TTL stays, so that a new owner lets it run in
// full; here it counts from when the rest would be all of it.
func orphan(t *turn, x *Session, h Lease) {
	began := x.deadline.Add(-ttl(h.Grant.GetTtlMs()))
	if !h.isEphemeral() {
		t.out.began(began)
	}
	t.extend(began, h, with(h.Grant, func(g *journal.Grant) { g.Session = nil }))
}

// otherSession returns why a reentrant request cannot have this lease of its owner, nil if it can. A lease does not
// move into another session: that one may end sooner than its holder counts on.
func otherSession(h Lease, r *messages.AcquireRequest) error {
	session := h.Grant.GetSession()
	if r.GetSession() == "" || bytes.Equal(session, messages.SessionHash(r.GetSession())) {
		return nil
	}
	own := "none: the owner holds a lease without a session"
	if label := messages.SessionLabel(session); label != "" {
		own = fmt.Sprintf("%q or none: the owner holds a lease of session %[1]q", label)
	}
	return messages.Invalid("session", own+
		", which a reentrant acquire does not move; release the lease and acquire another",
		fmt.Sprintf("%q", messages.SessionLabel(messages.SessionHash(r.GetSession()))))
}

// noteRequest notes that the client of a request that names a session is connected, whatever the answer is.
func (t *turn) noteRequest(r *messages.AcquireRequest) {
	x := t.sessions.Find(t.now.Instant, KeyOfSession(r.GetSession()))
	if x != nil && bytes.Equal(x.secretHash, r.GetSecretHash()) {
		x.lastRequest = t.now.Instant
	}
}

// refusedSession returns the answer to a request for a lease with the hash of its secret which cannot be in the
// session, nil if it can, or is to be in none. A session that is not known can be opened.
func (t *turn) refusedSession(id string, secretHash []byte) *messages.Reply {
	if id == "" {
		return nil
	}
	tenant, _ := messages.Unqualify(id)
	switch x := t.sessions.Find(t.now.Instant, KeyOfSession(id)); {
	case x == nil && !t.sessions.hasRoom(tenant):
		return t.overloaded(fmt.Sprintf(
			"the shard has as many sessions with leases as it may, %d, and of a tenant %d; try later",
			t.sessions.Max, t.sessions.Max/tenantShares))
	case x == nil:
		return nil
	case !x.IsRunning():
		return t.overloaded("the session is ending; use a new one")
	case !bytes.Equal(x.secretHash, secretHash):
		return invalid(messages.Invalid("secret_hash", "that of the first request of the session", "another"))
	}
	return nil
}

// awaitSessions notes in the sessions of the leases whether requests wait for these, if that may have changed.
func awaitSessions(t *turn) {
	waits := t.Waiting() > 0
	if waits == t.awaited && !t.moved {
		return
	}
	t.awaited, t.moved = waits, false
	if !t.image.inSession() {
		return
	}
	for h := range t.image.Holdings() {
		t.sessions.await(h.Grant, waits)
	}
}

// refuseHeld answers a request that does not wait, and notes in the sessions of the leases that it was refused because of
// them.
func refuseHeld(t *turn, to messages.ReplyTo) {
	r := t.replyTaken()
	t.answer(to, r)
	if r.GetStatus() != messages.Status_HELD || !t.image.inSession() {
		return
	}
	for h := range t.image.Holdings() {
		t.sessions.refused(h.Grant) // mutant: RefusedTryMakesNoNotice
	}
}
