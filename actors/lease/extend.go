package lease

import (
	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/journal"
)

func (s *State) extend(now Time, e Extend, o *Outcome) {
	r := e.Request
	if !s.image.Held() {
		o.answer(e.From, s.reply(s.whyFree(r.GetOwner(), r.GetToken())))
		return
	}
	if refusal := s.refusal(now, r.GetOwner(), r.GetToken()); refusal != nil {
		o.answer(e.From, refusal)
		return
	}
	s.run(now, r.GetTtlMs(), o)
	s.confirm(now, e.From, messages.Status_EXTENDED, o)
}

// prolong lets the lease run from now for this TTL at least.
func (s *State) prolong(now Time, ttlMillis uint32, o *Outcome) {
	if now.Add(ttl(ttlMillis)) > s.image.Deadline {
		s.run(now, ttlMillis, o)
	}
}

// run lets the present lease run from now again, for this TTL.
func (s *State) run(now Time, ttlMillis uint32, o *Outcome) {
	g := s.image.Grant
	s.apply(now, &journal.Change{Kind: messages.Event_EXTENDED, Grant: &journal.Grant{
		Resource:     g.GetResource(),
		Owner:        g.GetOwner(),
		Token:        g.GetToken(),
		TtlMs:        ttlMillis,
		AcquiredAtMs: g.GetAcquiredAtMs(),
		Durability:   g.GetDurability(),
		Metadata:     g.GetMetadata(),
		RequestId:    g.GetRequestId(),
	}}, o)
}
