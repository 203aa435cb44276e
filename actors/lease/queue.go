package lease

import (
	"fmt"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/holdfast-io/holdfast/messages"
)

// waiter is an acquire request in the queue.
type waiter struct {
	request *messages.AcquireRequest
	from    messages.ReplyTo
	// since and until are the begin and the end of the wait.
	since, until Instant
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
	return slices.IndexFunc(q.waiters, func(w waiter) bool {
		return w.request.GetRequestId() == requestID && w.request.GetOwner() == owner
	})
}

// take removes the request of this caller and id.
func (q *queue) take(who caller, requestID string) (waiter, bool) {
	i := q.find(who.owner, requestID)
	if i < 0 || !who.opens(q.waiters[i].request.GetSecretHash()) {
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

// wait puts the request into the queue if it wants to wait.
func (s *State) wait(now Time, who caller, e Acquire, o *Outcome) {
	switch place := s.queue.find(who.owner, e.Request.GetRequestId()); {
	case s.isAnothers(who, e.Request):
		o.answer(e.From, s.notOwner(now))
	case e.Request.GetWaitMs() == 0:
		o.answer(e.From, s.replyTaken(now))
	case place >= 0:
		s.waitOn(now, place, e, o)
	default:
		s.waitAnew(now, e, o)
	}
}

// isAnothers reports whether a request of this owner and id waits that has a secret which the caller does not have.
func (s *State) isAnothers(who caller, r *messages.AcquireRequest) bool {
	place := s.queue.find(who.owner, r.GetRequestId())
	return place >= 0 && !who.opens(s.queue.waiters[place].request.GetSecretHash())
}

func newWaiter(now Time, e Acquire) waiter {
	return waiter{request: e.Request, from: e.From, since: now.Instant, until: now.Add(ttl(e.Request.GetWaitMs()))}
}

// waitOn puts a repetition into the place of the request. The answer then goes to the newer sender, with the origin of the
// request.
func (s *State) waitOn(now Time, place int, e Acquire, o *Outcome) {
	s.openSession(now, e.Request)
	w := newWaiter(now, e)
	w.since, w.from.Origin = s.queue.waiters[place].since, s.queue.waiters[place].from.Origin
	s.queue.waiters[place] = w
	s.queue.bound = min(s.queue.bound, w.until)
	s.serve(now, o) // it may ask for less than before
}

// waitAnew puts the request at the end of the queue, if there is room.
func (s *State) waitAnew(now Time, e Acquire, o *Outcome) {
	switch {
	case e.NoWait != "":
		o.answer(e.From, s.overloaded(e.NoWait))
	case s.Waiting() >= e.MaxWaiting:
		o.answer(e.From, s.overloaded(fmt.Sprintf(
			"resource %q: %d requests wait already, the most that may", s.name(), e.MaxWaiting)))
	default:
		s.openSession(now, e.Request)
		s.queue.push(newWaiter(now, e))
	}
}

// openSession opens the session of a request that waits, if it is not known.
func (s *State) openSession(now Time, r *messages.AcquireRequest) {
	if r.GetSession() != "" {
		x := s.sessions.enter(now.Instant, r.GetSession(), r.GetTtlMs(), r.GetSecretHash())
		s.sessions.rest(now.Add(ttl(r.GetWaitMs())), x)
	}
}

// timeOut ends the waits that have run out, and reports whether there were any.
func (s *State) timeOut(now Time, o *Outcome) (some bool) {
	due := s.queue.takeDue(now.Instant)
	for _, w := range due {
		r := s.reply(messages.Status_TIMEOUT)
		for h := range s.image.Holdings() {
			if s.sessions.Deadline(h) > now.Instant { // else it ends in this turn
				r.Lease = s.sessions.Lease(h, now.Instant)
				break
			}
		}
		o.answerWaiter(w.from, r)
	}
	return len(due) > 0
}

// surrender gives all who wait back. A part of a millisecond that is left of a wait counts as a whole
// one: no wait ends early, and none becomes a request that does not want to wait.
func (s *State) surrender(now Time, o *Outcome) {
	for _, w := range s.queue.takeDue(Never) {
		left := w.until.Sub(now.Instant) + time.Millisecond - 1
		r := proto.CloneOf(w.request)
		r.WaitMs = uint32(left.Milliseconds())
		o.Surrendered = append(o.Surrendered, Acquire{Request: r, From: w.from})
	}
}

// dismiss sends away all who wait. They were promised nothing.
func (s *State) dismiss(e Dismiss, o *Outcome) {
	for _, w := range s.queue.takeDue(Never) {
		r := s.reply(messages.Status_UNAVAILABLE)
		r.Error = e.Why
		o.answerWaiter(w.from, r)
	}
}
