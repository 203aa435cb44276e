package lease

import (
	"cmp"
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/journal"
)

func extend(t *turn, e Extend) {
	r := e.Request
	who := newCaller(r.GetOwner(), r.GetSecret())
	h, ok := t.image.own(who, r.GetToken())
	if !ok {
		t.answer(e.From, notOwn(t, who, r.GetToken(), messages.Status_NOT_HELD))
		return
	}
	late := isLate(r.GetOrder(), h.Grant.GetExtendOrder())
	if late {
		r = &messages.ExtendRequest{
			Token: r.GetToken(), TtlMs: h.Grant.GetTtlMs(), Limit: r.GetLimit(), Tokens: r.GetTokens(),
		}
	}
	if late && uint64(r.GetLimit()) <= limitOf(h.Grant.GetLimit()) && r.GetTokens() <= tokensHeld(h.Grant) {
		t.confirm(e.From, messages.Status_EXTENDED, h)
		return
	}
	refusal := cmp.Or(mayBecome(t, h, r), mayGrow(t, h, r))
	if refusal == nil {
		refusal = t.refusedSession(r.GetSession(), h.Grant.GetSecretHash())
	}
	switch {
	case refusal != nil:
		t.answer(e.From, refusal)
		return
	case uint64(r.GetLimit()) > limitOf(h.Grant.GetLimit()):
		h = downgrade(t, h, r)
	case late:
		h = grow(t, h, r)
	default:
		h = become(t, h, successor(t, h, r)) // mutant: ExtendWithoutEffect
	}
	t.confirm(e.From, messages.Status_EXTENDED, h)
	t.serve() // the lease may be shared now, or smaller
}

// isLate reports whether a request came after another one that has a larger number.
func isLate(order, highest uint64) bool { return order != 0 && order < highest } // mutant: LateExtendCounts

// successor returns what the grant of a lease is after an extend that is no downgrade to a larger limit.
func successor(t *turn, h Lease, r *messages.ExtendRequest) *journal.Grant {
	return with(h.Grant, func(g *journal.Grant) {
		g.ExtendOrder = max(g.GetExtendOrder(), r.GetOrder())
		g.Tokens = grown(t, h, r)
		switch inSession := len(g.GetSession()) > 0; {
		case r.GetSession() != "":
			x := t.sessions.enter(t.now.Instant, r.GetSession(), r.GetTtlMs(), g.GetSecretHash())
			// The session may run longer already. Its own TTL, which each of its leases has, is the bound.
			x.deadline = max(x.deadline, t.now.Add(ttl(min(r.GetTtlMs(), x.ttl))))
			g.TtlMs, g.Session = x.ttl, x.Key[:]
		case r.GetLimit() == 0, !inSession: // a repeated downgrade leaves the lease in its session
			g.TtlMs, g.Session = r.GetTtlMs(), nil
		}
	})
}

// become puts g in the place of a lease. In a session, where no time begins anew, it may be the same.
func become(t *turn, h Lease, g *journal.Grant) Lease {
	if len(g.GetSession()) > 0 && proto.Equal(g, h.Grant) {
		return h
	}
	return t.extend(t.now.Instant, h, g)
}

// mayBecome returns why the limit of a lease may not become that of a request, nil if it may. Two holders that both
// wait to be alone would wait for one another for ever, so a limit only grows. The grant knows one former token: it
// would forget the one that the request names, and refuse its repetition.
func mayBecome(t *turn, h Lease, r *messages.ExtendRequest) *messages.Reply {
	present, limit := limitOf(h.Grant.GetLimit()), r.GetLimit()
	refuse := func(want string) *messages.Reply {
		return invalid(messages.Invalid("limit", want, fmt.Sprint(limit)))
	}
	switch {
	case limit == 0 || uint64(limit) == present:
		return nil
	case uint64(limit) < present:
		return refuse(fmt.Sprintf("at least %d, that of the lease, which never falls: "+
			"release the lease and acquire another", present))
	case r.GetToken() != 0 && r.GetToken() == h.Grant.GetFormer():
		return t.replyLease(messages.Status_STALE_TOKEN, h)
	case t.image.Holders() > 1:
		return refuse(fmt.Sprintf("%d, that of the lease, while %d leases are held: "+
			"only a lease that is held alone is downgraded", present, t.image.Holders()))
	case h.Grant.GetMinHoldMs() > 0:
		return refuse(fmt.Sprintf("%d, that of the lease, which has a shortest hold: "+
			"release it and acquire another", present))
	case t.image.HeldBack():
		return refuse(fmt.Sprintf("%d, that of the lease, while a lost lease holds the resource back: "+
			"only a lease that is held alone is downgraded", present))
	}
	return t.refusedTokens(1)
}

