package lease

import (
	"cmp"
	"slices"
	"strings"

	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/journal"
)

// The reasons for which a resource is no longer held back, unless the loss was confirmed.
const (
	delayOver = "the delay is over"
	takenBack = "taken back by its owner"
)

// confirmLoss ends what a lost lease holds back.
func confirmLoss(t *turn, e Confirm) {
	token := messages.Token(e.Request.GetToken())
	lost, ok := t.image.FindLost(token) // mutant: ConfirmationOfAnotherToken
	switch {
	case ok:
		endHold(t, lost, reasonOf(e.Request))
		t.serve()
		t.answer(e.From, t.reply(messages.Status_RELEASED))
	case t.image.endedAs(token, messages.Event_CONFIRMED):
		t.answer(e.From, t.reply(messages.Status_RELEASED))
	case t.image.HeldBack():
		r := t.reply(messages.Status_STALE_TOKEN)
		lost, _ = t.image.firstLost()
		r.Lease = lost.Loss(t.now.Instant)
		t.answer(e.From, r)
	case t.image.Held():
		t.answer(e.From, t.replyLease(messages.Status_STALE_TOKEN, t.image.first()))
	default:
		t.answer(e.From, t.reply(messages.Status_NOT_HELD))
	}
}

// reasonOf returns what the event says of a confirmation: who confirmed, and how the holder was stopped.
func reasonOf(r *messages.ConfirmRequest) string {
	said := slices.DeleteFunc([]string{r.GetBy(), r.GetHow()}, func(word string) bool { return word == "" })
	return cmp.Or(strings.Join(said, ": "), "confirmed")
}

// endHold ends what one lost lease holds back. Its request stays known, also if it was lost before the shard was
// opened.
func endHold(t *turn, l Lease, reason string) {
	t.past.keep(t.now.Instant, l)
	t.apply(t.now.Instant, nil, &journal.Change{Kind: messages.Event_CONFIRMED, Grant: l.Grant, Reason: reason})
}

// endDelays ends what lost leases hold back whose delay is over, and reports whether there were any.
func endDelays(t *turn) (some bool) {
	for _, l := range slices.Collect(t.image.Lost()) {
		if l.Deadline <= t.now.Instant {
			endHold(t, l, delayOver)
			some = true
		}
	}
	return some
}

// takesBack reports whether a request takes back what its owner has lost: all lost leases of the resource are its own,
// no loss is to be confirmed, and nothing else keeps the request from being granted.
func takesBack(t *turn, who caller, e Acquire) bool {
	if !t.image.HeldBack() || e.NoGrant != "" || t.image.Token() >= messages.MaxToken ||
		t.queue.isAnothers(who, e.Request) {
		return false
	}
	if fullOf(t.name(), t.image.Holders(), t.image.Weight()-t.image.lostWeight()) != "" {
		return false
	}
	for l := range t.image.Lost() {
		if l.Grant.GetConfirm() || !who.owns(l.Grant) {
			return false
		}
	}
	return t.image.fitsBeside(e.Request.GetLimit(), permitsOf(e.Request))
}

// takeBack grants the resource to the owner that has lost it, before all who wait.
func takeBack(t *turn, who caller, e Acquire) {
	t.queue.take(who, e.Request.GetRequestId()) // else it would be granted once more
	for _, l := range slices.Collect(t.image.Lost()) {
		endHold(t, l, takenBack)
	}
	t.grant(e.Request, e.From, false)
	t.serve() // others may fit beside it
}
