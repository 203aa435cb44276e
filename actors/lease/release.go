package lease

import (
	"fmt"

	"github.com/holdfast-io/holdfast/messages"
)

func release(t *turn, e Release) {
	r := e.Request
	who := newCaller(r.GetOwner(), r.GetSecret())
	if w, ok := t.queue.take(who, r.GetRequestId()); ok {
		t.past.withdraw(t.now.Instant, &t.image, caller{who.owner, w.request.GetSecretHash()}, r.GetRequestId())
		t.answerWaiter(w.from, t.reply(messages.Status_CANCELLED))
		t.answer(e.From, t.reply(messages.Status_CANCELLED))
		t.serve() // it may have been the head
		return
	}
	if r.GetRequestId() != "" && r.GetToken() == 0 {
		releaseRequest(t, who, e)
		return
	}
	t.past.withdraw(t.now.Instant, &t.image, who, r.GetRequestId())
	h, ok := t.image.own(who, r.GetToken())
	if !ok {
		t.answer(e.From, notOwn(t, who, r.GetToken(), messages.Status_RELEASED))
		return
	}
	t.finish(h, messages.Event_RELEASED, "")
	t.answer(e.From, t.reply(messages.Status_RELEASED))
}

// releaseRequest releases the lease of one request, whatever else its owner holds. A request that is
// not known may be on its way yet: it is not granted any more.
func releaseRequest(t *turn, who caller, e Release) {
	id := e.Request.GetRequestId()
	status := messages.Status_NOT_HELD
	if h, ok := t.image.granted(who, id); ok { // mutant: ReleaseOfARequestReleasesAnother
		t.withdraw(h, "")
		status = messages.Status_RELEASED
	} else if past, ok := t.past.recallRelease(&t.image, who, id); ok && past.granted() {
		status = past.status()
	} else {
		t.past.withdraw(t.now.Instant, &t.image, who, id)
	}
	t.answer(e.From, t.reply(status))
}

// notOwn says why [Image.own] has found no lease: how it has ended, if that is known, else first the owner counts, then
// the token. released is the answer of a lease that was released.
func notOwn(t *turn, who caller, token uint64, released messages.Status) *messages.Reply {
	switch how, known := t.past.howEnded(&t.image, who, token); {
	case known && how == messages.Event_RELEASED:
		return t.reply(released)
	case known && how != messages.Event_KIND_UNSPECIFIED:
		return t.reply(messages.Status_EXPIRED)
	case !t.image.Held():
		return t.reply(messages.Status_NOT_HELD)
	}
	var own Lease
	n := 0
	for h := range t.image.Holdings() {
		if who.owns(h.Grant) {
			own, n = h, n+1
		}
	}
	switch {
	case n == 0:
		return t.notOwner()
	case token != 0:
		return t.replyLease(messages.Status_STALE_TOKEN, own)
	default:
		return invalid(messages.Invalid("token", fmt.Sprintf("that of one of the %d leases that the owner holds", n),
			"0"))
	}
}
