package actors

import (
	"github.com/holdfast-io/holdfast/messages"
)

// logChanges logs what an operator did, and what an operator should know.
func (s *Shard) logChanges(d *decision) {
	for _, change := range d.outcome.Changes {
		g := change.GetGrant()
		switch token := messages.Token(g.GetToken()); {
		case change.GetKind() == messages.Event_BROKEN:
			s.cfg.Log.Info("lock broken", "resource", g.GetResource(), "owner", g.GetOwner(),
				"token", g.GetToken(), "reason", change.GetReason(), "answer_to", d.replySubject())
		case change.GetKind() == messages.Event_ACQUIRED && token >= messages.WarnToken:
			s.lateTokens.Add(1)
			s.cfg.Log.Warn("tokens are running out: move to another name", "resource", g.GetResource(),
				"token", g.GetToken(), "last", uint64(messages.MaxToken))
		}
	}
}

// replySubject is where the answer goes. It is all that is known of the sender: a request to break names no
// owner, and NATS does not pass on the user.
func (d *decision) replySubject() string {
	if d.request == nil {
		return ""
	}
	to, _ := d.request.replyTo()
	return to.Subject
}
