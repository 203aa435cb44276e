package lease

import (
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/journal"
)

func (s *State) extend(now Time, e Extend, o *Outcome) {
	r := e.Request
	who := newCaller(r.GetOwner(), r.GetSecret())
	h, ok := s.own(who, r.GetToken())
	if !ok {
		o.answer(e.From, s.notOwn(now, who, r.GetToken(), messages.Status_NOT_HELD))
		return
	}
	if isLate(r.GetOrder(), h.Grant.GetExtendOrder()) {
		if uint64(r.GetLimit()) <= limitOf(h.Grant.GetLimit()) {
			s.confirm(now, e.From, messages.Status_EXTENDED, h, o)
			return
		}
		r = &messages.ExtendRequest{Token: r.GetToken(), TtlMs: h.Grant.GetTtlMs(), Limit: r.GetLimit()}
	}
	refusal := s.mayBecome(now, h, r)
	if refusal == nil {
		refusal = s.refusedSession(now, r.GetSession(), h.Grant.GetSecretHash())
	}
	switch {
	case refusal != nil:
		o.answer(e.From, refusal)
		return
	case uint64(r.GetLimit()) > limitOf(h.Grant.GetLimit()):
		h = s.downgrade(now, h, r, o)
	default:
		h = s.become(now, h, s.successor(now, h, r), o)
	}
	s.confirm(now, e.From, messages.Status_EXTENDED, h, o)
	s.serve(now, o) // the lease may be shared now, or smaller
}

// isLate reports whether a request came after another one that has a larger number.
func isLate(order, highest uint64) bool { return order != 0 && order < highest }

// successor returns what the grant of a lease is after an extend that is no downgrade to a larger limit.
func (s *State) successor(now Time, h Lease, r *messages.ExtendRequest) *journal.Grant {
	return with(h.Grant, func(g *journal.Grant) {
		g.ExtendOrder = max(g.GetExtendOrder(), r.GetOrder())
		switch inSession := len(g.GetSession()) > 0; {
		case r.GetSession() != "":
			x := s.sessions.enter(now.Instant, r.GetSession(), r.GetTtlMs(), g.GetSecretHash())
			// The session may run longer already. Its own TTL, which each of its leases has, is the bound.
			x.deadline = max(x.deadline, now.Add(ttl(min(r.GetTtlMs(), x.ttl))))
			g.TtlMs, g.Session = x.ttl, x.Key[:]
		case r.GetLimit() == 0, !inSession: // a repeated downgrade leaves the lease in its session
			g.TtlMs, g.Session = r.GetTtlMs(), nil
		}
	})
}

// become puts g in the place of a lease. In a session, where no time begins anew, it may be the same.
func (s *State) become(now Time, h Lease, g *journal.Grant, o *Outcome) Lease {
	if len(g.GetSession()) > 0 && proto.Equal(g, h.Grant) {
		return h
	}
	return s.extended(now, h, g, o)
}

// mayBecome returns why the limit of a lease may not become that of a request, nil if it may. Two holders that both wait
// to be alone would wait for one another for ever, so a limit only grows. The grant knows one former token: it would
// forget the one that the request names, and refuse its repetition.
func (s *State) mayBecome(now Time, h Lease, r *messages.ExtendRequest) *messages.Reply {
	present, limit := limitOf(h.Grant.GetLimit()), r.GetLimit()
	switch {
	case limit == 0 || uint64(limit) == present:
		return nil
	case uint64(limit) < present:
		return s.invalid(messages.Invalid("limit", fmt.Sprintf("at least %d, that of the lease, which never falls: release the lease and acquire another", present), fmt.Sprint(limit)))
	case r.GetToken() != 0 && r.GetToken() == h.Grant.GetFormer():
		return s.replyLease(now, messages.Status_STALE_TOKEN, h)
	case s.image.Holders() > 1:
		return s.invalid(messages.Invalid("limit", fmt.Sprintf("%d, that of the lease, while %d leases are held: only a lease that is held alone is downgraded", present, s.image.Holders()), fmt.Sprint(limit)))
	case s.image.HeldBack():
		return s.invalid(messages.Invalid("limit", fmt.Sprintf("%d, that of the lease, while a lost lease holds the resource back: only a lease that is held alone is downgraded", present), fmt.Sprint(limit)))
	case s.image.Token() >= messages.MaxToken:
		return s.exhausted()
	}
	return nil
}

