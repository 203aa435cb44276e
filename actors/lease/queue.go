package lease

import (
	"fmt"
	"slices"
	"time"

	"github.com/holdfast-io/holdfast/messages"
)

// waiter is an acquire request in the queue.
type waiter struct {
	request *messages.AcquireRequest
	from    messages.ReplyTo
	// since and until are the begin and the end of the wait.
	since, until Instant
}

func (w *waiter) is(owner, requestID string) bool {
	return w.request.GetRequestId() == requestID && w.request.GetOwner() == owner
}

// queue holds the waiting requests, first come first served.
type queue struct {
	waiters []waiter
	// bound is no later than the earliest end of a wait, so that most steps need not look.
	bound Instant
}

func (q *queue) soonest() Instant {
	if len(q.waiters) == 0 {
		return Never
	}
	return q.bound
}

func (q *queue) push(w waiter) {
	q.bound = min(q.soonest(), w.until)
	q.waiters = append(q.waiters, w)
}

// first returns the request that has waited longest, nil if none waits.
func (q *queue) first() *waiter {
	if len(q.waiters) == 0 {
		return nil
	}
	return &q.waiters[0]
}

// pop removes the first request.
func (q *queue) pop() {
	q.waiters[0] = waiter{} // let go of the request
	q.waiters = q.waiters[1:]
}

// find returns the place of the request of this owner and id, or -1. A request without an id is
// the same as no other.
func (q *queue) find(owner, requestID string) int {
	if requestID == "" {
		return -1
	}
	return slices.IndexFunc(q.waiters, func(w waiter) bool { return w.is(owner, requestID) })
}

// take removes the request of this owner and id.
func (q *queue) take(owner, requestID string) (waiter, bool) {
	i := q.find(owner, requestID)
	if i < 0 {
		return waiter{}, false
	}
	w := q.waiters[i]
	q.waiters = slices.Delete(q.waiters, i, i+1)
	return w, true
}

// takeDue removes all whose wait has run out, in their order.
func (q *queue) takeDue(now Instant) []waiter {
	if q.soonest() > now {
		return nil
	}
	var due []waiter
	q.bound = Never
	q.waiters = slices.DeleteFunc(q.waiters, func(w waiter) bool {
		if w.until <= now {
			due = append(due, w)
			return true
		}
		q.bound = min(q.bound, w.until)
		return false
	})
	return due
}

// wait puts the request into the queue. A repetition keeps its place; the answer then goes to the
// newer sender.
func (s *State) wait(now Time, e Acquire, o *Outcome) {
	w := waiter{request: e.Request, from: e.From, since: now.Instant, until: now.Add(ttl(e.Request.GetWaitMs()))}
	if i := s.queue.find(e.Request.GetOwner(), e.Request.GetRequestId()); i >= 0 {
		s.openSession(now, e.Request)
		w.since = s.queue.waiters[i].since
		s.queue.waiters[i] = w
		s.queue.bound = min(s.queue.bound, w.until)
		s.serve(now, o) // it may ask for less than before
		return
	}
	switch {
	case e.NoWait != "":
		o.answer(e.From, s.overloaded(e.NoWait))
	case s.Waiting() >= e.MaxWaiting:
		o.answer(e.From, s.overloaded(fmt.Sprintf(
			"resource %q: %d requests wait already, the most that may", s.resource, e.MaxWaiting)))
	default:
		s.openSession(now, e.Request)
		s.queue.push(w)
	}
}

// openSession opens the session of a request that waits, if it is not known.
func (s *State) openSession(now Time, r *messages.AcquireRequest) {
	if r.GetSession() != "" {
		s.sessions.enter(now.Instant, r)
	}
}

// timeOut ends the waits that have run out, and reports whether there were any.
func (s *State) timeOut(now Time, o *Outcome) (some bool) {
	due := s.queue.takeDue(now.Instant)
	for _, w := range due {
		o.answer(w.from, s.reply(messages.Status_TIMEOUT))
	}
	return len(due) > 0
}

// surrender gives all who wait back. A part of a millisecond that is left of a wait counts as a whole
// one: no wait ends early, and none becomes a request that does not want to wait.
func (s *State) surrender(now Time, o *Outcome) {
	for _, w := range s.queue.takeDue(Never) {
		left := w.until.Sub(now.Instant) + time.Millisecond - 1
		o.Surrendered = append(o.Surrendered, Acquire{
			Request: &messages.AcquireRequest{
				Owner:      w.request.GetOwner(),
				TtlMs:      w.request.GetTtlMs(),
				WaitMs:     uint32(left.Milliseconds()),
				RequestId:  w.request.GetRequestId(),
				Durability: w.request.GetDurability(),
				Reentrant:  w.request.GetReentrant(),
				Metadata:   w.request.GetMetadata(),
				Limit:      w.request.GetLimit(),
				Permits:    w.request.GetPermits(),
				DelayMs:    w.request.GetDelayMs(),
				Confirm:    w.request.GetConfirm(),
				Session:    w.request.GetSession(),
				SecretHash: w.request.GetSecretHash(),
				Secret:     w.request.GetSecret(),
			},
			From: w.from,
		})
	}
}

// dismiss sends away all who wait. They were promised nothing.
func (s *State) dismiss(e Dismiss, o *Outcome) {
	for _, w := range s.queue.takeDue(Never) {
		r := s.reply(messages.Status_UNAVAILABLE)
		r.Error = e.Why
		o.answer(w.from, r)
	}
}
