package audit

import (
	"bytes"
	"fmt"
	"slices"
	"time"

	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/journal"
)

const (
	// wallSlack is by how many milliseconds the wall clock that stamps commits may differ from the clock that
	// leases end by, beside one in wallDrift of the time between: NTP moves a wall clock by up to 500 in a million.
	wallSlack, wallDrift = 5, 2000
	// rememberSlack is for the drift of clocks.
	rememberSlack = 2 * time.Second
	// rememberedFor is for how long an owner of a shard remembers a request at least whose lease has ended.
	rememberedFor = int64(time.Minute / time.Millisecond)
)

// resource is what the journal shows of one resource.
type resource struct {
	// known: no commit that may have changed it was missed.
	known bool
	// remembered: the node knows its last token, so the next one is one above.
	remembered bool
	// forgotten: a page has left it out once, or others before it came.
	forgotten bool

	last  *journal.Grant // nil: none
	state messages.Event_Kind
	// digest is that of the last owner, if a page has no more of it.
	digest uint64
	// held are the leases that are held, the oldest first. While the resource is not known there may be others.
	held []*holding
	// ended are the ended leases that hold the resource back, the oldest first: lost ones, and one that rests. While the
	// resource is not known there may be others.
	ended []*ended
	// unseen: ephemeral leases may be held besides, which the journal does not show.
	unseen bool
	// fence is the highest that a holder may have shown.
	fence uint64
	// reserved is the highest token for ephemeral leases since the last grant, 0 if there is none.
	reserved uint64
	// high is the highest token granted. Tokens up to above may have been granted, or were reserved, when the
	// resource was forgotten or the shard was opened.
	high, above uint64
	// changedAt is when it last changed.
	changedAt int64
	// decidedAfter is a time before its last change was decided: that of the commit before, on which the next one waited.
	decidedAfter int64
	// requests are those whose grants the present owner has to remember.
	requests map[request]granted
	// downgraded is the lease that the change before has ended, and that goes on with the next one; nil: none.
	downgraded *journal.Grant
}

// holding is a lease that is held.
type holding struct {
	*journal.Grant
	// due is the earliest that it can expire, by the owner's wall clock; 0: not known.
	due int64
	// rest is the earliest that its shortest hold can be over, by the same clock; 0: it has none, or that is not known.
	rest int64
}

// newHolding returns a lease that runs from then.
func newHolding(g *journal.Grant, from int64) *holding {
	h := &holding{Grant: g, due: due(g, from)}
	if g.GetMinHoldMs() > 0 {
		h.rest = from + int64(g.GetMinHoldMs())
	}
	return h
}

// due is when a lease that runs from then can expire at the earliest. One of a session ends with it, at a time that is
// not recorded.
func due(g *journal.Grant, from int64) int64 {
	if len(g.GetSession()) > 0 {
		return 0
	}
	return from + int64(g.GetTtlMs())
}

// request names a request of one resource.
type request struct{ owner, id, secretHash string }

func requestOf(g *journal.Grant) request {
	return request{g.GetOwner(), g.GetRequestId(), string(g.GetSecretHash())}
}

// granted is a grant to a request.
type granted struct {
	token uint64
	// at is when it last changed: when its lease ended, if it has.
	at int64
	// mine: that was in the time of the present owner.
	mine bool
}

// top is the highest token that was granted or reserved.
func (r *resource) top() uint64 { return max(last(r.last), r.reserved) }

// find returns the place of the lease with this token, -1 if it is not held.
func (r *resource) find(token uint64) int {
	return slices.IndexFunc(r.held, func(h *holding) bool { return h.GetToken() == token })
}

// rest is what a new owner lets a time in milliseconds run for: what was handed over of it, else all.
func rest(h *journal.HandOver, g *journal.Grant, whole uint32) int64 {
	if left, ok := h.GetLeftMs()[journal.LeaseKey(g.GetResource(), g.GetToken())]; ok {
		return int64(min(left, whole))
	}
	return int64(whole)
}

// isEarly reports whether what lasts for a number of milliseconds ends before it is due. A due of 0 is unknown.
func isEarly(at, due int64, lasts uint32) bool {
	return due != 0 && at < due-wallSlack-int64(lasts/wallDrift)
}

