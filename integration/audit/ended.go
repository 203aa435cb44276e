package audit

import (
	"cmp"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/journal"
)

// The reasons for which an ended lease no longer holds its resource back. Any other one is that of a confirmation.
const (
	DelayOver = "the delay is over"
	RestOver  = "the shortest hold is over"
	TakenBack = "taken back by its owner"
)

// ended is an ended lease that holds its resource back: it was lost, or its shortest hold is not over.
type ended struct {
	*journal.Grant
	// how it ended; CONFIRMED: its loss was confirmed, and it rests.
	how messages.Event_Kind
	// restMs is what was left of its shortest hold by its last change; 0: nothing.
	restMs uint32
	// due is the earliest that its delay and its rest can be over, and rest that its rest alone can be, by the owner's
	// wall clock; 0: not known.
	due, rest int64
}

// isLost reports whether the lease was lost and holds the resource back.
func (e *ended) isLost() bool {
	return holdsBack(e.Grant) && (e.how == messages.Event_EXPIRED || e.how == messages.Event_BROKEN)
}

// lasts is for how long the lease holds the resource back from now on if nothing is handed over; 0: until its loss is
// confirmed.
func (e *ended) lasts() uint32 {
	switch {
	case !e.isLost():
		return e.restMs
	case e.GetDelayMs() == 0:
		return 0
	default:
		return max(e.GetDelayMs(), e.restMs)
	}
}

// reopened lets all that is left run from then.
func (e *ended) reopened(at int64, before *journal.HandOver) {
	e.due, e.rest = 0, 0
	if lasts := e.lasts(); lasts > 0 {
		e.due = at + rest(before, e.Grant, lasts)
	}
	if e.restMs > 0 {
		e.rest = at + int64(e.restMs)
	}
	if e.due != 0 {
		e.rest = min(e.rest, e.due)
	}
}

// holdsBack reports whether the resource is held back if the lease is lost.
func holdsBack(g *journal.Grant) bool { return g.GetDelayMs() > 0 || g.GetConfirm() }

// rests checks what a change says is left of a shortest hold, which is not over before rest; 0: that is not known. A
// release by which nothing is left may be a withdrawal.
func (r *resource) rests(m *journal.Change, c *journal.Commit, rest int64, wrong func(string, ...any)) {
	g, left := m.GetGrant(), m.GetRestingMs()
	switch isEnd := m.GetKind() != messages.Event_EXTENDED && m.GetKind() != messages.Event_UPDATED; {
	case left > g.GetMinHoldMs(), left > 0 && (!isEnd || m.GetReason() == Undelivered):
		wrong("%s of token %d leaves %d ms of a shortest hold of %d ms", m.GetKind(), g.GetToken(), left,
			g.GetMinHoldMs())
	case !isEnd || m.GetKind() == messages.Event_RELEASED && left == 0:
	case isEarly(c.GetAtMs()+int64(left), rest, g.GetMinHoldMs()):
		wrong("%s of token %d at %d leaves %d ms of its shortest hold, %d ms too few", m.GetKind(), g.GetToken(),
			c.GetAtMs(), left, rest-c.GetAtMs()-int64(left))
	}
}

// holdBack notes that a lease that has ended holds the resource back. It has not run out before due, and its shortest
// hold is not over before rest; 0: that is not known, as of a break, which may have been decided some time before its
// commit.
func (r *resource) holdBack(m *journal.Change, due, rest int64) {
	e := &ended{Grant: m.GetGrant(), how: m.GetKind(), restMs: m.GetRestingMs()}
	if e.restMs > 0 {
		e.rest = rest
	}
	switch {
	case !e.isLost():
		e.due = e.rest
	case e.GetDelayMs() > 0 && due != 0:
		e.due = max(e.rest, due+int64(e.GetDelayMs()))
	case e.GetDelayMs() > 0:
		e.due = e.rest
	}
	if e.isLost() || e.restMs > 0 {
		r.ended = append(r.ended, e)
		slices.SortFunc(r.ended, func(a, b *ended) int { return cmp.Compare(a.GetToken(), b.GetToken()) })
	}
}

// notBack checks that no ended lease holds the resource back when a lease is granted.
func (r *resource) notBack(g *journal.Grant, wrong func(string, ...any)) {
	if !r.known || len(r.ended) == 0 {
		return
	}
	if e := r.ended[0]; e.isLost() {
		wrong("token %d is granted to %s while the lost token %d of %s holds the resource back",
			g.GetToken(), g.GetOwner(), e.GetToken(), e.GetOwner())
	} else {
		wrong("token %d is granted to %s while the shortest hold of token %d of %s is not over",
			g.GetToken(), g.GetOwner(), e.GetToken(), e.GetOwner())
	}
}

