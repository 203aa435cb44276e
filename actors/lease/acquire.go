package lease

import (
	"fmt"

	"github.com/holdfast-io/holdfast/messages"
)

func (s *State) acquire(now Time, e Acquire, o *Outcome) {
	r := e.Request
	switch {
	case !s.image.Held() && e.NoGrant != "":
		o.answer(e.From, s.overloaded(e.NoGrant))
	case !s.image.Held():
		s.grant(now, r, e.From, false, o)
	case r.GetReentrant() && s.image.heldBy(r.GetOwner()):
		s.prolong(now, r.GetTtlMs(), o)
		s.confirm(now, e.From, messages.Status_GRANTED, o)
	case s.answered(r):
		s.confirm(now, e.From, messages.Status_GRANTED, o)
	case r.GetWaitMs() > 0:
		s.wait(now, e, o)
	default:
		o.answer(e.From, s.replyHeld(now, messages.Status_HELD))
	}
}

// answered reports whether the present lease is this request's: it is a repetition.
func (s *State) answered(r *messages.AcquireRequest) bool {
	return r.GetRequestId() != "" && r.GetRequestId() == s.image.Grant.GetRequestId() &&
		s.image.heldBy(r.GetOwner())
}

// grant gives the free resource to r, under the next token.
func (s *State) grant(now Time, r *messages.AcquireRequest, to messages.ReplyTo, waited bool, o *Outcome) {
	if s.image.Token() >= messages.MaxToken {
		o.answer(to, s.exhausted())
		return
	}
	if r.GetDurability() == messages.Durability_EPHEMERAL {
		s.reserve(s.image.Token()+1, o)
	}
	s.apply(now, &messages.Change{Kind: messages.Event_ACQUIRED, Grant: &messages.Grant{
		Resource:     s.resource,
		Owner:        r.GetOwner(),
		Token:        uint64(s.image.Token() + 1),
		TtlMs:        r.GetTtlMs(),
		AcquiredAtMs: now.UnixMillis,
		Durability:   r.GetDurability(),
		Metadata:     r.GetMetadata(),
		RequestId:    r.GetRequestId(),
	}}, o)
	if waited {
		s.doubted = s.image.Token()
	}
	o.Answers = append(o.Answers, Answer{
		To: to, Reply: s.replyHeld(now, messages.Status_GRANTED), Waited: waited,
	})
}

// confirm answers the present holder, who has been heard from: its lease is no longer in doubt.
func (s *State) confirm(now Time, to messages.ReplyTo, status messages.Status, o *Outcome) {
	s.doubted = 0
	o.answer(to, s.replyHeld(now, status))
}

// reservation is how many tokens are set aside for ephemeral leases by one record. So many may be
// left out when the owner changes.
const reservation = 1000

// reserve makes sure that the record says that an ephemeral lease may have this token, so that no
// later owner issues it again.
func (s *State) reserve(token messages.Token, o *Outcome) {
	if token <= s.reserved {
		return
	}
	s.reserved = min(token+reservation-1, messages.MaxToken)
	o.change(&messages.Change{Resource: s.resource, Reserved: uint64(s.reserved)})
}

func (s *State) overloaded(why string) *messages.Reply {
	r := s.reply(messages.Status_OVERLOADED)
	r.Error = why
	return r
}

func (s *State) exhausted() *messages.Reply {
	r := s.reply(messages.Status_EXHAUSTED)
	r.Error = fmt.Sprintf("resource %q: its tokens have reached %d, the last there is; use another name",
		s.resource, messages.MaxToken)
	return r
}
