package lease

import (
	"fmt"
	"slices"

	"github.com/holdfast-io/holdfast/messages"
)

func (s *State) release(now Time, e Release, o *Outcome) {
	r := e.Request
	who := newCaller(r.GetOwner(), r.GetSecret())
	if w, ok := s.queue.take(who, r.GetRequestId()); ok {
		s.withdraw(now, caller{who.owner, w.request.GetSecretHash()}, r.GetRequestId())
		o.answer(w.from, s.reply(messages.Status_CANCELLED))
		o.answer(e.From, s.reply(messages.Status_CANCELLED))
		s.serve(now, o) // it may have been the head
		return
	}
	if r.GetRequestId() != "" && r.GetToken() == 0 {
		s.releaseRequest(now, who, e, o)
		return
	}
	s.withdraw(now, who, r.GetRequestId())
	h, ok := s.own(who, r.GetToken())
	if !ok {
		o.answer(e.From, s.notOwn(now, who, r.GetToken(), messages.Status_RELEASED))
		return
	}
	s.finish(now, h, messages.Event_RELEASED, "", o)
	o.answer(e.From, s.reply(messages.Status_RELEASED))
}

// releaseRequest releases the lease of one request, whatever else its owner holds. A request that is
// not known may be on its way yet: it is not granted any more.
func (s *State) releaseRequest(now Time, who caller, e Release, o *Outcome) {
	id := e.Request.GetRequestId()
	status := messages.Status_NOT_HELD
	if h, ok := s.granted(who, id); ok {
		s.finish(now, h, messages.Event_RELEASED, "", o)
		status = messages.Status_RELEASED
	} else if past, ok := s.recallRelease(who, id); ok && past.granted() {
		status = past.status()
	} else {
		s.withdraw(now, who, id)
	}
	o.answer(e.From, s.reply(status))
}

// own returns the lease of which its owner speaks: the one with the token, now or before it was downgraded, and without
// a token the only one of the owner.
func (s *State) own(who caller, token uint64) (own Lease, ok bool) {
	n := 0
	for h := range s.image.Holdings() {
		switch g := h.Grant; {
		case !who.owns(g):
		case token == 0:
			own, n = h, n+1
		case token == g.GetToken() || token == g.GetFormer():
			return h, true
		}
	}
	return own, n == 1
}

// notOwn says why [State.own] has found no lease: how it has ended, if that is known, else first the owner counts, then
// the token. released is the answer of a lease that was released.
func (s *State) notOwn(now Time, who caller, token uint64, released messages.Status) *messages.Reply {
	switch how, known := s.howEnded(who, token); {
	case known && how == messages.Event_RELEASED:
		return s.reply(released)
	case known && how != messages.Event_KIND_UNSPECIFIED:
		return s.reply(messages.Status_EXPIRED)
	case !s.image.Held():
		return s.reply(messages.Status_NOT_HELD)
	}
	var own Lease
	n := 0
	for h := range s.image.Holdings() {
		if who.owns(h.Grant) {
			own, n = h, n+1
		}
	}
	switch {
	case n == 0:
		return s.notOwner(now)
	case token != 0:
		return s.replyLease(now, messages.Status_STALE_TOKEN, own)
	default:
		return s.invalid(messages.Invalid("token", fmt.Sprintf("that of one of the %d leases that the owner holds", n), "0"))
	}
}

// howEnded returns how an owner's lease has ended, if that is known: the last one of the resource, without a token only
// while it is free, one that holds the resource back, and an earlier one that was shared as long as it is remembered.
func (s *State) howEnded(who caller, token uint64) (messages.Event_Kind, bool) {
	for l := range s.image.Lost() {
		if who.owns(l.Grant) && token != 0 && (token == l.Grant.GetToken() || token == l.Grant.GetFormer()) {
			return l.How, true
		}
	}
	last := s.image.Last()
	switch free := !s.image.Held(); {
	case !last.isHeld() && (free || token != 0) && s.image.lastOf(who, token):
		return last.How, true
	case token == 0:
		return 0, false
	}
	e, ok := s.past.findToken(s.resource, who, token)
	return e.how, ok
}

// notOwner is what others than the owner are told. It is the same whether the name or the secret is another one.
func (s *State) notOwner(now Time) *messages.Reply {
	if !s.image.Held() {
		return s.reply(messages.Status_NOT_OWNER)
	}
	return s.replyLease(now, messages.Status_NOT_OWNER, s.image.first())
}

func (s *State) breakLease(now Time, e Break, o *Outcome) {
	token := messages.Token(e.Request.GetToken())
	h, held := s.image.Find(token)
	switch {
	case held:
		s.finish(now, h, messages.Event_BROKEN, e.Request.GetReason(), o)
		o.answer(e.From, s.reply(messages.Status_RELEASED))
	case s.image.endedAs(token, messages.Event_BROKEN) || s.image.endedAs(token, messages.Event_CONFIRMED):
		o.answer(e.From, s.reply(messages.Status_RELEASED))
	case s.image.Held():
		o.answer(e.From, s.replyLease(now, messages.Status_STALE_TOKEN, s.image.first()))
	default:
		o.answer(e.From, s.reply(messages.Status_NOT_HELD))
	}
}

// revoke takes back a grant that reached no client.
func (s *State) revoke(now Time, e Undeliverable, o *Outcome) {
	if h, held := s.image.Find(e.Token); held && slices.Contains(s.doubted, e.Token) {
		s.finish(now, h, messages.Event_RELEASED, "the client was gone", o)
	}
}
