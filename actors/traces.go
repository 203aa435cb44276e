package actors

import (
	"slices"
	"time"

	"github.com/holdfast-io/holdfast/actors/lease"
	"github.com/holdfast-io/holdfast/messages"
)

// maxTracedHolders bounds the leases of a shard whose trace is remembered. Those that are granted beyond it are as those
// of requests without a trace.
const maxTracedHolders = 1 << 14

// traces notes in the traces of requests what a term does with them, and remembers those of the holders, for the requests
// that wait for them. It is in memory only, and belongs to the shard's goroutine. nil notes nothing.
type traces struct {
	clock Clock
	// holders has the traced leases that are held, by resource and in the order of their grants, and count is how many
	// there are.
	holders map[string][]tracedHolder
	count   int
}

// tracedHolder is a lease that was granted to a traced request.
type tracedHolder struct {
	token     uint64
	ephemeral bool
	context   messages.TraceContext
}

func newTraces(cfg ShardConfig) *traces {
	if !cfg.Traced {
		return nil
	}
	return &traces{clock: cfg.Clock, holders: make(map[string][]tracedHolder)}
}

// asked notes that a request was looked at, and what it will wait for if it has to. A request that waits again, because its
// shard came back, has noted that already.
func (t *traces) asked(r *Request, resource string, at lease.Instant) {
	if t == nil {
		return
	}
	to, _ := r.replyTo()
	if to.Trace == nil || to.Trace.Decided > 0 {
		return
	}
	to.Trace.Decided = time.Duration(at)
	to.Trace.WaitedFor = linked(nil, t.holders[resource])
}

// decided notes a decision.
func (t *traces) decided(d *decision) {
	if t == nil {
		return
	}
	ended := t.forget(d)
	t.asked(d.request, d.activation.resource, d.at)
	for _, a := range d.outcome.Answers {
		if a.To.Trace != nil {
			t.settled(d, a, ended)
		}
	}
}

// settled notes an answer that the decision gives. ended are the holders whose leases have ended in it.
func (t *traces) settled(d *decision, a lease.Answer, ended []tracedHolder) {
	trace := a.To.Trace
	settle(trace, d.at)
	granted := a.Reply.GetStatus() == messages.Status_GRANTED
	if !a.To.Queued {
		trace.WaitedFor = nil
	} else if granted {
		trace.WaitedFor = linked(trace.WaitedFor, ended)
	}
	if granted {
		t.remember(d, a.Reply.GetLease().GetToken(), trace.Context)
	}
}

// settle notes when the answer to a request was decided; nil: it has no trace.
func settle(trace *messages.Trace, at lease.Instant) {
	if trace != nil {
		trace.Settled = time.Duration(at)
	}
}

// remember remembers a holder, if there is room.
func (t *traces) remember(d *decision, token uint64, c messages.TraceContext) {
	all := t.holders[d.activation.resource]
	if t.count >= maxTracedHolders || slices.ContainsFunc(all, func(x tracedHolder) bool { return x.token == token }) {
		return // there is no room, or it is the same grant again
	}
	c.State = "" // a link names the span only
	isToken := func(x lease.Lease) bool { return x.Grant.GetToken() == token }
	t.holders[d.activation.resource] = append(all, tracedHolder{token, slices.ContainsFunc(d.ephemeral, isToken), c})
	t.count++
}

// forget gives the holders of a resource the tokens that they have after a decision, and removes and returns those whose
// leases have ended. Persistent leases that are not among the changed ones are as before.
func (t *traces) forget(d *decision) (ended []tracedHolder) {
	resource := d.activation.resource
	before := t.holders[resource]
	if len(before) == 0 {
		return nil
	}
	changed := changedTokens(d)
	if len(changed) == 0 && !slices.ContainsFunc(before, func(x tracedHolder) bool { return x.ephemeral }) {
		return nil
	}
	ephemeral, after := ephemeralTokens(d), before[:0]
	for _, x := range before {
		if now, is := changed[x.token]; x.ephemeral {
			x.token = ephemeral[x.token]
		} else if is {
			x.token = now
		}
		if x.token == 0 {
			ended = append(ended, x)
		} else {
			after = append(after, x)
		}
	}
	clear(before[len(after):])
	t.count -= len(ended)
	if t.holders[resource] = after; len(after) == 0 {
		delete(t.holders, resource)
	}
	return ended
}

// changedTokens returns the tokens of the persistent leases that a decision has ended. If the lease was downgraded, its
// token leads to the new one, else to 0.
func changedTokens(d *decision) map[uint64]uint64 {
	if len(d.outcome.Changes) == 0 {
		return nil
	}
	changed := make(map[uint64]uint64)
	for _, c := range d.outcome.Changes {
		if _, over := endingOf(c); over {
			changed[c.GetGrant().GetToken()] = 0
		} else if former := c.GetGrant().GetFormer(); former > 0 && c.GetKind() == messages.Event_ACQUIRED {
			changed[former] = c.GetGrant().GetToken()
		}
	}
	return changed
}

// ephemeralTokens returns the tokens of the ephemeral leases after a decision. That of a lease which was downgraded leads to
// the new one.
func ephemeralTokens(d *decision) map[uint64]uint64 {
	tokens := make(map[uint64]uint64, len(d.ephemeral))
	for _, h := range d.ephemeral {
		token := h.Grant.GetToken()
		tokens[token] = token
		if former := h.Grant.GetFormer(); former > 0 {
			tokens[former] = token
		}
	}
	return tokens
}

// committed notes that the journal has confirmed decisions.
func (t *traces) committed(decisions []*decision) {
	if t == nil {
		return
	}
	now := time.Duration(t.clock.Now().Instant)
	for _, d := range decisions {
		for _, a := range d.outcome.Answers {
			if a.To.Trace != nil {
				a.To.Trace.Committed = now
			}
		}
	}
}

// maxLinks bounds the requests that a request remembers to have waited for.
const maxLinks = 16

// linked adds the contexts of holders to others, each once, as long as there is room.
func linked(all []messages.TraceContext, holders []tracedHolder) []messages.TraceContext {
	for _, h := range holders[:min(len(holders), maxLinks)] {
		if len(all) < maxLinks && !slices.Contains(all, h.context) {
			all = append(all, h.context)
		}
	}
	return all
}
