package linear

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-io/holdfast/messages"
)

// state is a resource between two operations, as a lock that does one thing at a time would have it. It is not modified
// in place: the search goes back to earlier ones.
type state struct {
	// holder is that of the last grant.
	holder
	end ending
	// hold is whether the last lease, which was lost, holds the resource back, and rests whether its shortest hold need
	// not be over though it has ended.
	hold  hold
	rests bool
	// others are the earlier leases that are held, the oldest first.
	others []holder
}

// holder has a lease.
type holder struct {
	owner, request string
	token          uint64
	// tokens is how many it has, from token on; 0: one.
	tokens uint32
	// former is the token before a downgrade, 0 if there was none.
	former uint64
	sharing
	// bound: while held, the earliest moment at which the lease may run out; after that, the earliest
	// at which it ended.
	bound time.Duration
	// delay and confirm are how the resource is held back if the lease is lost; only an exclusive lease has them here.
	delay   time.Duration
	confirm bool
	// minHold is its shortest hold, 0 if it has none, and rest the earliest at which that is over.
	minHold, rest time.Duration
	// value is the metadata of the lease.
	value string
	// extends and sets are the highest numbers of its extends and sets.
	extends, sets uint64
	// session is the label of its session, empty if it is in none.
	session string
}

// last is the last token of the lease.
func (h holder) last() uint64 { return last(h.token, h.tokens) }

// has reports whether the lease has the token.
func (h holder) has(token uint64) bool { return has(h.token, h.tokens, token) }

// holdsBack reports whether the resource is held back if the lease is lost.
func (h holder) holdsBack() bool { return h.delay > 0 || h.confirm }

// hold is whether a lost lease holds its resource back, or did.
type hold uint8

const (
	noHold hold = iota
	heldBack
	holdOver
)

// ending is how the last lease ended, if it has.
type ending uint8

const (
	unused ending = iota
	held
	released
	expired
	broken
)

var endings = [...]string{"never held", "held", "released", "expired", "broken"}

