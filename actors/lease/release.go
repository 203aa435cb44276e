package lease

import "github.com/holdfast-io/holdfast/messages"

func (s *State) release(now Time, e Release, o *Outcome) {
	r := e.Request
	if w, ok := s.queue.take(r.GetOwner(), r.GetRequestId()); ok {
		s.withdraw(now, r.GetOwner(), r.GetRequestId())
		o.answer(w.from, s.reply(messages.Status_CANCELLED))
		o.answer(e.From, s.reply(messages.Status_CANCELLED))
		return
	}
	if r.GetRequestId() != "" && r.GetToken() == 0 {
		s.releaseRequest(now, e, o)
		return
	}
	s.withdraw(now, r.GetOwner(), r.GetRequestId())
	if !s.image.Held() {
		status := s.whyFree(r.GetOwner(), r.GetToken())
		if s.image.State == messages.Event_RELEASED && s.image.lastOf(r.GetOwner(), r.GetToken()) {
			status = messages.Status_RELEASED
		}
		o.answer(e.From, s.reply(status))
		return
	}
	if refusal := s.refusal(now, r.GetOwner(), r.GetToken()); refusal != nil {
		o.answer(e.From, refusal)
		return
	}
	s.end(now, messages.Event_RELEASED, "", o)
	o.answer(e.From, s.reply(messages.Status_RELEASED))
}

// releaseRequest releases the lease of one request, whatever else its owner holds. A request that is
// not known may be on its way yet: it is not granted any more.
func (s *State) releaseRequest(now Time, e Release, o *Outcome) {
	owner, id := e.Request.GetOwner(), e.Request.GetRequestId()
	status := messages.Status_NOT_HELD
	if s.answers(owner, id) {
		s.end(now, messages.Event_RELEASED, "", o)
		status = messages.Status_RELEASED
	} else if past, ok := s.recall(owner, id); !ok {
		s.withdraw(now, owner, id)
	} else if past.granted() {
		status = past.status()
	}
	o.answer(e.From, s.reply(status))
}

// refusal says why a lease that is held is not the asker's, or nil if it is: first the owner
// counts, then the token, of which 0 stands for whatever the owner holds.
func (s *State) refusal(now Time, owner string, token uint64) *messages.Reply {
	switch {
	case !s.image.heldBy(owner):
		return s.replyHeld(now, messages.Status_NOT_OWNER)
	case token != 0 && token != s.image.Grant.GetToken():
		return s.replyHeld(now, messages.Status_STALE_TOKEN)
	default:
		return nil
	}
}

// whyFree tells the last holder that its lease was taken from it, by time or by an operator, and
// every other owner that the resource is free.
func (s *State) whyFree(owner string, token uint64) messages.Status {
	taken := s.image.State == messages.Event_EXPIRED || s.image.State == messages.Event_BROKEN
	if taken && s.image.lastOf(owner, token) {
		return messages.Status_EXPIRED
	}
	return messages.Status_NOT_HELD
}

func (s *State) breakLease(now Time, e Break, o *Outcome) {
	current := e.Request.GetToken() == s.image.Grant.GetToken()
	switch {
	case s.image.Held() && current:
		s.end(now, messages.Event_BROKEN, e.Request.GetReason(), o)
		o.answer(e.From, s.reply(messages.Status_RELEASED))
	case s.image.Held():
		o.answer(e.From, s.replyHeld(now, messages.Status_STALE_TOKEN))
	case s.image.State == messages.Event_BROKEN && current:
		o.answer(e.From, s.reply(messages.Status_RELEASED))
	default:
		o.answer(e.From, s.reply(messages.Status_NOT_HELD))
	}
}

// takeBack takes back a grant that reached no client.
func (s *State) takeBack(now Time, e Undeliverable, o *Outcome) {
	if s.image.Held() && s.image.Grant.GetToken() == uint64(e.Token) && s.doubted == e.Token {
		s.end(now, messages.Event_RELEASED, "the client was gone", o)
	}
}
