package lease

import (
	"fmt"

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
	refusal := s.mayBecome(h, r.GetLimit())
	if refusal == nil {
		refusal = s.refusedSession(now, r.GetSession(), h.Grant.GetSecretHash())
	}
	switch {
	case refusal != nil:
		o.answer(e.From, refusal)
		return
	case r.GetSession() != "":
		x := s.sessions.enter(now.Instant, r.GetSession(), r.GetTtlMs(), h.Grant.GetSecretHash())
		s.sessions.prolong(now.Instant, x, r.GetTtlMs())
		h = s.put(now, h, x, o)
	case r.GetLimit() == 0:
		h = s.run(now, h, r.GetTtlMs(), o)
	case limitOf(r.GetLimit()) == limitOf(h.Grant.GetLimit()): // a downgrade once more
		if len(h.Grant.GetSession()) == 0 {
			h = s.run(now, h, r.GetTtlMs(), o)
		}
	default:
		h = s.downgrade(now, h, r, o)
		defer s.serve(now, o)
	}
	s.confirm(now, e.From, messages.Status_EXTENDED, h, o)
}

// mayBecome returns why the limit of a lease may not become this one, nil if it may. Two holders that both wait to be
// alone would wait for one another for ever, so a limit only grows.
func (s *State) mayBecome(h Holding, limit uint32) *messages.Reply {
	present := limitOf(h.Grant.GetLimit())
	switch {
	case limit == 0 || uint64(limit) == present:
		return nil
	case uint64(limit) < present:
		return s.invalid(messages.Invalid("limit", fmt.Sprintf("at least %d, that of the lease, which never falls: release the lease and acquire another", present), fmt.Sprint(limit)))
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
func (s *State) prolong(now Time, h Holding, ttlMillis uint32, o *Outcome) Holding {
	if now.Add(ttl(ttlMillis)) > h.Deadline {
		return s.run(now, h, ttlMillis, o)
	}
	return h
}

// run lets a lease run from now again by itself, for this TTL.
func (s *State) run(now Time, h Holding, ttlMillis uint32, o *Outcome) Holding {
	return s.extended(now, h, with(h.Grant, func(g *journal.Grant) { g.TtlMs, g.Session = ttlMillis, nil }), o)
}

// extended puts g in the place of a lease, and lets it run from now.
func (s *State) extended(now Time, h Holding, g *journal.Grant, o *Outcome) Holding {
	s.apply(now, h.Grant, &journal.Change{Kind: messages.Event_EXTENDED, Grant: g}, o)
	return Holding{g, end(g, now.Instant)}
}

// downgrade puts a lease with a larger limit in the place of one that is held alone. Its token is new, and begins a
// phase, so that writes which were delayed under the former limit can be told from those of the holders to come. A lease
// of a session stays in it.
func (s *State) downgrade(now Time, h Holding, r *messages.ExtendRequest, o *Outcome) Holding {
	token := uint64(s.image.Token() + 1)
	if h.ephemeral() {
		s.reserve(messages.Token(token), o)
	}
	s.keepLast(now)
	g := with(h.Grant, func(g *journal.Grant) {
		if g.AcquiredAtMs = now.UnixMillis; len(g.GetSession()) == 0 {
			g.TtlMs = r.GetTtlMs()
		}
		g.Token, g.Phase, g.Former = token, token, h.Grant.GetToken()
		g.Limit, g.Slots = r.GetLimit(), slotsOf(h.Grant)
	})
	s.apply(now, h.Grant, &journal.Change{Kind: messages.Event_RELEASED, Grant: h.Grant, Reason: downgraded}, o)
	s.believe(h.token())
	s.apply(now, nil, &journal.Change{Kind: messages.Event_ACQUIRED, Grant: g}, o)
	s.past.follow(h.Grant, g)
	return s.image.last()
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
	}
	change(c)
	return c
}
