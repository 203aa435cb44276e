package actors

import (
	"github.com/holdfast-io/holdfast/actors/lease"
	"github.com/holdfast-io/holdfast/messages/journal"
)

// handOver appends a last commit with what only this term knows, once nothing is decided any more. A successor also
// learns from it that the shard was handed over. It reports whether that is stored, or there is neither.
func (t *term) handOver() (done bool) {
	if t.handedOver {
		t.shard.isClosed.Store(t.closing != nil)
		return true
	}
	t.handedOver = true
	if t.watermark.isBehind() { // mutant: EventsBehindAClosedJournal
		t.closing = nil // its next owner publishes them, and closes it
	}
	if t.closing != nil {
		t.close()
		return false
	}
	h := t.toHandOver(t.shard.cfg.Clock.Now().Instant)
	if len(h.GetLeftMs()) == 0 && len(h.GetEnded()) == 0 && !t.shard.passing.Load() {
		return true
	}
	position, r := t.ledger.Head().Position, t.nextCommit()
	r.GetCommit().HandOver = h
	t.batcher.append(position, r)
	return false
}

// close appends the commit that closes the journal. Its watermark shows that all events are published.
func (t *term) close() {
	position, r := t.ledger.Head().Position, t.nextCommit()
	r.GetCommit().Closed = t.closing
	r.SetFormat()
	t.batcher.append(position, r)
}

// toHandOver returns what the term hands over: the times of all leases if they fit into a commit, and the requests that
// fit into half of that. Leases that are left out run in full at the next owner, and such requests may be granted
// again.
func (t *term) toHandOver(now lease.Instant) *journal.HandOver {
	for _, a := range t.activations.byResource {
		if a.ephemeral > 0 {
			t.activations.endEphemeral(a)
		}
	}
	maxBytes := t.shard.cfg.Tuning.CommitBytes
	left := t.ledger.HandOver(now, maxBytes)
	left.PutSessions(now, t.sessions.Sessions, maxBytes)
	h := &journal.HandOver{LeftMs: left}
	t.activations.ended.HandOver(now, h, maxBytes/2)
	return h
}

// takeOver goes on with what the last owner has handed over, behind [ledger.Ledger.Restart].
func (t *term) takeOver(now lease.Instant) {
	h := t.ledger.Inherited()
	t.sessions.Resume(now, h.GetLeftMs())
	t.activations.ended.TakeOver(now, h) // mutant: EndedRequestsStay
}
