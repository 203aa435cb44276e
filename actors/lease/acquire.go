package lease

import (
	"cmp"

	"github.com/holdfast-io/holdfast/messages"
)

func acquire(t *turn, e Acquire) {
	r := e.Request
	who := requester(r)
	if r.GetSession() != "" {
		t.noteRequest(r)
	}
	granted, isRepeated := t.image.grantedTo(r.GetOwner(), r.GetRequestId())
	if isRepeated && !who.owns(granted.Grant) { // mutant: SecretOfARepetitionNotChecked
		t.answer(e.From, t.notOwner())
		return
	}
	if !isRepeated {
		if over := t.over(r); over != nil { // mutant: EndedRequestsNotConsulted
			t.answer(e.From, over)
			return
		}
	}
	own, isHolder := t.image.reentered(who, r)
	if isRepeated && (!isHolder || otherSession(own, r) != nil) {
		t.confirm(e.From, messages.Status_GRANTED, granted)
		return
	}
	switch refusal := t.refusedSession(r.GetSession(), r.GetSecretHash()); {
	case refusal != nil:
		t.answer(e.From, refusal)
	case isHolder:
		t.queue.take(who, r.GetRequestId()) // else it would be granted once more
		reenter(t, e, own)
		t.serve() // it may have been the head
	case takesBack(t, who, e):
		takeBack(t, who, e)
	case t.Waiting() == 0 && fits(&t.image, r): // mutant: GrantWhileHeld, ReaderOvertakes
		enter(t, e)
	default:
		wait(t, who, e)
	}
}

// enter grants a request that fits, unless a limit of the resource or of the node is reached.
func enter(t *turn, e Acquire) {
	if why := cmp.Or(e.NoGrant, isFull(t.name(), &t.image)); why != "" {
		t.answer(e.From, t.overloaded(why))
		return
	}
	t.grant(e.Request, e.From, false)
}

// reenter answers a reentrant request with the lease that its owner has. A lease of a session stays as it is, another
// one is prolonged.
func reenter(t *turn, e Acquire, own Lease) {
	if err := otherSession(own, e.Request); err != nil { // mutant: LeaseMovesIntoAnotherSession
		t.answer(e.From, invalid(err))
		return
	}
	share(t, own, e.Request)
	if len(own.Grant.GetSession()) == 0 {
		own = prolong(t, own, e.Request.GetTtlMs())
	}
	t.confirm(e.From, messages.Status_GRANTED, own)
}

// share notes that a lease answers a reentrant request, which ends with it.
func share(t *turn, h Lease, r *messages.AcquireRequest) {
	if id := r.GetRequestId(); id != "" && id != h.Grant.GetRequestId() {
		t.past.shard.share(h.Grant, r)
	}
}
