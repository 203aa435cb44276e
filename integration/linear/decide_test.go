package linear_test

import (
	"slices"

	"github.com/holdfast-io/holdfast/messages"
)

// decide is the service: it answers a sending of a request, or queues it.
func (w *world) decide(q *asking, sending int) {
	if w.pool != nil {
		w.pool.decide(q, sending)
		return
	}
	if w.before.token > 0 && q.Kind == messages.OpGet && w.plant(staleOwnerGoesOn, 30) {
		w.show(q, sending, &w.before)
		return
	}
	switch q.Kind {
	case messages.OpAcquire:
		w.acquire(q, sending)
	case messages.OpRelease, messages.OpExtend:
		w.use(q, sending)
	case messages.OpBreak:
		w.breakLease(q, sending)
	case messages.OpGet:
		w.show(q, sending, &w.lock)
	}
}

func (w *world) show(q *asking, sending int, l *lock) {
	if l.held() {
		w.answer(q, sending, messages.Status_HELD, l.owner, l.token)
	} else {
		w.answer(q, sending, messages.Status_FREE, "", l.token)
	}
}

// refuse answers with the present lease.
func (w *world) refuse(q *asking, sending int, status messages.Status) {
	token := w.token
	if w.plant(wrongTokenShown, 20) {
		token--
	}
	w.answer(q, sending, status, w.owner, token)
}

func (w *world) acquire(q *asking, sending int) {
	mine := w.held() && w.owner == q.Owner
	over, known := w.ended[[2]string{q.Owner, q.RequestID}]
	switch {
	case known && !w.plant(lateCopyGranted, 50):
		w.answer(q, sending, over.how, q.Owner, over.token)
	case !w.held(), !mine && w.plant(grantedWhileHeld, 5),
		mine && w.request == q.RequestID && w.plant(grantedAgain, 50):
		w.grant(q, sending)
	case mine && q.Reentrant:
		if due := w.now + ms(q.TTL); due > w.due {
			w.ttl = q.TTL
			w.change(messages.Event_EXTENDED, "")
			w.run(q.TTL)
		}
		w.answer(q, sending, messages.Status_GRANTED, w.owner, w.token)
	case mine && w.request == q.RequestID:
		w.answer(q, sending, messages.Status_GRANTED, w.owner, w.token)
	case q.Wait == 0:
		w.refuse(q, sending, messages.Status_HELD)
	default:
		w.enqueue(q, sending)
	}
}

func (w *world) enqueue(q *asking, sending int) {
	q.heard, q.until = sending, w.now+ms(q.Wait)
	if !slices.Contains(w.queue, q) {
		w.queue = append(w.queue, q)
	}
	until := q.until
	w.in(ms(q.Wait), func() {
		if i := slices.Index(w.queue, q); i >= 0 && q.until == until {
			w.queue = slices.Delete(w.queue, i, i+1)
			w.answer(q, sending, messages.Status_TIMEOUT, "", 0)
		}
	})
}

func (w *world) use(q *asking, sending int) {
	if i := slices.IndexFunc(w.queue, func(a *asking) bool {
		return q.RequestID != "" && a.RequestID == q.RequestID && a.Owner == q.Owner
	}); i >= 0 {
		waiting := w.queue[i]
		w.queue = slices.Delete(w.queue, i, i+1)
		w.ended[[2]string{q.Owner, q.RequestID}] = past{how: messages.Status_CANCELLED}
		w.answer(waiting, waiting.heard, messages.Status_CANCELLED, "", 0)
		w.answer(q, sending, messages.Status_CANCELLED, "", 0)
		return
	}
	if q.Kind == messages.OpRelease && q.RequestID != "" && q.Token == 0 {
		w.releaseRequest(q, sending)
		return
	}
	last := w.token > 0 && w.owner == q.Owner && (q.Token == 0 || q.Token == w.token)
	taken := w.end == messages.Event_EXPIRED || w.end == messages.Event_BROKEN
	switch {
	case !w.held() && last && taken && q.Kind == messages.OpExtend && w.plant(expiredExtended, 100):
		w.extend(q, sending)
	case !w.held() && last && taken:
		w.answer(q, sending, messages.Status_EXPIRED, "", 0)
	case !w.held() && last && q.Kind == messages.OpRelease && w.end == messages.Event_RELEASED:
		w.answer(q, sending, messages.Status_RELEASED, "", 0)
	case !w.held():
		w.answer(q, sending, messages.Status_NOT_HELD, "", 0)
	case w.owner != q.Owner, last && w.plant(falseNotOwner, 20):
		w.refuse(q, sending, messages.Status_NOT_OWNER)
	case !last:
		w.refuse(q, sending, messages.Status_STALE_TOKEN)
	case q.Kind == messages.OpExtend:
		w.extend(q, sending)
	default:
		w.release(q, sending)
	}
}

