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
func (s *State) confirmLoss(now Time, e Confirm, o *Outcome) {
	token := messages.Token(e.Request.GetToken())
	lost, ok := s.image.FindLost(token)
	switch {
	case ok:
		s.endHold(now, lost, reasonOf(e.Request), o)
		s.serve(now, o)
		o.answer(e.From, s.reply(messages.Status_RELEASED))
	case s.image.endedAs(token, messages.Event_CONFIRMED):
		o.answer(e.From, s.reply(messages.Status_RELEASED))
	case s.image.HeldBack():
		r := s.reply(messages.Status_STALE_TOKEN)
		lost, _ = s.image.firstLost()
		r.Lease = lost.Loss(now.Instant)
		o.answer(e.From, r)
	case s.image.Held():
		o.answer(e.From, s.replyLease(now, messages.Status_STALE_TOKEN, s.image.first()))
	default:
		o.answer(e.From, s.reply(messages.Status_NOT_HELD))
	}
}

// reasonOf returns what the event says of a confirmation: who confirmed, and how the holder was stopped.
func reasonOf(r *messages.ConfirmRequest) string {
	said := slices.DeleteFunc([]string{r.GetBy(), r.GetHow()}, func(word string) bool { return word == "" })
	return cmp.Or(strings.Join(said, ": "), "confirmed")
}

// endHold ends what one lost lease holds back. Its request stays known, also if it was lost before the shard was opened.
func (s *State) endHold(now Time, l Lease, reason string, o *Outcome) {
	if !s.past.remembers(l.Grant) {
		s.past.End(now.Instant, l.Grant, l.How)
	}
	s.apply(now, nil, &journal.Change{Kind: messages.Event_CONFIRMED, Grant: l.Grant, Reason: reason}, o)
}

// endDelays ends what lost leases hold back whose delay is over, and reports whether there were any.
func (s *State) endDelays(now Time, o *Outcome) (some bool) {
	if !s.image.HeldBack() {
		return false
	}
	for _, l := range slices.Collect(s.image.Lost()) {
		if l.Deadline <= now.Instant {
			s.endHold(now, l, delayOver, o)
			some = true
		}
	}
	return some
}

// takesBack reports whether a request takes back what its owner has lost: all lost leases of the resource are its own,
// no loss is to be confirmed, and nothing else keeps the request from being granted.
func (s *State) takesBack(who caller, e Acquire) bool {
	if !s.image.HeldBack() || e.NoGrant != "" || s.image.Token() >= messages.MaxToken || s.isAnothers(who, e.Request) {
		return false
	}
	if s.fullOf(s.image.Holders(), s.image.Weight()-s.image.lostWeight()) != "" {
		return false
	}
	for l := range s.image.Lost() {
		if l.Grant.GetConfirm() || !who.owns(l.Grant) {
			return false
		}
	}
	return s.image.fitsBeside(e.Request.GetLimit(), permitsOf(e.Request))
}

// takeBack grants the resource to the owner that has lost it, before all who wait.
func (s *State) takeBack(now Time, who caller, e Acquire, o *Outcome) {
	s.queue.take(who, e.Request.GetRequestId()) // else it would be granted once more
	for _, l := range slices.Collect(s.image.Lost()) {
		s.endHold(now, l, takenBack, o)
	}
	s.grant(now, e.Request, e.From, false, o)
	s.serve(now, o) // others may fit beside it
}
