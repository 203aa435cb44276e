package lease

import (
	"fmt"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/holdfast-io/holdfast/messages"
)

// wait puts the request into the queue if it wants to wait.
func wait(t *turn, who caller, e Acquire) {
	switch place := t.queue.find(who.owner, e.Request.GetRequestId()); {
	case t.queue.isAnothers(who, e.Request):
		t.answer(e.From, t.notOwner())
	case e.Request.GetWaitMs() == 0:
		refuseHeld(t, e.From)
	case place >= 0:
		waitOn(t, place, e)
	default:
		waitAnew(t, e)
	}
}

// waitOn puts a repetition into the place of the request. The answer then goes to the newer sender, with the origin of
// the request.
func waitOn(t *turn, place int, e Acquire) {
	openSession(t, e.Request)
	w := newWaiter(t.now, e)
	w.since, w.from.Origin = t.queue.waiters[place].since, t.queue.waiters[place].from.Origin
	t.queue.waiters[place] = w
	t.queue.bound = min(t.queue.bound, w.until)
	t.serve() // it may ask for less than before
}

// waitAnew puts the request at the end of the queue, if there is room.
func waitAnew(t *turn, e Acquire) {
	switch {
	case e.NoWait != "":
		t.answer(e.From, t.overloaded(e.NoWait))
	case t.Waiting() >= e.MaxWaiting:
		t.answer(e.From, t.overloaded(fmt.Sprintf(
			"resource %q: %d requests wait already, the most that may", t.name(), e.MaxWaiting)))
	default:
		openSession(t, e.Request)
		t.queue.push(newWaiter(t.now, e))
	}
}

// openSession opens the session of a request that waits, if it is not known.
func openSession(t *turn, r *messages.AcquireRequest) {
	if r.GetSession() != "" {
		x := t.sessions.enter(t.now.Instant, r.GetSession(), r.GetTtlMs(), r.GetSecretHash())
		t.sessions.rest(t.now.Add(ttl(r.GetWaitMs())), x)
	}
}

// timeOut ends the waits that have run out, and reports whether there were any.
func timeOut(t *turn) (some bool) {
	due := t.queue.takeDue(t.now.Instant)
	for _, w := range due {
		r := t.reply(messages.Status_TIMEOUT)
		for h := range t.image.Holdings() {
			if t.sessions.Deadline(h) > t.now.Instant { // else it ends in this turn
				r.Lease = t.sessions.Lease(h, t.now.Instant)
				break
			}
		}
		t.answerWaiter(w.from, r)
	}
	return len(due) > 0
}

// surrender gives all who wait back. A part of a millisecond that is left of a wait counts as a whole
// one: no wait ends early, and none becomes a request that does not want to wait.
func surrender(t *turn) {
	for _, w := range t.queue.takeDue(Never) {
		left := w.until.Sub(t.now.Instant) + time.Millisecond - 1
		r := proto.CloneOf(w.request)
		r.WaitMs = uint32(left.Milliseconds())
		t.out.Surrendered = append(t.out.Surrendered, Acquire{Request: r, From: w.from})
	}
}

// dismiss sends away all who wait. They were promised nothing.
func dismiss(t *turn, e Dismiss) {
	for _, w := range t.queue.takeDue(Never) {
		r := t.reply(messages.Status_UNAVAILABLE)
		r.Error = e.Why
		t.answerWaiter(w.from, r)
	}
}
