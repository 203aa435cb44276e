package actors

import (
	"slices"
	"strings"
	"time"

	"github.com/holdfast-io/holdfast/actors/lease"
	"github.com/holdfast-io/holdfast/actors/ledger"
	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/journal"
)

// decision is an event for a resource, and what the event led to. A resource runs on its shard's goroutine, so it has
// decided when the shard has sent the decision.
type decision struct {
	activation *activation
	request    *Request
	// made: the resource has decided, as the fields below say. Otherwise it has panicked.
	made    bool
	at      lease.Instant
	outcome lease.Outcome
	// wake, waiting and since are the resource's after the event: how many requests wait, and since when the oldest does.
	wake    lease.Instant
	waiting int
	since   lease.Instant
	// reload: there was no event. The resource panicked, and gets its state back when everything
	// that it decided before is confirmed.
	reload bool
}

// ephemeralShared returns how many of the resource's ephemeral leases are shared.
func (d *decision) ephemeralShared() (n int) {
	for _, h := range d.outcome.InMemory {
		if h.Grant.GetLimit() > 1 {
			n++
		}
	}
	return n
}

// weight estimates the bytes of the decision's changes when stored.
func (d *decision) weight() (bytes int) {
	for _, c := range d.outcome.Changes {
		bytes += ledger.Weight(c)
	}
	return bytes
}

// mustCommit reports whether the journal has to confirm the decision before its answers may leave.
func (d *decision) mustCommit() bool {
	switch {
	case d.reload || len(d.outcome.Changes) > 0:
		return true
	case d.outcome.Ephemeral && d.activation.unconfirmed == 0:
		return false
	default:
		// mutant: RefusalsNotProved
		return slices.ContainsFunc(d.outcome.Answers, func(a lease.Answer) bool { return !a.Stale })
	}
}

// retract turns grants of a decision into answers that say how their leases have ended, if they have done so in the
// commit that confirms them, so long after the decision: nothing was confirmed for longer than their time.
func (d *decision) retract(c *journal.Commit, after time.Duration) {
	for _, a := range d.outcome.Answers {
		l := a.Reply.GetLease()
		if a.Reply.GetStatus() != messages.Status_GRANTED ||
			after < time.Duration(l.GetRemainingMs())*time.Millisecond {
			continue
		}
		switch lastChange(c, d.activation.resource, l.GetToken()) {
		case messages.Event_RELEASED:
			a.Reply.Status = messages.Status_RELEASED
		case messages.Event_EXPIRED, messages.Event_BROKEN:
			a.Reply.Status = messages.Status_EXPIRED
		default:
			continue
		}
		a.Reply.Lease = &messages.Lease{
			Resource: l.GetResource(), Owner: l.GetOwner(), Token: l.GetToken(), Fence: l.GetFence(),
		}
	}
}

// lastChange returns the kind of the last change of a lease in a commit.
func lastChange(c *journal.Commit, resource string, token uint64) (kind messages.Event_Kind) {
	for _, x := range c.GetChanges() {
		if x.GetGrant().GetToken() == token && x.Name() == resource && x.GetKind() != messages.Event_CONFIRMED {
			kind = x.GetKind()
		}
	}
	return kind
}

// broken returns the end of the lease that an operator has broken, nil if none has.
func (d *decision) broken() *journal.Change {
	if d.outcome.Broken != nil {
		return d.outcome.Broken
	}
	if d.request == nil {
		return nil // there was no event
	}
	if _, breaks := d.request.Event.(lease.Break); breaks {
		for _, c := range d.outcome.Changes {
			if c.GetKind() == messages.Event_BROKEN {
				return c
			}
		}
	}
	return nil
}

// confirms reports whether the request confirms the loss of this lease. Otherwise its hold has ended by itself.
func (d *decision) confirms(g *journal.Grant) bool {
	e, ok := d.request.Event.(lease.Confirm)
	return ok && g.Has(messages.Token(e.Request.GetToken()))
}

// inbox is where the answer goes, without the last token, which names the answer. It is all that is known of the
// sender: a request to break or to confirm names no owner, and NATS does not pass on the user.
func (d *decision) inbox() string {
	to, _ := d.request.replyTo()
	return to.Subject[:max(strings.LastIndexByte(to.Subject, '.'), 0)]
}

// takesBack reports whether the event is that this grant has reached no client.
func (d *decision) takesBack(g *journal.Grant) bool {
	e, ok := d.request.Event.(lease.Undeliverable)
	return ok && uint64(e.Token) == g.GetToken()
}
