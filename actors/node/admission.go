package node

import (
	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/messages"
)

// admission decides whether a request is taken, before it is decoded.
type admission struct {
	prefix messages.Prefix
	drops  drops
	gate   *gate
	outbox *outbox
}

// isAnswerable reports whether an answer may go to the message's reply subject. A request without an inbox is dropped
// before any work: one that cannot be answered must have no effect.
func (a *admission) isAnswerable(m *nats.Msg) bool {
	if err := a.prefix.CheckReply(m.Reply); err != nil {
		a.drops.drop(m.Subject, err)
		return false
	}
	return true
}

// admit returns where the answer goes. It is not ok if the request was dropped or refused.
func (a *admission) admit(m *nats.Msg, e messages.Encoding) (to messages.ReplyTo, ok bool) {
	if !a.isAnswerable(m) {
		return messages.ReplyTo{}, false
	}
	to = messages.ReplyTo{Subject: m.Reply, Encoding: e}
	if err := a.full(m); err != nil {
		a.outbox.overloaded(to, err)
		return to, false
	}
	return to, true
}

// full returns the limit that keeps a request out, nil if none does: a limit of the node, or that its subscription
// has fallen behind so far that requests are about to be lost.
func (a *admission) full(m *nats.Msg) error {
	if waiting, _, err := m.Sub.Pending(); err == nil {
		if most, _, err := m.Sub.PendingLimits(); err == nil && waiting > most/8 {
			return errBehind
		}
	}
	return a.gate.enter()
}
