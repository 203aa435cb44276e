package node

import (
	"slices"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/messages"
)

// admission decides whether a request is taken, before it is decoded.
type admission struct {
	prefix messages.Prefix
	drops  drops
	gate   *gate
	outbox *outbox
	// deferred are refusals for the limits of tenants.
	deferred *deferred
	// own are the inboxes of the node, to which no client may have an answer sent.
	own []inbox
}

// isAnswerable reports whether an answer may go to the message's reply subject. A request without an inbox is dropped
// before any work: one that cannot be answered must have no effect.
func (a *admission) isAnswerable(m *nats.Msg) bool {
	return a.mayReach(m, messages.ReplyTo{Subject: m.Reply})
}

// mayReach reports whether the answer to a message may go there.
func (a *admission) mayReach(m *nats.Msg, to messages.ReplyTo) bool {
	err := a.prefix.CheckReply(to.Subject)
	if err == nil && !to.Origin.Inner && slices.ContainsFunc(a.own, func(i inbox) bool { return i.has(to.Subject) }) {
		err = messages.Invalid("reply subject", "an inbox of the client", "one of the node")
	}
	if err != nil {
		a.drops.drop(m.Subject, err)
	}
	return err == nil
}

// admit reports whether a request of a tenant, or of none, is taken. If not, it was dropped or refused.
func (a *admission) admit(t *tenant, m *nats.Msg, to messages.ReplyTo) bool {
	return a.mayReach(m, to) && a.enter(t, to, isBehind(m))
}

// enter reports whether a request is taken that can be answered. If not, it was refused: a limit of its tenant or of
// the node keeps it out, or its subscription has fallen behind. Requests above a tenant's limit do not count against
// the node's.
func (a *admission) enter(t *tenant, to messages.ReplyTo, behind bool) bool {
	var err error
	switch {
	case behind:
		err = errBehind
	case t != nil:
		err = t.enter()
	}
	if err != nil && t != nil {
		a.deferred.put(to, err)
		return false
	}
	if err == nil {
		err = a.gate.enter()
	}
	if err != nil {
		a.outbox.overloaded(to, err)
	}
	return err == nil
}

// isBehind reports whether so much waits to be read on the subscription of a message that requests are about to be
// lost.
func isBehind(m *nats.Msg) bool {
	waiting, _, err := m.Sub.Pending()
	if err != nil {
		return false
	}
	limit, _, err := m.Sub.PendingLimits()
	return err == nil && waiting > limit/8
}