func (s state) String() string {
	if s.end == unused {
		return endings[unused]
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s by %v", endings[s.end], s.holder)
	if s.hold == heldBack {
		fmt.Fprintf(&b, ", held back for %v", s.delay)
	}
	if s.rests {
		fmt.Fprintf(&b, ", rests until %v", s.rest)
	}
	for _, h := range s.others {
		fmt.Fprintf(&b, "; held by %v", h)
	}
	return b.String()
}

func (h holder) String() string {
	return fmt.Sprintf("%s, token %d%s, not before %v", h.owner, h.token,
		Shown{Token: h.token, Tokens: h.tokens, Value: h.value, Session: h.session, sharing: h.sharing}.text(), h.bound)
}

func (s state) equal(o state) bool {
	return s.holder == o.holder && s.end == o.end && s.hold == o.hold && s.rests == o.rests && slices.Equal(s.others, o.others)
}

// holders are all that hold the resource, the oldest first.
func (s state) holders() []holder {
	if s.end != held {
		return s.others
	}
	return append(s.others[:len(s.others):len(s.others)], s.holder)
}

// free reports whether the resource is neither held nor held back, and unheld whether it is not held.
func (s state) free() bool   { return s.unheld() && s.hold != heldBack && !s.rests }
func (s state) unheld() bool { return s.end != held && len(s.others) == 0 }

// find returns the lease that has a token, if it is held.
func (s state) find(token uint64) (holder, bool) {
	for _, h := range s.holders() {
		if h.has(token) {
			return h, true
		}
	}
	return holder{}, false
}

// own returns the lease that the operation names by its token, now or before a downgrade; token 0 stands for the only
// one of the owner.
func (s state) own(o *Operation) (own holder, ok bool) {
	n := 0
	for _, h := range s.holders() {
		switch {
		case h.owner != o.Owner:
		case o.Token == 0:
			own, n = h, n+1
		case o.Token == h.token || o.Token == h.former:
			return h, true
		}
	}
	return own, n == 1
}

// with puts a holder in the place of the one with its token.
func (s state) with(h holder) state {
	if s.end == held && s.token == h.token {
		s.holder = h
		return s
	}
	s.others = slices.Clone(s.others)
	for i := range s.others {
		if s.others[i].token == h.token {
			s.others[i] = h
		}
	}
	return s
}

// without is the state when the lease of a token has ended, at bound or later.
func (s state) without(token uint64, how ending, bound time.Duration) state {
	if s.token == token {
		s.end, s.bound = how, bound
		s.rests = s.minHold > 0
		if how != released && s.holdsBack() {
			s.hold = heldBack
		}
		return s
	}
	s.others = slices.DeleteFunc(slices.Clone(s.others), func(h holder) bool { return h.token == token })
	if len(s.others) == 0 {
		s.others = nil
	}
	return s
}

// shows reports whether the lease is held.
func (s state) shows(l Shown) bool {
	h, ok := s.find(l.Token)
	return ok && h.shows(l)
}

// shows reports whether it is the lease; scripts leave out how it is shared if it is not.
func (h holder) shows(l Shown) bool {
	return l.Owner == h.owner && l.Token == h.token && l.Tokens == h.tokens && l.Value == h.value && l.Session == h.session &&
		l.sharing == h.sharing
}

// isOf reports whether the last lease was the asker's. Token 0 stands for whatever it was.
func (s state) isOf(o *Operation) bool {
	return s.end != unused && o.Owner == s.owner && (o.Token == 0 || o.Token == s.token)
}

// again reports whether the acquire gets the lease back that it has: as a repetition, or reentrantly.
func (h holder) again(o *Operation) bool {
	if o.Owner != h.owner {
		return false
	}
	same := o.most() == h.most() && o.permits() == h.permits()
	same = same && (o.Session == "" || o.label() == h.session) && h.tokens == 0
	return o.Reentrant && same || o.RequestID != "" && o.RequestID == h.request
}

// again reports whether the acquire gets one of the leases back that are held.
func (s state) again(o *Operation) bool {
	return slices.ContainsFunc(s.holders(), func(h holder) bool { return h.again(o) })
}

// granted reports whether the last lease, or one that is held, was granted to the request that the operation names.
func (s state) granted(o *Operation) bool {
	return s.lastGranted(o) || slices.ContainsFunc(s.others, func(h holder) bool { return h.isFor(o) })
}

// lastGranted reports whether the last lease was granted to the request that the operation names.
func (s state) lastGranted(o *Operation) bool { return s.end != unused && s.isFor(o) }

func (h holder) isFor(o *Operation) bool {
	return o.Owner == h.owner && o.RequestID != "" && o.RequestID == h.request
}

// fits reports whether so many permits with that limit exceed neither it nor the limit of a holder.
func fits(all []holder, limit, permits uint64) bool {
	for _, h := range all {
		limit = min(limit, h.most())
		permits += h.permits()
	}
	return len(all) == 0 || permits <= limit
}

// taken are the numbers of all permits.
func taken(all []holder) (slots []uint32) {
	for _, h := range all {
		slots = append(slots, h.numbers()...)
	}
	return slots
}

// next is how a lease would be shared that is granted to the request under the token beside these.
func next(all []holder, token uint64, o *Operation) sharing {
	if o.most() == 1 {
		return sharing{}
	}
	s := sharing{o.Limit, slotsText(smallestFree(o.permits(), taken(all))), token}
	if len(all) > 0 {
		s.Phase = all[0].Phase
	}
	return s
}

// grant gives permits to the owner of the request. Its lease begins no earlier than its request was sent, nor than the
// one before can have ended.
func (s state) grant(o *Operation, token uint64, how sharing) state {
	start := o.Call
	if s.end == held {
		s.others = s.holders()
	} else {
		start = max(start, s.bound)
	}
	s.holder = holder{
		owner: o.Owner, request: o.RequestID, token: token, sharing: how, bound: start + millis(o.TTL),
		delay: millis(o.Delay), confirm: o.Confirm, value: o.Value, session: o.label(), tokens: block(o.Tokens),
		minHold: millis(o.MinHold), rest: start + millis(o.MinHold),
	}
	if o.Session != "" {
		s.bound = o.Until
	}
	s.end, s.hold, s.rests = held, noHold, false
	return s
}

// block is how many tokens a lease has that is to have n of them; 0: one.
func block(n uint32) uint32 {
	if n <= 1 {
		return 0
	}
	return n
}

// used is the lease behind an extension or a set.
func (h holder) used(o *Operation) holder {
	if o.Kind == messages.OpExtend && o.Tokens > max(h.tokens, 1) {
		h.tokens = o.Tokens // also if it is late
	}
	switch {
	case o.Kind == messages.OpSet && !isLate(o.Order, h.sets):
		h.value, h.sets = o.Value, max(h.sets, o.Order)
	case o.Kind == messages.OpExtend && !isLate(o.Order, h.extends):
		h.bound, h.session, h.extends = o.Call+millis(o.TTL), "", max(h.extends, o.Order)
	}
	return h
}

// highest reports whether an answer has the highest number of the requests of its kind.
func (h holder) highest(o *Operation) bool {
	if o.Kind == messages.OpSet {
		return o.Highest == h.sets
	}
	return o.Highest == h.extends
}

// needsPresent reports whether an operation is a downgrade of the lease to a larger limit, but names its former token.
func (h holder) needsPresent(o *Operation) bool {
	return o.Kind == messages.OpExtend && o.most() > h.most() && o.Token != 0 && o.Token == h.former
}
