package lease

import (
	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/journal"
)

// turn is one event of a resource: what happens when, and what it leads to. Each operation is a function of a turn in a
// file of its own. What several operations need are methods.
type turn struct {
	*State
	now Time
	out Outcome
}

func (t *turn) answer(to messages.ReplyTo, r *messages.Reply) {
	t.out.Answers = append(t.out.Answers, Answer{To: to, Reply: r})
}

// answerWaiter answers a request out of the queue.
func (t *turn) answerWaiter(to messages.ReplyTo, r *messages.Reply) {
	t.out.Answers = append(t.out.Answers, Answer{To: to, Reply: r, Waited: true})
}

// apply takes the image and the sessions over a change, and has it recorded unless it is of an ephemeral lease. before
// is the lease as it was, nil for a grant. What is granted or extended runs from at.
func (t *turn) apply(at Instant, before *journal.Grant, c *journal.Change) {
	t.image.Apply(c, at)
	if len(before.GetSession())+len(c.GetGrant().GetSession()) > 0 {
		t.sessions.follow(at, before, c)
		t.moved = true
	}
	if c.GetGrant().GetDurability() == messages.Durability_EPHEMERAL {
		t.hasEphemeral = true
		if c.GetKind() == messages.Event_BROKEN {
			t.out.Broken = c
		}
		return
	}
	if c.GetKind() == messages.Event_ACQUIRED {
		t.image.Reserved = 0 // a persistent grant ends a reservation
	}
	t.out.Changes = append(t.out.Changes, c)
}

// withdraw lets a lease end that its client does not know of, or has given back at once: nothing is left of it.
func (t *turn) withdraw(l Lease, reason string) {
	l.Rest = 0
	t.end(l, messages.Event_RELEASED, reason)
	t.serve()
}

// end lets a lease end. If its shortest hold is not over, the resource rests.
func (t *turn) end(l Lease, kind messages.Event_Kind, reason string) {
	c := &journal.Change{Kind: kind, Grant: l.Grant, Reason: reason, RestingMs: l.restLeft(t.now.Instant)}
	t.apply(t.now.Instant, l.Grant, c) // mutant: ReleaseEndsTheShortestHold
	t.past.end(t.now.Instant, l.Grant, kind, t.image.leases.isLast(l.token()))
	t.unacknowledged.remove(l.token())
}

// extend puts g in the place of a lease, and lets it run from at.
func (t *turn) extend(at Instant, l Lease, g *journal.Grant) Lease {
	t.apply(at, l.Grant, &journal.Change{Kind: messages.Event_EXTENDED, Grant: g})
	return Lease{Grant: g, Deadline: end(g, at), How: messages.Event_ACQUIRED}
}
