package actors

import (
	"strings"

	"github.com/holdfast-io/holdfast/actors/lease"
	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/journal"
)

// logChanges logs what an operator did, and what an operator should know.
func (s *Shard) logChanges(d *decision) {
	if d.outcome.Broken != nil {
		s.audit("lock broken", d, d.outcome.Broken)
	}
	for _, change := range d.outcome.Changes {
		g := change.GetGrant()
		switch token := messages.Token(g.GetToken()); {
		case change.GetKind() == messages.Event_BROKEN:
			s.audit("lock broken", d, change)
		case change.GetKind() == messages.Event_CONFIRMED && d.confirms(g):
			s.audit("loss confirmed", d, change)
		case change.GetKind() == messages.Event_ACQUIRED && token >= messages.WarnToken:
			s.lateTokens.Add(1)
			s.cfg.Log.Warn("tokens are running out: move to another name", append(resourceAttributes(g.GetResource()),
				"token", g.GetToken(), "last", uint64(messages.MaxToken))...)
		}
	}
}

// audit logs what an operator did to a lease.
func (s *Shard) audit(what string, d *decision, change *journal.Change) {
	g := change.GetGrant()
	s.cfg.Audit.Info(what, append(resourceAttributes(g.GetResource()), "owner", g.GetOwner(),
		"token", g.GetToken(), "reason", change.GetReason(), "answer_to", d.inbox())...)
}

// resourceAttributes returns the attributes that name a resource, by its qualified name, with the tenant if it has one.
func resourceAttributes(qualified string) []any {
	tenant, resource := messages.Unqualify(qualified)
	if tenant == "" {
		return []any{"resource", resource}
	}
	return []any{"tenant", tenant, "resource", resource}
}

// confirms reports whether the request confirms the loss of this lease. Otherwise its hold has ended by itself.
func (d *decision) confirms(g *journal.Grant) bool {
	e, ok := d.request.Event.(lease.Confirm)
	return ok && e.Request.GetToken() == g.GetToken()
}

// inbox is where the answer goes, without the last token, which names the answer. It is all that is known of the sender: a
// request to break or to confirm names no owner, and NATS does not pass on the user.
func (d *decision) inbox() string {
	to, _ := d.request.replyTo()
	return to.Subject[:max(strings.LastIndexByte(to.Subject, '.'), 0)]
}