// mayGrow returns why a lease may not have as many tokens as the request says, nil if it may. Behind a lease that a
// backup has there may have been others: its token is below theirs, and so must all tokens be that it gets.
func mayGrow(t *turn, h Lease, r *messages.ExtendRequest) *messages.Reply {
	present := tokensHeld(h.Grant)
	if r.GetTokens() <= present {
		return nil
	}
	more := r.GetTokens() - present
	switch {
	case limitOf(h.Grant.GetLimit()) > 1:
		return invalid(messages.Invalid("tokens", "none of a shared lease, which has one token", fmt.Sprint(r.GetTokens())))
	case more > messages.MaxBlock:
		return invalid(messages.Invalid("tokens", fmt.Sprintf("at most %d, which is %d more than the lease has",
			present+messages.MaxBlock, messages.MaxBlock), fmt.Sprint(r.GetTokens())))
	case t.image.Token() > h.Grant.Last(): // mutant: GrowthIntoIssuedTokens
		refusal := t.reply(messages.Status_EXHAUSTED)
		refusal.Error = fmt.Sprintf("resource %q: tokens behind %d, the last one of the lease, may have been issued "+
			"before a restore; release it and acquire another", t.name(), h.Grant.Last())
		return refusal
	}
	return t.refusedTokens(messages.Token(more))
}

// grow lets a lease have more tokens, and leaves it as it is otherwise.
func grow(t *turn, h Lease, r *messages.ExtendRequest) Lease {
	before := h.Grant
	h.Grant = with(before, func(g *journal.Grant) { g.Tokens = grown(t, h, r) })
	t.apply(t.now.Instant, before, &journal.Change{Kind: messages.Event_UPDATED, Grant: h.Grant})
	return h
}

// grown returns how many tokens a lease has after an extend; 0: one. Those of an ephemeral one are reserved.
func grown(t *turn, h Lease, r *messages.ExtendRequest) uint32 {
	present := tokensHeld(h.Grant)
	if r.GetTokens() <= present {
		return h.Grant.GetTokens()
	}
	t.blocks.take(t.now.Instant, messages.Token(r.GetTokens()-present))
	if h.isEphemeral() {
		t.reserve(h.token() + messages.Token(r.GetTokens()) - 1) // mutant: GrowthIsNotReserved
	}
	return r.GetTokens()
}

// prolong lets a lease run from now for this TTL at least.
func prolong(t *turn, h Lease, ttlMillis uint32) Lease {
	if t.now.Add(ttl(ttlMillis)) > h.Deadline {
		h = t.extend(t.now.Instant, h, with(h.Grant, func(g *journal.Grant) { g.TtlMs, g.Session = ttlMillis, nil }))
	}
	return h
}

// downgrade puts a lease with a larger limit in the place of one that is held alone. Its token is new, and begins a
// phase, which sets writes that were delayed under the former limit apart from those of the holders to come. A
// lease of a session stays in it.
func downgrade(t *turn, h Lease, r *messages.ExtendRequest) Lease {
	token := uint64(t.image.Token() + 1) // mutant: DowngradeKeepsItsToken
	if h.isEphemeral() {
		t.reserve(messages.Token(token))
	}
	t.past.keepLast(t.now.Instant, t.image.Last())
	g := with(h.Grant, func(g *journal.Grant) {
		if g.AcquiredAtMs = t.now.UnixMillis; len(g.GetSession()) == 0 {
			g.TtlMs = r.GetTtlMs()
		}
		g.Token, g.Phase, g.Former = token, token, h.Grant.GetToken()
		g.Limit, g.Slots, g.Tokens = r.GetLimit(), slotsOf(h.Grant), 0
		g.ExtendOrder = max(g.GetExtendOrder(), r.GetOrder()) // mutant: DowngradeForgetsTheOrder
	})
	t.apply(t.now.Instant, h.Grant, &journal.Change{Kind: messages.Event_RELEASED, Grant: h.Grant, Reason: downgraded})
	t.unacknowledged.remove(h.token())
	t.apply(t.now.Instant, nil, &journal.Change{Kind: messages.Event_ACQUIRED, Grant: g})
	t.past.shard.follow(h.Grant, g)
	return t.image.Last()
}