func (s *State) invalid(err error) *messages.Reply {
	return messages.Refuse(messages.Status_INVALID, err)
}

// prolong lets a lease run from now for this TTL at least.
func (s *State) prolong(now Time, h Lease, ttlMillis uint32, o *Outcome) Lease {
	if now.Add(ttl(ttlMillis)) > h.Deadline {
		h = s.extended(now, h, with(h.Grant, func(g *journal.Grant) { g.TtlMs, g.Session = ttlMillis, nil }), o)
	}
	return h
}

// extended puts g in the place of a lease, and lets it run from now.
func (s *State) extended(now Time, h Lease, g *journal.Grant, o *Outcome) Lease {
	s.apply(now, h.Grant, &journal.Change{Kind: messages.Event_EXTENDED, Grant: g}, o)
	return Lease{Grant: g, Deadline: end(g, now.Instant), How: messages.Event_ACQUIRED}
}

// downgrade puts a lease with a larger limit in the place of one that is held alone. Its token is new, and begins a
// phase, so that writes which were delayed under the former limit can be told from those of the holders to come. A lease
// of a session stays in it.
func (s *State) downgrade(now Time, h Lease, r *messages.ExtendRequest, o *Outcome) Lease {
	token := uint64(s.image.Token() + 1)
	if h.isEphemeral() {
		s.reserve(messages.Token(token), o)
	}
	s.keepLast(now)
	g := with(h.Grant, func(g *journal.Grant) {
		if g.AcquiredAtMs = now.UnixMillis; len(g.GetSession()) == 0 {
			g.TtlMs = r.GetTtlMs()
		}
		g.Token, g.Phase, g.Former = token, token, h.Grant.GetToken()
		g.Limit, g.Slots = r.GetLimit(), slotsOf(h.Grant)
		g.ExtendOrder = max(g.GetExtendOrder(), r.GetOrder())
	})
	s.apply(now, h.Grant, &journal.Change{Kind: messages.Event_RELEASED, Grant: h.Grant, Reason: downgraded}, o)
	s.believe(h.token())
	s.apply(now, nil, &journal.Change{Kind: messages.Event_ACQUIRED, Grant: g}, o)
	s.past.follow(h.Grant, g)
	return s.image.Last()
}

// downgraded is the reason of the end of a lease in whose place another one is.
const downgraded = "downgraded"

// with returns a changed copy of a grant.
func with(g *journal.Grant, change func(*journal.Grant)) *journal.Grant {
	c := &journal.Grant{
		Resource:     g.GetResource(),
		Owner:        g.GetOwner(),
		Token:        g.GetToken(),
		TtlMs:        g.GetTtlMs(),
		AcquiredAtMs: g.GetAcquiredAtMs(),
		Durability:   g.GetDurability(),
		Metadata:     g.GetMetadata(),
		RequestId:    g.GetRequestId(),
		Limit:        g.GetLimit(),
		Slots:        g.GetSlots(),
		Phase:        g.GetPhase(),
		Former:       g.GetFormer(),
		Session:      g.GetSession(),
		DelayMs:      g.GetDelayMs(),
		Confirm:      g.GetConfirm(),
		SecretHash:   g.GetSecretHash(),
		Identity:     g.GetIdentity(),
		ExtendOrder:  g.GetExtendOrder(),
		SetOrder:     g.GetSetOrder(),
	}
	change(c)
	return c
}
