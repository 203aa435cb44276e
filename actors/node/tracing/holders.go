package tracing

import (
	"slices"
	"time"

	"github.com/holdfast-io/holdfast/actors"
	"github.com/holdfast-io/holdfast/actors/lease"
	"github.com/holdfast-io/holdfast/messages"
)

// maxHolders bounds the leases of a shard whose trace is remembered. Those that are granted beyond it are as those of
// requests without a trace.
const maxHolders = 1 << 14

// Holders notes in the traces of requests what a term decides about them, and remembers the spans of the holders, for
// the requests that wait for them. It is in memory only. It implements [actors.Witness], and belongs to the goroutine
// of its shard.
type Holders struct {
	// by has the traced leases that are held, by resource and in the order of their grants, and count is how many there
	// are.
	by    map[string][]holder
	count int
}

// holder is a lease that was granted to a traced request.
type holder struct {
	token     uint64
	ephemeral bool
	context   messages.TraceContext
}

// NewHolders returns the holders of a new term, which knows none.
func NewHolders() *Holders { return &Holders{by: make(map[string][]holder)} }

// Decided implements actors.Witness.
func (h *Holders) Decided(d actors.Decision) {
	ended := h.forget(d)
	for _, a := range d.Outcome.Answers {
		if a.To.Origin.Trace != nil {
			h.answered(d, a, ended)
		}
	}
	h.asked(d)
}

// answered notes an answer that the decision gives. ended are the holders whose leases have ended in it.
func (h *Holders) answered(d actors.Decision, a lease.Answer, ended []holder) {
	trace := a.To.Origin.Trace
	at, granted := time.Duration(d.At), a.Reply.GetStatus() == messages.Status_GRANTED
	switch {
	case trace.Decided == 0:
		trace.Decided = at // it did not wait
	case granted:
		trace.WaitedFor = linked(trace.WaitedFor, ended)
	}
	trace.Settled = at
	if granted {
		h.remember(d, a.Reply.GetLease().GetToken(), trace.Context)
	}
}

// asked notes that a request has to wait, and for what. A request that waits again, because its shard came back, has
// noted that already.
func (h *Holders) asked(d actors.Decision) {
	trace := d.From.Origin.Trace
	if trace == nil || trace.Decided > 0 {
		return
	}
	trace.Decided = time.Duration(d.At)
	trace.WaitedFor = linked(nil, h.by[d.Resource])
}

// remember remembers a holder, if there is room.
func (h *Holders) remember(d actors.Decision, token uint64, c messages.TraceContext) {
	all := h.by[d.Resource]
	if h.count >= maxHolders || slices.ContainsFunc(all, func(x holder) bool { return x.token == token }) {
		return // there is no room, or it is the same grant again
	}
	c.State = "" // a link names the span only
	h.by[d.Resource] = append(all, holder{token, ephemeralTokens(d)[token] == token, c})
	h.count++
}

// forget gives the holders of a resource the tokens that they have after a decision, and removes and returns those
// whose leases have ended. Persistent leases that are not among the changed ones are as before.
func (h *Holders) forget(d actors.Decision) (ended []holder) {
	resource := d.Resource
	before := h.by[resource]
	if len(before) == 0 {
		return nil
	}
	changed := changedTokens(d)
	if len(changed) == 0 && !slices.ContainsFunc(before, func(x holder) bool { return x.ephemeral }) {
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
	h.count -= len(ended)
	if h.by[resource] = after; len(after) == 0 {
		delete(h.by, resource)
	}
	return ended
}

// changedTokens returns the tokens of the persistent leases that a decision has ended. If the lease was downgraded, its
// token leads to the new one, else to 0.
func changedTokens(d actors.Decision) map[uint64]uint64 {
	if len(d.Outcome.Changes) == 0 {
		return nil
	}
	changed := make(map[uint64]uint64)
	for _, c := range d.Outcome.Changes {
		if _, over := actors.EndingOf(c); over {
			changed[c.GetGrant().GetToken()] = 0
		} else if former := c.GetGrant().GetFormer(); former > 0 && c.GetKind() == messages.Event_ACQUIRED {
			changed[former] = c.GetGrant().GetToken()
		}
	}
	return changed
}

// ephemeralTokens returns the tokens of the ephemeral leases after a decision. That of a lease which was downgraded
// leads to the new one.
func ephemeralTokens(d actors.Decision) map[uint64]uint64 {
	tokens := make(map[uint64]uint64, len(d.Outcome.InMemory))
	for _, l := range d.Outcome.InMemory {
		token := l.Grant.GetToken()
		tokens[token] = token
		if former := l.Grant.GetFormer(); former > 0 {
			tokens[former] = token
		}
	}
	return tokens
}

// Finish completes the trace of an answer that leaves at now. An answer without a decision, as to a request whose shard
// was lost, was settled at that time.
func Finish(a lease.Answer, now time.Duration) {
	trace := a.To.Origin.Trace
	trace.Committed = time.Duration(a.Committed)
	if trace.Decided > 0 && trace.Settled == 0 {
		trace.Settled = now
	}
}

// maxLinks bounds the requests that a request remembers to have waited for.
const maxLinks = 16

// linked adds the contexts of holders to others, each once, as long as there is room.
func linked(all []messages.TraceContext, holders []holder) []messages.TraceContext {
	for _, x := range holders[:min(len(holders), maxLinks)] {
		if len(all) < maxLinks && !slices.Contains(all, x.context) {
			all = append(all, x.context)
		}
	}
	return all
}