func (w *world) releaseRequest(q *asking, sending int) {
	id := [2]string{q.Owner, q.RequestID}
	over, known := w.ended[id]
	switch {
	case w.held() && w.owner == q.Owner && (w.request == q.RequestID || w.plant(releasedAnother, 100)):
		w.release(q, sending)
	case known && over.token > 0:
		w.answer(q, sending, over.how, "", 0)
	default:
		w.ended[id] = past{how: messages.Status_CANCELLED}
		w.answer(q, sending, messages.Status_NOT_HELD, "", 0)
	}
}

func (w *world) extend(q *asking, sending int) {
	if w.plant(extendForgotten, 50) { // the lease goes on as it was
		w.answer(q, sending, messages.Status_EXTENDED, w.owner, w.token)
		return
	}
	if q.Order > 0 && q.Order < w.order && !w.plant(lateCounted, 100) {
		w.answer(q, sending, messages.Status_EXTENDED, w.owner, w.token)
		return
	}
	w.end, w.ttl, w.order = messages.Event_ACQUIRED, q.TTL, max(w.order, q.Order)
	w.change(messages.Event_EXTENDED, "")
	w.run(q.TTL)
	w.answer(q, sending, messages.Status_EXTENDED, w.owner, w.token)
}

func (w *world) release(q *asking, sending int) {
	if !w.plant(releaseForgotten, 20) {
		w.finish(messages.Event_RELEASED, "")
	}
	w.answer(q, sending, messages.Status_RELEASED, "", 0)
}

func (w *world) breakLease(q *asking, sending int) {
	current := q.Token == w.token
	switch {
	case w.held() && (current || w.plant(brokeAnother, 100)):
		w.finish(messages.Event_BROKEN, q.Reason)
		w.answer(q, sending, messages.Status_RELEASED, "", 0)
	case w.held():
		w.refuse(q, sending, messages.Status_STALE_TOKEN)
	case current && w.end == messages.Event_BROKEN:
		w.answer(q, sending, messages.Status_RELEASED, "", 0)
	default:
		w.answer(q, sending, messages.Status_NOT_HELD, "", 0)
	}
}

// bug is what is planted in a world.
type bug string

const (
	none                 bug = ""
	tokenReused          bug = "token reused"
	ttlHalved            bug = "TTL halved"
	expiredEarly         bug = "expired early"
	grantedWhileHeld     bug = "granted while held"
	grantedTwice         bug = "granted to two who wait"
	grantedAgain         bug = "request granted a second time"
	answeredBeforeAppend bug = "answered before an append that was lost"
	expiredExtended      bug = "expired lease extended"
	extendForgotten      bug = "extension forgotten"
	releaseForgotten     bug = "release forgotten"
	wrongTokenShown      bug = "wrong token shown"
	falseNotOwner        bug = "holder answered that it is not the owner"
	brokeAnother         bug = "broke another lease than was meant"
	staleOwnerGoesOn     bug = "stale owner goes on"
	lateCopyGranted      bug = "late copy of a request granted"
	releasedAnother      bug = "released the lease of another request"
	lateCounted          bug = "late extension counted"

	writerBesideReaders bug = "writer let in beside a reader"
	readerOvertakes     bug = "reader overtakes a waiting writer"
	permitKept          bug = "permit not given back"
	phaseKept           bug = "phase does not move on"
	phaseSplit          bug = "phase moves on beside a holder"
	slotGivenTwice      bug = "slot given twice"
	limitForgotten      bug = "limit of a holder forgotten"
	downgradeKeepsToken bug = "downgrade keeps the token"
	downgradeForgotten  bug = "downgrade forgotten"
	downgradeOfMany     bug = "downgraded beside others"
	holderLeftOut       bug = "holder left out of an answer"
	holderLost          bug = "holder forgotten by a new owner"
)

// plant reports whether the bug shows now, in that percentage of cases.
func (w *world) plant(b bug, percent int) bool {
	if w.bug != b || !w.chance(percent) {
		return false
	}
	w.fired++
	return true
}
