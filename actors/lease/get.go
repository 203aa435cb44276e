package lease

import "github.com/holdfast-io/holdfast/messages"

func (s *State) get(now Time, e Get, o *Outcome) {
	r := s.reply(messages.Status_FREE)
	last := s.image.Last()
	switch token := last.token(); {
	case !s.image.IsFree():
		r = s.replyTaken(now)
	case token > 0 && token == s.image.Token(): // behind a floor, nothing is known of the last one
		r.Lease = &messages.Lease{
			Resource: s.name(), Token: uint64(token), Fence: token.String(),
		}
	}
	if e.Request.GetWaiters() {
		r.Waiters = s.Waiters(now)
	}
	o.Answers = append(o.Answers, Answer{To: e.From, Reply: r, Stale: e.Request.GetStale()})
}

// Waiters returns the waiting requests at now in their order, at most 100.
func (s *State) Waiters(now Time) (all []*messages.Waiter) {
	for _, w := range s.queue.waiters[:min(len(s.queue.waiters), mostShown)] {
		all = append(all, &messages.Waiter{
			Owner: w.request.GetOwner(), Limit: w.request.GetLimit(), Permits: uint32(permitsOf(w.request)),
			WaitingMs: millis(now.Sub(w.since)), LeftMs: millis(w.until.Sub(now.Instant)),
		})
	}
	return all
}
