package lease

import (
	"slices"

	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/journal"
)

// endedBytes is what an ended request takes at most when it is stored, and a request that shares a lease.
const endedBytes = 40

// PutImage notes what is left of the leases, the delays and the rests of a resource. Leases of a session end with that.
func (l Left) PutImage(now Instant, i *Image) {
	for h := range i.Holdings() {
		l.put(keyOfLease(h.Grant), h.Deadline, now)
	}
	for x := range i.Ended() {
		l.put(keyOfLease(x.Grant), x.Deadline, now)
	}
}

// PutSessions notes what is left of sessions that have leases, until that takes so many bytes.
func (l Left) PutSessions(now Instant, s *Sessions, bytes int) {
	for key, x := range s.byKey {
		if len(x.leases) > 0 && !l.IsFull(bytes) {
			l.put(journal.SessionKey(key), x.deadline, now) // mutant: RestOfASessionIsThatOfItsGrant
		}
	}
}

// Resume is [Image.Restart] for sessions that were restored.
func (s *Sessions) Resume(now Instant, left Left) {
	for key, x := range s.byKey {
		x.deadline = left.shorten(journal.SessionKey(key), x.deadline, now)
	}
}

// HandOver adds to h what has to be remembered at now, as far as it takes no more than so many bytes: the newest of
// what has ended, and then the requests that share leases.
func (m *EndedRequests) HandOver(now Instant, h *journal.HandOver, bytes int) {
	room := bytes / endedBytes
	for _, p := range slices.Backward(m.parts) {
		for key, e := range p.requests {
			if len(h.Ended) == room || now.Sub(p.last) >= rememberFor {
				break
			}
			h.Ended = append(h.Ended, &journal.EndedRequest{
				Request: key[:], Token: uint64(e.token), How: e.how, Behind: e.behind,
			})
		}
	}
	slices.Reverse(h.Ended)
	bytes -= len(h.Ended) * endedBytes
	for lease, keys := range m.sharers {
		s := &journal.Sharers{Resource: lease.resource, Token: lease.token}
		for _, key := range keys {
			s.Requests = append(s.Requests, key[:])
		}
		if bytes -= len(lease.resource) + endedBytes*(1+len(keys)); bytes >= 0 {
			h.Sharers = append(h.Sharers, s)
		}
	}
}

// TakeOver remembers what the last owner has handed over, as if it had ended now.
func (m *EndedRequests) TakeOver(now Instant, h *journal.HandOver) {
	for _, s := range h.GetSharers() {
		lease := leaseKey{s.GetResource(), s.GetToken()}
		for _, key := range s.GetRequests() {
			m.sharers[lease] = append(m.sharers[lease], requestKey(key))
		}
	}
	for _, e := range h.GetEnded() {
		token := messages.Token(e.GetToken())
		m.add(now, requestKey(e.GetRequest()), ended{token: token, how: e.GetHow(), behind: e.GetBehind()})
	}
}
