package lease

import (
	"fmt"

	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/journal"
)

func (s *State) acquire(now Time, e Acquire, o *Outcome) {
	r := e.Request
	if over := s.over(r.GetOwner(), r.GetRequestId()); over != nil {
		o.answer(e.From, over)
		return
	}
	switch {
	case !s.image.Held() && e.NoGrant != "":
		o.answer(e.From, s.overloaded(e.NoGrant))
	case !s.image.Held():
		s.grant(now, r, e.From, false, o)
	case r.GetReentrant() && s.image.heldBy(r.GetOwner()):
		s.share(r)
		s.prolong(now, r.GetTtlMs(), o)
		s.confirm(now, e.From, messages.Status_GRANTED, o)
	case s.answers(r.GetOwner(), r.GetRequestId()):
		s.confirm(now, e.From, messages.Status_GRANTED, o)
	case r.GetWaitMs() > 0:
		s.wait(now, e, o)
	default:
		o.answer(e.From, s.replyHeld(now, messages.Status_HELD))
	}
}

// answers reports whether the present lease was granted to this request.
func (s *State) answers(owner, id string) bool {
	return id != "" && id == s.image.Grant.GetRequestId() && s.image.heldBy(owner)
}

// share notes that the present lease answers a reentrant request, which ends with it.
func (s *State) share(r *messages.AcquireRequest) {
	if id := r.GetRequestId(); id != "" && !s.answers(r.GetOwner(), id) {
		s.past.share(s.image.Grant, id)
	}
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
	s.keepLast(now)
	s.apply(now, &journal.Change{Kind: messages.Event_ACQUIRED, Grant: &journal.Grant{
		Resource:     s.resource,
		Owner:        r.GetOwner(),
		Token:        uint64(s.image.Token() + 1),
		TtlMs:        r.GetTtlMs(),
		AcquiredAtMs: now.UnixMillis,
		Durability:   r.GetDurability(),
		Metadata:     r.GetMetadata(),
		RequestId:    r.GetRequestId(),
	}}, o)
	inDoubt := waited || to.Batched
	if inDoubt {
		s.doubted = s.image.Token()
	}
	o.Answers = append(o.Answers, Answer{
		To: to, Reply: s.replyHeld(now, messages.Status_GRANTED), InDoubt: inDoubt,
	})
}

// keepLast keeps the request of the last grant remembered when the next one takes its place in the image.
func (s *State) keepLast(now Time) {
	last := s.image.Grant
	if last.GetRequestId() == "" || s.past.remembersSince(s.ended) {
		return
	}
	if _, known := s.past.find(keyOf(s.resource, last.GetOwner(), last.GetRequestId())); !known {
		s.past.End(now.Instant, last, s.image.State) // it ended before the shard was opened
	}
}

// confirm answers the present holder. A request from it shows that it knows of its lease, which is no
// longer in doubt.
func (s *State) confirm(now Time, to messages.ReplyTo, status messages.Status, o *Outcome) {
	s.doubted = 0
	o.answer(to, s.replyHeld(now, status))
}

// reservation is how many tokens are set aside for ephemeral leases by one record. A change
// of owner may leave that number of tokens out.
const reservation = 1000

// reserve makes sure that the record says that an ephemeral lease may have this token, so that no
// later owner issues it again.
func (s *State) reserve(token messages.Token, o *Outcome) {
	if token <= s.reserved {
		return
	}
	s.reserved = min(token+reservation-1, messages.MaxToken)
	o.change(&journal.Change{Resource: s.resource, Reserved: uint64(s.reserved)})
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
