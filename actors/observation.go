package actors

import (
	"time"

	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/journal"
)

// observation reads the decisions of a term for those who only look on: the witness, the observer, the logs. It is the
// one part of a term that knows of them, and nothing depends on it.
type observation struct {
	shard *Shard
	// witness is nil if there is none.
	witness Witness
}

func newObservation(s *Shard) observation {
	o := observation{shard: s}
	if s.cfg.Witness != nil {
		o.witness = s.cfg.Witness()
	}
	return o
}

// decided reads a decision that has just been made.
func (o *observation) decided(d *decision) {
	if o.witness == nil {
		return
	}
	from, _ := d.request.replyTo()
	o.witness.Decided(Decision{
		Resource: d.activation.resource, From: from, At: d.at, Outcome: d.outcome,
	})
}

// committed reads the decisions of a commit that was stored within the time that it took.
func (o *observation) committed(c *journal.Commit, decisions []*decision, took time.Duration) {
	o.shard.cfg.Observer.Committed(o.shard.cfg.Shard, took, len(c.GetChanges()))
	for _, d := range decisions {
		o.final(d)
		o.countEndings(d, c.GetAtMs())
	}
}

// final reads a decision that nothing can revoke: it is stored, or need not be. It logs what an operator did, and what
// an operator should know.
func (o *observation) final(d *decision) {
	if c := d.broken(); c != nil {
		o.audit("lock broken", d, c)
	}
	for _, change := range d.outcome.Changes {
		g := change.GetGrant()
		switch token := g.Last(); {
		case change.GetKind() == messages.Event_CONFIRMED && d.confirms(g):
			o.audit("loss confirmed", d, change)
		case change.GetKind() == messages.Event_ACQUIRED && token >= messages.WarnToken:
			o.shard.lateTokens.Add(1)
			o.shard.cfg.Log.Warn("tokens are running out: move to another name",
				append(resourceAttributes(g.GetResource()),
					"token", uint64(token), "last", uint64(messages.MaxToken))...)
		}
	}
}

// audit logs what an operator did to a lease.
func (o *observation) audit(what string, d *decision, change *journal.Change) {
	g := change.GetGrant()
	o.shard.cfg.Audit.Info(what, append(resourceAttributes(g.GetResource()), "owner", g.GetOwner(),
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

// countEndings reports to the observer which leases have ended.
func (o *observation) countEndings(d *decision, atMillis int64) {
	for _, change := range d.outcome.Changes {
		why, ended := EndingOf(change)
		if !ended {
			continue
		}
		g := change.GetGrant()
		o.shard.cfg.Observer.Ended(why, time.Duration(max(atMillis-g.GetAcquiredAtMs(), 0))*time.Millisecond)
		if d.takesBack(g) {
			o.shard.cfg.Observer.Returned()
		}
	}
}