// handsOver checks that no less is handed over of a lease and of a delay than what is left of it.
func (r *resource) handsOver(c *journal.Commit, wrong func(string, ...any)) {
	check := func(g *journal.Grant, due int64, whole uint32) {
		if at := c.GetAtMs() + rest(c.GetHandOver(), g, whole); isEarly(at, due, whole) {
			wrong("token %d is handed over with an end at %d, %d ms before its time", g.GetToken(), at, due-at)
		}
	}
	for _, h := range r.held {
		check(h.Grant, h.due, h.GetTtlMs())
	}
	for _, e := range r.ended {
		check(e.Grant, e.due, e.lasts())
	}
}

// opened notes that another owner goes on with the resource, with what was handed over. Its leases begin anew, without
// those that were in the memory of the owner before and for what was handed over of them, and of the requests it knows
// those of the leases that are held and of the last grant.
func (r *resource) opened(c *journal.Commit, before *journal.HandOver) {
	r.above = max(r.above, r.top())
	r.unseen = false
	r.requests = map[request]granted{requestOf(r.last): {r.last.GetToken(), r.changedAt, false}}
	for _, h := range r.held {
		if *h = *newHolding(h.Grant, c.GetAtMs()); h.due != 0 {
			h.due = c.GetAtMs() + rest(before, h.Grant, h.GetTtlMs())
		}
		r.requests[requestOf(h.Grant)] = granted{h.GetToken(), r.changedAt, false}
	}
	for _, e := range r.ended {
		e.reopened(c.GetAtMs(), before)
		r.requests[requestOf(e.Grant)] = granted{e.GetToken(), r.changedAt, false}
	}
}

func (r *resource) reserve(m *journal.Change, wrong func(string, ...any)) {
	least := r.above
	if r.known {
		least = max(least, r.top())
	}
	if r.known && (r.isFull() || len(r.ended) > 0) || m.GetReserved() <= least {
		wrong("reserved up to %d where token %d stands (%s), and up to %d may have been granted",
			m.GetReserved(), r.last.GetToken(), r.state, least)
	}
	r.reserved, r.unseen = m.GetReserved(), true
}

// acquire takes in a grant. whole: no record of the journal was missed.
func (r *resource) acquire(g *journal.Grant, c *journal.Commit, whole bool, wrong func(string, ...any)) {
	token, before := g.GetToken(), last(r.last)
	switch least := max(r.high, r.above); {
	case token <= least:
		wrong("token %d is granted behind token %d", token, least)
	case r.known && r.remembered && r.reserved == 0 && token != before+1:
		wrong("token %d is granted behind token %d, which is remembered", token, before)
	}
	r.notBack(g, wrong)
	r.share(g, wrong)
	if r.downgraded == nil {
		r.again(g, c, whole, wrong)
	}
	r.remember(g, c)
	r.downgraded = nil
	r.ended = nil
	if isFirst(g) {
		r.held, r.known, r.unseen = nil, true, false
	}
	r.held = append(r.held, newHolding(g, g.GetAcquiredAtMs()))
	r.high, r.fence, r.reserved = max(r.high, last(g)), max(r.fence, lastFence(g)), 0
	r.remembered = true
	r.set(g, messages.Event_ACQUIRED, c)
}

// again checks that the request has no lease, and had none before. An owner remembers what ended in its own time, and
// the last grant of the owner before it. A whole journal is shorter than its memory, unless the resource was forgotten.
func (r *resource) again(g *journal.Grant, c *journal.Commit, whole bool, wrong func(string, ...any)) {
	id := requestOf(g)
	if id.id == "" {
		return
	}
	for _, h := range r.held {
		if requestOf(h.Grant) == id {
			wrong("the request holds token %d, and is granted token %d, to %s, id %q", h.GetToken(), g.GetToken(),
				id.owner, id.id)
			return
		}
	}
	if before, ok := r.requests[id]; ok && (whole && !r.forgotten || before.mine && c.GetAtMs()-before.at < rememberedFor) {
		wrong("the request was granted before, and its lease had ended: token %d, and now token %d, to %s, id %q",
			before.token, g.GetToken(), id.owner, id.id)
	}
}

// remember notes a request that the present owner has to remember.
func (r *resource) remember(g *journal.Grant, c *journal.Commit) {
	if g.GetRequestId() == "" {
		return
	}
	if r.requests == nil {
		r.requests = make(map[request]granted)
	}
	r.requests[requestOf(g)] = granted{g.GetToken(), c.GetAtMs(), true}
}

