package lease

import (
	"hash/maphash"
	"slices"

	"github.com/holdfast-io/holdfast/messages"
)

// waiter is an acquire request in the queue.
type waiter struct {
	request *messages.AcquireRequest
	from    messages.ReplyTo
	// digest is that of the owner and the id: a search reads the requests only where it matches.
	digest uint64
	// since and until are the begin and the end of the wait.
	since, until Instant
}

func newWaiter(now Time, e Acquire) waiter {
	r := e.Request
	return waiter{
		request: r, from: e.From, digest: digestOf(r.GetOwner(), r.GetRequestId()),
		since: now.Instant, until: now.Add(ttl(r.GetWaitMs())),
	}
}

// digestSeed differs in each process, so that no client can choose requests with the same digest.
var digestSeed = maphash.MakeSeed()

func digestOf(owner, requestID string) uint64 {
	return maphash.Comparable(digestSeed, [2]string{owner, requestID})
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
	digest := digestOf(owner, requestID)
	for i := range q.waiters { // by index, since a waiter is large
		if w := &q.waiters[i]; w.digest == digest && w.request.GetRequestId() == requestID &&
			w.request.GetOwner() == owner {
			return i
		}
	}
	return -1
}

// take removes the request of this caller and id.
func (q *queue) take(who caller, requestID string) (waiter, bool) {
	i := q.find(who.owner, requestID)
	if i < 0 || !who.opens(q.waiters[i].request.GetSecretHash()) { // mutant: WithdrawalWithoutItsSecret
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

// isAnothers reports whether a request of this owner and id waits that has a secret which the caller does not have.
func (q *queue) isAnothers(who caller, r *messages.AcquireRequest) bool {
	place := q.find(who.owner, r.GetRequestId())
	// mutant: SecretOfAWaitingRequestNotChecked
	return place >= 0 && !who.opens(q.waiters[place].request.GetSecretHash())
}

// maxShown is how many holders, and how many waiting requests, an answer shows.
const maxShown = 100

// shown returns the waiting requests at now in their order, at most 100.
func (q *queue) shown(now Time) (all []*messages.Waiter) {
	for _, w := range q.waiters[:min(len(q.waiters), maxShown)] {
		all = append(all, &messages.Waiter{
			Owner: w.request.GetOwner(), Limit: w.request.GetLimit(), Permits: uint32(permitsOf(w.request)),
			WaitingMs: millis(now.Sub(w.since)), LeftMs: millis(w.until.Sub(now.Instant)),
		})
	}
	return all
}
