package takeover_test

import (
	"fmt"

	"github.com/holdfast-io/holdfast/messages"
)

// verdict holds the answers against the journals: each change has the one request that asked for it,
// each answer the change that bears it out, and no request that was refused has left a change.
type verdict struct {
	*storm
	changes map[deed]*change
	// broken are the leases that operators took away, without a reason.
	broken map[deed]bool
}

// deed is what one request can do, as request and journal both name it. There is one request for each.
type deed struct {
	kind     messages.Event_Kind
	resource string
	token    uint64 // of all but a grant, which is told by its request_id
	name     string // request_id of a grant, TTL of an extension, reason of a break
}

func (v *verdict) judge(chronicles []*chronicle) {
	v.changes, v.broken = make(map[deed]*change), make(map[deed]bool)
	for _, c := range chronicles {
		for _, next := range c.changes {
			v.record(next)
		}
	}
	for _, a := range v.mail.asks {
		v.weigh(a)
	}
	for d, c := range v.changes {
		if d.kind != messages.Event_EXPIRED {
			v.wrong("%v: no request has asked for it", c)
		}
	}
}

func (v *verdict) record(c *change) {
	d := deed{kind: c.GetKind(), resource: c.GetGrant().GetResource(), token: c.token()}
	switch c.GetKind() {
	case messages.Event_ACQUIRED:
		d.token, d.name = 0, c.GetGrant().GetRequestId()
	case messages.Event_EXTENDED:
		d.name = fmt.Sprint(c.GetGrant().GetTtlMs())
	case messages.Event_BROKEN:
		v.broken[d] = true
		d.name = c.GetReason()
	default:
	}
	if before := v.changes[d]; before != nil {
		v.wrong("%v: once more, after %v", c, before)
	}
	v.changes[d] = c
}

// deed returns what the request asks for, and the answer that says that it was done; not ok if it
// changes nothing.
func (a *ask) deed() (d deed, done messages.Status, ok bool) {
	d = deed{resource: a.resource.name, token: a.token}
	switch a.op {
	case messages.OpAcquire:
		d.kind, d.name, done = messages.Event_ACQUIRED, a.id, messages.Status_GRANTED
	case messages.OpExtend:
		d.kind, d.name, done = messages.Event_EXTENDED, fmt.Sprint(a.ttl), messages.Status_EXTENDED
	case messages.OpRelease:
		d.kind, done = messages.Event_RELEASED, messages.Status_RELEASED
	case messages.OpBreak:
		d.kind, d.name, done = messages.Event_BROKEN, a.id, messages.Status_RELEASED
	default:
		return d, done, false
	}
	return d, done, true
}

func (v *verdict) weigh(a *ask) {
	reply := a.answer()
	if seen, ok := a.saw(reply); ok && seen < a.floor {
		v.wrong("%v: when it was sent, a client had been told of token %d, ended %t", a, a.floor/2, a.floor%2 == 1)
	}
	d, done, ok := a.deed()
	if !ok {
		return
	}
	c := v.changes[d]
	delete(v.changes, d)
	switch {
	case reply == nil:
	case reply.GetStatus() != done:
		if c != nil {
			v.wrong("%v: but it was done, %v", a, c)
		}
	case c == nil:
		if !v.brokenBefore(a) {
			v.wrong("%v: the journal has no such change", a)
		}
	case a.op == messages.OpAcquire && c.token() != reply.GetLease().GetToken():
		v.wrong("%v: but the journal has %v", a, c)
	}
}

// brokenBefore reports whether the request is a break of a lease that another one had broken.
func (v *verdict) brokenBefore(a *ask) bool {
	return a.op == messages.OpBreak && v.broken[deed{kind: messages.Event_BROKEN, resource: a.resource.name, token: a.token}]
}