// follow takes in a change that needs a lease: one that extends or ends it.
func (r *resource) follow(m *journal.Change, c *journal.Commit, wrong func(string, ...any)) {
	g := m.GetGrant()
	place, due, rest := r.find(g.GetToken()), int64(0), int64(0)
	if place >= 0 {
		rest = r.held[place].rest
		if m.GetKind() == messages.Event_EXPIRED || m.GetKind() == messages.Event_UPDATED {
			due = r.held[place].due
		}
	}
	r.rests(m, c, rest, wrong)
	if r.known {
		r.changes(m, place, c, wrong)
	} else if !isShared(g) {
		r.held, r.ended, r.known, r.remembered, place = nil, nil, true, true, -1 // it was held alone
	}
	if place >= 0 {
		r.held = slices.Delete(r.held, place, place+1)
	}
	state := m.GetKind()
	if state == messages.Event_EXTENDED || state == messages.Event_UPDATED {
		state = messages.Event_ACQUIRED
		place = max(place, 0)
		// when it was extended is not recorded
		r.held = slices.Insert(r.held, min(place, len(r.held)), &holding{g, due, rest})
		r.high, r.fence = max(r.high, last(g)), max(r.fence, lastFence(g))
	} else {
		r.remember(g, c)
		r.end(m, wrong)
		r.holdBack(m, due, rest)
	}
	if g.GetToken() >= r.last.GetToken() {
		r.set(g, state, c)
	}
}

// changes checks a change of the lease at the place in held.
func (r *resource) changes(m *journal.Change, place int, c *journal.Commit, wrong func(string, ...any)) {
	g := m.GetGrant()
	if len(r.held) == 0 {
		wrong("%s of token %d, which is %s", m.GetKind(), g.GetToken(), r.state)
		return
	}
	h := r.held[max(place, 0)]
	switch {
	case place < 0 || requestOf(g) != requestOf(h.Grant):
		wrong("%s of token %d of %s where token %d of %s is held", m.GetKind(),
			g.GetToken(), g.GetOwner(), h.GetToken(), h.GetOwner())
	case !isLike(g, h.Grant):
		wrong("%s of token %d with %s, which was granted with %s", m.GetKind(), g.GetToken(), sharing(g),
			sharing(h.Grant))
	case !isGrown(m.GetKind(), g, h.Grant):
		wrong("%s of token %d with %s, where the lease has %s", m.GetKind(), g.GetToken(), block(g), block(h.Grant))
	case m.GetKind() != messages.Event_EXTENDED && !bytes.Equal(g.GetSession(), h.GetSession()):
		wrong("%s of token %d in session %x, whose lease is in %x", m.GetKind(), g.GetToken(), g.GetSession(),
			h.GetSession())
	case !isInOrder(m.GetKind(), g, h.Grant):
		wrong("%s of token %d with %s, where the lease has %s", m.GetKind(), g.GetToken(), orders(g), orders(h.Grant))
	case m.GetKind() == messages.Event_EXPIRED && isEarly(c.GetAtMs(), h.due, h.GetTtlMs()):
		wrong("token %d expires at %d, %d ms before its time", g.GetToken(), c.GetAtMs(), h.due-c.GetAtMs())
	}
}

// isInOrder reports whether a lease keeps the highest numbers of its extends and sets. Those of one kind grow with it.
func isInOrder(kind messages.Event_Kind, g, before *journal.Grant) bool {
	grows := func(by messages.Event_Kind, order, highest uint64) bool {
		return order == highest || order > highest && kind == by
	}
	return grows(messages.Event_EXTENDED, g.GetExtendOrder(), before.GetExtendOrder()) &&
		grows(messages.Event_UPDATED, g.GetSetOrder(), before.GetSetOrder())
}

func orders(g *journal.Grant) string {
	return fmt.Sprintf("extends up to %d, sets up to %d", g.GetExtendOrder(), g.GetSetOrder())
}

// set notes how the last lease stands.
func (r *resource) set(g *journal.Grant, state messages.Event_Kind, c *journal.Commit) {
	r.last, r.state, r.digest, r.changedAt = g, state, 0, c.GetAtMs()
}
