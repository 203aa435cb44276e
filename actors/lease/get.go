package lease

import "github.com/holdfast-io/holdfast/messages"

func (s *State) get(now Time, e Get, o *Outcome) {
	r := s.reply(messages.Status_FREE)
	switch token := messages.Token(s.image.Grant.GetToken()); {
	case s.image.Held():
		r = s.replyHeld(now, messages.Status_HELD)
	case token > 0 && token == s.image.Token(): // behind a floor, nothing is known of the last one
		r.Lease = &messages.Lease{
			Resource: s.resource, Token: uint64(token), Fence: token.String(),
		}
	}
	o.Answers = append(o.Answers, Answer{To: e.From, Reply: r, Stale: e.Request.GetStale()})
}
