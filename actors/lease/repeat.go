package lease

import "github.com/holdfast-io/holdfast/messages"

// over returns the answer to an acquire whose request has ended, nil if it has not: a late copy of a
// request must not take a lock for which nothing waits any more.
func (s *State) over(owner, id string) *messages.Reply {
	e, ok := s.recall(owner, id)
	switch {
	case !ok:
		return nil
	case !e.granted():
		return s.reply(messages.Status_CANCELLED)
	}
	r := s.reply(e.status())
	r.Lease = &messages.Lease{
		Resource: s.resource, Owner: owner, Token: uint64(e.token), Fence: e.fence().String(),
	}
	return r
}

// recall returns how a request has ended that was not granted one of the present leases, see [State.granted]; false if
// it has not ended, or is not remembered.
func (s *State) recall(owner, id string) (ended, bool) {
	if id == "" {
		return ended{}, false
	}
	if g := s.image.Grant; g.GetRequestId() == id && g.GetOwner() == owner {
		return newEnded(g, s.image.State), true
	}
	for _, l := range s.image.Lost() {
		if l.Grant.GetRequestId() == id && l.Grant.GetOwner() == owner {
			return newEnded(l.Grant, l.How), true
		}
	}
	return s.past.find(keyOf(s.resource, owner, id))
}

// withdraw notes that a request may not be granted if it comes yet, unless it has ended or is granted.
func (s *State) withdraw(now Time, owner, id string) {
	if id == "" {
		return
	}
	if _, held := s.granted(owner, id); held {
		return
	}
	if _, known := s.recall(owner, id); !known {
		s.past.add(now.Instant, keyOf(s.resource, owner, id), ended{})
	}
}

// granted reports whether the request had a lease; else it was withdrawn.
func (e ended) granted() bool { return e.how != messages.Event_KIND_UNSPECIFIED }

// status is what a request is answered whose lease has ended.
func (e ended) status() messages.Status {
	if e.how == messages.Event_RELEASED {
		return messages.Status_RELEASED
	}
	return messages.Status_EXPIRED
}
