package lease

import "github.com/holdfast-io/holdfast/messages"

// over returns the answer to an acquire whose request has ended, nil if it has not: a late copy of a
// request must not take a lock for which nothing waits any more.
func (s *State) over(now Time, r *messages.AcquireRequest) *messages.Reply {
	e, ok, proved := s.recallAcquire(r)
	switch {
	case !ok:
		return nil
	case !e.granted():
		return s.reply(messages.Status_CANCELLED)
	case !proved:
		return s.notOwner(now)
	}
	reply := s.reply(e.status())
	reply.Lease = &messages.Lease{
		Resource: s.name(), Owner: r.GetOwner(), Token: uint64(e.token), Fence: e.fence().String(),
	}
	return reply
}

// recallAcquire returns how the request of an acquire has ended, see [State.recall], and reports whether the sender has
// its secret. A copy without the secret is known by the hash, a repetition without the hash by the secret.
func (s *State) recallAcquire(r *messages.AcquireRequest) (e ended, ok, proved bool) {
	who, id := requester(r), r.GetRequestId()
	if e, ok = s.recall(caller{who.owner, r.GetSecretHash()}, id); !ok && len(r.GetSecretHash()) == 0 && len(who.hash) > 0 {
		e, ok = s.recall(who, id)
	}
	return e, ok, who.opens(r.GetSecretHash())
}

// recallRelease returns how the request of a release has ended: the caller's, or one that has no secret.
func (s *State) recallRelease(who caller, id string) (e ended, ok bool) {
	if e, ok = s.recall(who, id); !ok && len(who.hash) > 0 {
		e, ok = s.recall(caller{owner: who.owner}, id)
	}
	return e, ok
}

// recall returns how a request with the caller's hash has ended that was not granted one of the present leases, see
// [State.granted]; false if it has not ended, or is not remembered.
func (s *State) recall(who caller, id string) (ended, bool) {
	if id == "" {
		return ended{}, false
	}
	if last := s.image.Last(); last.Grant.GetRequestId() == id && who.is(last.Grant) {
		return newEnded(last.Grant, last.How), true
	}
	for l := range s.image.Lost() {
		if l.Grant.GetRequestId() == id && who.is(l.Grant) {
			return newEnded(l.Grant, l.How), true
		}
	}
	return s.past.find(keyOf(s.resource, who, id))
}

// withdraw notes that a request of the caller may not be granted if it comes yet, unless it has ended or is granted.
// Nothing that others do without its secret stands in the way.
func (s *State) withdraw(now Time, who caller, id string) {
	if id == "" {
		return
	}
	if _, held := s.granted(who, id); held {
		return
	}
	if _, known := s.recall(who, id); !known {
		s.past.add(now.Instant, keyOf(s.resource, who, id), ended{})
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