// confirm takes in that an ended lease no longer holds the resource back, but for its rest.
func (r *resource) confirm(m *journal.Change, c *journal.Commit, wrong func(string, ...any)) {
	g, state := m.GetGrant(), messages.Event_CONFIRMED
	rests := &ended{Grant: g, how: state, restMs: m.GetRestingMs()}
	place := slices.IndexFunc(r.ended, func(e *ended) bool { return e.GetToken() == g.GetToken() })
	switch {
	case place >= 0:
		e := r.ended[place]
		r.confirms(e, m, c, wrong)
		if rests.rest, rests.due = e.rest, e.rest; e.how == messages.Event_RELEASED {
			state = e.how // it was no loss
		}
		r.ended = slices.Delete(r.ended, place, place+1)
	case r.known:
		wrong("CONFIRMED of token %d, which is not lost", g.GetToken())
	}
	if rests.restMs > 0 {
		r.ended = append(r.ended, rests) // a lease that rests is the last one
	}
	if g.GetToken() >= r.last.GetToken() {
		r.set(g, state, c)
	}
}

// confirms checks the end of what an ended lease holds back.
func (r *resource) confirms(e *ended, m *journal.Change, c *journal.Commit, wrong func(string, ...any)) {
	g := m.GetGrant()
	if !proto.Equal(g, e.Grant) {
		wrong("CONFIRMED of %v, where %v has ended", g, e.Grant)
	}
	if reason := m.GetReason(); reason == DelayOver || reason == RestOver || reason == TakenBack {
		if m.GetRestingMs() > 0 {
			wrong("token %d rests for %d ms more: %s", g.GetToken(), m.GetRestingMs(), reason)
		}
		r.lapses(e, m, c, wrong)
		return
	}
	switch left := m.GetRestingMs(); {
	case e.how == messages.Event_CONFIRMED:
		wrong("token %d rests behind a loss that was confirmed, and is confirmed again", g.GetToken())
	case !e.isLost() && left > 0, left > e.restMs:
		wrong("token %d rests for %d ms more when it is confirmed, of %d", g.GetToken(), left, e.restMs)
	case e.isLost() && isEarly(c.GetAtMs()+int64(left), e.rest, e.restMs):
		wrong("the confirmed loss of token %d leaves %d ms of its shortest hold, %d ms too few", g.GetToken(), left,
			e.rest-c.GetAtMs()-int64(left))
	}
}

// lapses checks the end of what a lease holds back that nobody has confirmed.
func (r *resource) lapses(e *ended, m *journal.Change, c *journal.Commit, wrong func(string, ...any)) {
	g, at := m.GetGrant(), c.GetAtMs()
	switch reason := m.GetReason(); {
	case reason == DelayOver && (!e.isLost() || g.GetDelayMs() == 0):
		wrong("the delay of token %d is over, which has none", g.GetToken())
	case reason == RestOver && (e.restMs == 0 || e.isLost() && g.GetDelayMs() == 0):
		wrong("the shortest hold of token %d is over, which holds nothing back, or not alone", g.GetToken())
	case reason != TakenBack && isEarly(at, e.due, e.lasts()):
		wrong("CONFIRMED of token %d at %d, %d ms before its time: %s", g.GetToken(), at, e.due-at, reason)
	case reason == TakenBack && (!e.isLost() || g.GetConfirm()):
		wrong("token %d is taken back, though its loss had to be confirmed", g.GetToken())
	case reason == TakenBack && isEarly(at, e.rest, e.restMs):
		wrong("token %d is taken back at %d, %d ms before its shortest hold is over", g.GetToken(), at, e.rest-at)
	case reason == TakenBack && !r.grants(c, m):
		wrong("token %d is taken back, and nothing is granted to %s", g.GetToken(), g.GetOwner())
	}
}

// grants reports whether the commit grants the resource to the owner of a lost lease, behind the end of its loss. An
// ephemeral grant is no change, but its token is reserved.
func (r *resource) grants(c *journal.Commit, m *journal.Change) bool {
	behind := c.GetChanges()[slices.Index(c.GetChanges(), m)+1:]
	at := slices.IndexFunc(behind, func(next *journal.Change) bool {
		return next.Name() == m.Name() && (next.GetKind() == messages.Event_ACQUIRED ||
			next.GetReserved() > m.GetGrant().GetToken())
	})
	return at >= 0 && (behind[at].GetReserved() > 0 || behind[at].GetGrant().GetOwner() == m.GetGrant().GetOwner())
}

// endedOf are the ended leases of an entry that hold the resource back, the oldest first. Only the last one rests.
func endedOf(entry *journal.Entry) (all []*ended) {
	for _, l := range entry.GetLost() {
		g := proto.CloneOf(l.GetGrant())
		g.Resource = entry.Name()
		all = append(all, &ended{Grant: g, how: l.GetHow()})
	}
	left := entry.GetRestingMs()
	switch n := len(all); {
	case left == 0:
	case n > 0 && all[n-1].GetToken() == entry.GetGrant().GetToken():
		all[n-1].restMs = left
	default:
		all = append(all, &ended{Grant: entry.GetGrant(), how: entry.GetState(), restMs: left})
	}
	return all
}

// adoptEnded takes in what an entry says of ended leases. isSure: the journal has shown all of them.
func (r *resource) adoptEnded(entry *journal.Entry, isSure bool) {
	all := endedOf(entry)
	for _, e := range all {
		place := slices.IndexFunc(r.ended, func(known *ended) bool { return known.GetToken() == e.GetToken() })
		if isSure && place >= 0 {
			e.due, e.rest = r.ended[place].due, r.ended[place].rest
		}
	}
	r.ended = all
}
