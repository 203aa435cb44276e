package lease

import (
	"cmp"
	"slices"
	"strings"

	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/journal"
)

// The reasons for which a resource is no longer held back, unless that was confirmed.
const (
	delayOver = "the delay is over"
	restOver  = "the shortest hold is over"
	takenBack = "taken back by its owner"
)

// confirmLoss ends what an ended lease holds back. Of a lost one, what is left of its shortest hold stays.
func confirmLoss(t *turn, e Confirm) {
	token := messages.Token(e.Request.GetToken())
	ended, ok := t.image.FindEnded(token) // mutant: ConfirmationOfAnotherToken
	switch {
	case ok && ended.How == messages.Event_CONFIRMED: // a repetition
		t.answer(e.From, t.reply(messages.Status_RELEASED))
	case ok:
		left := uint32(0)
		if ended.isLost() {
			left = ended.restLeft(t.now.Instant)
		}
		endHold(t, ended, reasonOf(e.Request), left)
		t.serve()
		t.answer(e.From, t.reply(messages.Status_RELEASED))
	case t.image.endedAs(token, messages.Event_CONFIRMED), t.image.hasRested(token):
		t.answer(e.From, t.reply(messages.Status_RELEASED))
	case t.image.HeldBack():
		r := t.reply(messages.Status_STALE_TOKEN)
		ended, _ = t.image.firstEnded()
		r.Lease = ended.Loss(t.now.Instant)
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

// endHold ends what one ended lease holds back, but for so many milliseconds that are left of its shortest hold. Its
// request stays known, also if the lease ended before the shard was opened.
func endHold(t *turn, l Lease, reason string, restMs uint32) {
	t.past.keep(t.now.Instant, l)
	t.apply(t.now.Instant, nil,
		&journal.Change{Kind: messages.Event_CONFIRMED, Grant: l.Grant, Reason: reason, RestingMs: restMs})
}

// endDelays ends what ended leases hold back whose time is over, and reports whether there were any.
func endDelays(t *turn) (some bool) {
	for _, l := range slices.Collect(t.image.Ended()) {
		if l.Deadline <= t.now.Instant {
			reason := delayOver
			if l.rests() && l.Rest == l.Deadline {
				reason = restOver
			}
			endHold(t, l, reason, 0)
			some = true
		}
	}
	return some
}

// takesBack reports whether a request takes back what its owner has lost: all lost leases of the resource are its own,
// no loss is to be confirmed, the resource does not rest, and nothing else keeps the request from being granted.
func takesBack(t *turn, who caller, e Acquire) bool {
	if !t.image.HeldBack() || e.NoGrant != "" || t.refusedTokens(blockOf(e.Request.GetTokens())) != nil ||
		t.queue.isAnothers(who, e.Request) {
		return false
	}
	if fullOf(t.name(), t.image.Holders(), t.image.Weight()-t.image.endedWeight()) != "" {
		return false
	}
	for l := range t.image.Ended() {
		if l.Grant.GetConfirm() || l.Rest > t.now.Instant || !who.owns(l.Grant) {
			return false
		}
	}
	return t.image.fitsBeside(e.Request.GetLimit(), permitsOf(e.Request))
}

// takeBack grants the resource to the owner that has lost it, before all who wait.
func takeBack(t *turn, who caller, e Acquire) {
	t.queue.take(who, e.Request.GetRequestId()) // else it would be granted once more
	for _, l := range slices.Collect(t.image.Ended()) {
		endHold(t, l, takenBack, 0)
	}
	t.grant(e.Request, e.From, false)
	t.serve() // others may fit beside it
}
