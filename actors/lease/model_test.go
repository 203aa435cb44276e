package lease_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-io/holdfast/actors/lease"
	"github.com/holdfast-io/holdfast/messages"
)

// model is the contract once more, as a history: every grant and every wait that there ever was, in
// order and none removed. What is so now is looked up in it, and said in the words of [said].
type model struct {
	now    lease.Instant
	floor  uint64
	grants []*granted
	waits  []*waited
	over   []overRequest // in the order in which they ended

	changes, answers []string
}

type granted struct {
	step   // the acquire; tokens are those that the lease has now
	token  uint64
	former uint64 // its token before it was downgraded
	limit  uint32
	slots  []uint32 // of a shared lease
	phase  uint64   // of a shared lease
	ttl    time.Duration
	since  lease.Instant
	// extends and sets are the highest numbers of its extends and sets.
	extends, sets uint64
	// ended is how; empty while it is held.
	ended string
	// forgotten is so of a lease that had ended when the shard got its present owner, but for the last one.
	forgotten bool
	// back says that it was lost and holds the resource back, lost since when.
	back bool
	lost lease.Instant
	// rest is when its shortest hold is over; 0: it has none. rests says that it has ended before, and that nothing is
	// granted until then.
	rest  lease.Instant
	rests bool
	// left is what was left of the shortest hold when it ended, as a new owner knows.
	left time.Duration
	// unheard is so after a wait, and of a grant in a batch, until the holder shows that it knows of its grant.
	unheard bool
	// shared are the reentrant requests that it answered.
	shared []sharer
}

type sharer struct{ id, hash string }

// overRequest is a request that may not be granted any more: how its lease ended, and its lease; or
// CANCELLED.
type overRequest struct {
	who, id, hash, how string
	lease              *granted
}

type waited struct {
	step  // the acquire, the last of its repetitions
	since lease.Instant
	over  bool
}

func (g *granted) until() lease.Instant { return g.since.Add(g.ttl) }

// backUntil is when the lease, which has ended, no longer keeps the resource from being granted: when its delay is
// over, if it is lost, and its shortest hold.
func (g *granted) backUntil() (until lease.Instant) {
	if g.rests {
		until = g.rest
	}
	switch {
	case !g.back:
		return until
	case g.delay == 0:
		return lease.Never
	}
	return max(until, g.lost.Add(g.delay))
}

// last is the last token of the lease, and has reports whether it has a token.
func (g *granted) last() uint64          { return g.token + uint64(max(g.tokens, 1)) - 1 }
func (g *granted) has(token uint64) bool { return token >= g.token && token <= g.last() }

// block is how many tokens an acquire asks for.
func (s step) block() uint64 { return uint64(max(s.tokens, 1)) }

func (w *waited) until() lease.Instant { return w.at.Add(w.wait) }

// wantsShared reports whether others may hold beside a lease of this limit.
func wantsShared(limit uint32) bool { return limit > 1 }

// takes is how many permits the request of a step takes, and tolerates how many it tolerates.
func (s step) takes() uint64     { return uint64(max(s.permits, 1)) }
func (s step) tolerates() uint64 { return uint64(max(s.limit, 1)) }

// tolerates is how many permits may be held beside the lease.
func (g *granted) tolerates() uint64 { return uint64(max(g.limit, 1)) }

// is reports whether the token is the lease's, now or before it was downgraded.
func (g *granted) is(token uint64) bool { return token != 0 && (g.token == token || g.former == token) }

// play takes the model over a step and returns what is to be said.
func (m *model) play(s step) []string {
	m.now, m.changes, m.answers = s.at, nil, nil
	m.passTime()
	switch s.verb {
	case "acquire":
		m.acquire(s)
	case "release":
		m.release(s)
	case "extend":
		m.extend(s)
	case "set":
		m.set(s)
	case "get":
		m.get(s)
	case "break":
		m.breakLease(s)
	case "confirm":
		m.confirm(s)
	case "undeliverable":
		if g := m.find(s.token); g != nil && g.unheard && g.token == s.token {
			g.rest = 0
			m.end(g, "RELEASED", "the client was gone")
			m.serve()
		}
	case "dismiss":
		m.leave("UNAVAILABLE", m.waiting())
	case "surrender":
		return slices.Concat(m.changes, m.answers, m.surrender())
	case "takeover", "restart":
		m.takeOver()
		if s.verb == "restart" {
			m.restart()
		}
		return slices.Concat(m.changes, m.answers, m.surrender())
	}
	return slices.Concat(m.changes, m.answers)
}

// passTime ends the waits and the leases whose time is over, and then grants what they leave.
func (m *model) passTime() {
	m.leave("TIMEOUT", slices.DeleteFunc(m.waiting(), func(w *waited) bool { return w.until() > m.now }))
	for _, g := range m.held() {
		if g.until() <= m.now {
			m.end(g, "EXPIRED", "")
		}
	}
	for _, g := range m.heldBack() {
		if until := g.backUntil(); until <= m.now {
			why := "the delay is over"
			if g.rests && g.rest == until {
				why = "the shortest hold is over"
			}
			m.endBack(g, why, 0)
		}
	}
	m.serve()
}

// heldBack are the ended leases because of which nothing is granted, the oldest first.
func (m *model) heldBack() []*granted {
	return slices.DeleteFunc(slices.Clone(m.grants), func(g *granted) bool { return !g.back && !g.rests })
}

// endBack ends what an ended lease holds back, but for what is left of its shortest hold.
func (m *model) endBack(g *granted, why string, left time.Duration) {
	g.left, g.rests, g.rest = left, left > 0, m.now.Add(left)
	m.change(g, "CONFIRMED", why)
	if g.back = false; g.ended != "RELEASED" {
		g.ended = "CONFIRMED"
	}
}

func (m *model) confirm(s step) {
	for _, g := range m.heldBack() {
		if !g.has(s.token) {
			continue
		}
		if g.ended != "CONFIRMED" { // else it was confirmed before, and rests
			why, left := s.who, time.Duration(0)
			if s.why != "" {
				why += ": " + s.why
			}
			if g.back {
				left = g.restLeft(m.now)
			}
			m.endBack(g, why, left)
			m.serve()
		}
		m.answer(s, "RELEASED", "")
		return
	}
	switch held, back := m.held(), m.heldBack(); {
	case m.lastHas(s.token) && m.grants[len(m.grants)-1].wasConfirmed():
		m.answer(s, "RELEASED", "")
	case len(back) > 0:
		left := time.Duration(0)
		if until := back[0].backUntil(); until != lease.Never {
			left = ceil(until.Sub(m.now))
		}
		m.answer(s, "STALE_TOKEN", fmt.Sprintf("%s %v/%v", back[0].name(), left, back[0].ttl))
	case len(held) > 0:
		m.answer(s, "STALE_TOKEN", m.lease(held[0]))
	default:
		m.answer(s, "NOT_HELD", "")
	}
}

// lastHas reports whether the last lease has a token.
func (m *model) lastHas(token uint64) bool {
	return len(m.grants) > 0 && m.grants[len(m.grants)-1].has(token)
}

// wasConfirmed reports whether a confirm of the lease may be a repetition.
func (g *granted) wasConfirmed() bool {
	return g.ended == "CONFIRMED" || g.ended == "RELEASED" && g.hold > 0
}

// restLeft is what is left of the shortest hold, in whole milliseconds.
func (g *granted) restLeft(now lease.Instant) time.Duration { return max(ceil(g.rest.Sub(now)), 0) }

// ceil rounds up to whole milliseconds.
func ceil(d time.Duration) time.Duration {
	return (d + time.Millisecond - 1).Truncate(time.Millisecond)
}

// takesBack reports whether the request of s takes back what its sender alone has lost.
func (m *model) takesBack(s step) bool {
	back := m.heldBack()
	return len(back) > 0 && m.fits(s) && !m.placeTaken(s) && s.nogrant == "" && m.leaves(s.block()) &&
		!slices.ContainsFunc(back, func(g *granted) bool { return g.confirmed || g.restLeft(m.now) > 0 || !s.owns(g) })
}

// taken is why the resource cannot be had.
func (m *model) taken(s step, how ...string) {
	back := m.heldBack()
	if len(back) == 0 {
		m.answer(s, "HELD", m.holders(), how...)
		return
	}
	left := " until confirmed"
	if !slices.ContainsFunc(back, func(g *granted) bool { return g.backUntil() == lease.Never }) {
		last := slices.MaxFunc(back, func(a, b *granted) int { return cmp.Compare(a.backUntil(), b.backUntil()) })
		left = fmt.Sprintf(" left=%v", ceil(last.backUntil().Sub(m.now)))
	}
	shown := fmt.Sprintf("%s 0s/%v%s", back[0].name(), back[0].ttl, left)
	if held := m.held(); len(held) > 0 {
		shown += m.others(held)
	}
	m.answer(s, "HELD_BACK", shown, how...)
}

func (m *model) acquire(s step) {
	over, own, again := m.overAs(s), m.reentered(s), m.grantedTo(s)
	switch {
	case m.nameTaken(s):
		m.refuseAsForeign(s)
	case over != nil:
		m.answerOver(s, over)
	case own != nil:
		own.unheard = false
		own.share(s)
		if m.now.Add(s.ttl) > own.until() {
			m.extendTo(own, s.ttl)
		}
		m.answerInstead(s)
		m.answer(s, "GRANTED", m.lease(own), sayOrder(own.extends))
		m.serve()
	case again != nil:
		again.unheard = false
		m.answer(s, "GRANTED", m.lease(again), sayOrder(again.extends))
	case m.takesBack(s):
		m.answerInstead(s)
		for _, g := range m.heldBack() {
			m.endBack(g, "taken back by its owner", 0)
		}
		m.grant(s, s.batched)
		m.serve()
	case len(m.waiting()) == 0 && m.mayEnter(s) && s.nogrant != "":
		m.answer(s, "OVERLOADED", "")
	case len(m.waiting()) == 0 && m.mayEnter(s):
		m.grant(s, s.batched)
	case m.placeTaken(s):
		m.refuseAsForeign(s)
	case s.wait == 0:
		m.taken(s)
	case m.place(s) != nil:
		m.place(s).step = s
		m.serve()
	case len(m.waiting()) >= s.room, s.nowait != "":
		m.answer(s, "OVERLOADED", "")
	default:
		m.waits = append(m.waits, &waited{step: s, since: m.now})
	}
}

// fits is the one rule: with the permits of the request added, no more are held than it tolerates, and
// than each holder does.
func (m *model) fits(s step) bool {
	held := m.held()
	sum := s.takes()
	for _, g := range held {
		sum += g.takes()
	}
	for _, g := range held {
		if sum > g.tolerates() {
			return false
		}
	}
	return len(held) == 0 || sum <= s.tolerates()
}

// mayEnter reports whether the request fits, and no lost lease holds the resource back.
func (m *model) mayEnter(s step) bool { return len(m.heldBack()) == 0 && m.fits(s) }

// reentered is the lease that a reentrant request gets again: its owner's latest of the same kind.
func (m *model) reentered(s step) *granted {
	for _, g := range slices.Backward(m.held()) {
		if s.reentrant && s.owns(g) && g.tokens <= 1 && g.tolerates() == s.tolerates() && g.takes() == s.takes() {
			return g
		}
	}
	return nil
}

// answerInstead lets a request leave the queue that was answered at its newer address.
func (m *model) answerInstead(s step) {
	if w := m.place(s); w != nil {
		w.over = true
	}
}

func (m *model) release(s step) {
	if w := m.place(s); w != nil {
		m.leave("CANCELLED", []*waited{w})
		m.answer(s, "CANCELLED", "")
		m.withdraw(step{who: s.who, id: s.id, secret: w.hash})
		m.serve()
		return
	}
	if s.id != "" && s.token == 0 {
		m.releaseRequest(s)
		return
	}
	m.withdraw(s)
	if g := m.own(s); g != nil {
		m.end(g, "RELEASED", "")
		m.serve()
		m.answer(s, "RELEASED", "")
	}
}

// releaseRequest is a release that names a request and no token: nothing else counts.
func (m *model) releaseRequest(s step) {
	over := m.overAs(s)
	switch g := m.grantedTo(s); {
	case g != nil:
		g.rest = 0
		m.end(g, "RELEASED", "")
		m.serve()
		m.answer(s, "RELEASED", "")
	case over != nil && over.lease != nil:
		m.answer(s, over.how, "")
	default:
		m.withdraw(s)
		m.answer(s, "NOT_HELD", "")
	}
}

// grantedTo is the present lease that was granted to the request that s names.
func (m *model) grantedTo(s step) *granted {
	for _, g := range m.held() {
		if s.id != "" && g.id == s.id && s.owns(g) {
			return g
		}
	}
	return nil
}

// knows reports whether the step has the secret of the hash, if there is one.
func (s step) knows(hash string) bool { return hash == "" || s.secret == hash }

// owns reports whether the step is the owner's: without the secret it is another owner's.
func (s step) owns(g *granted) bool { return g.who == s.who && s.knows(g.hash) }

// nameTaken reports whether the name of the request is that of a granted one with another secret, and placeTaken
// whether it is that of a waiting one.
func (m *model) nameTaken(s step) bool {
	return slices.ContainsFunc(m.held(), func(g *granted) bool {
		return s.id != "" && g.id == s.id && g.who == s.who &&
			!s.owns(g)
	})
}

func (m *model) placeTaken(s step) bool {
	return slices.ContainsFunc(m.waiting(), func(w *waited) bool {
		return s.id != "" && w.id == s.id && w.who == s.who && !s.knows(w.hash)
	})
}

// refuseAsForeign is what other owners are answered.
func (m *model) refuseAsForeign(s step) {
	if held := m.held(); len(held) > 0 {
		m.answer(s, "NOT_OWNER", m.lease(held[0]))
		return
	}
	m.answer(s, "NOT_OWNER", "")
}

// overAs is how the request that s names has ended, nil if it has not.
func (m *model) overAs(s step) *overRequest {
	switch {
	case s.id == "" || m.grantedTo(s) != nil:
		return nil
	case s.verb == "acquire" && s.hash != "":
		return m.overBy(s, s.hash)
	case s.verb == "acquire":
		return cmp.Or(m.overBy(s, ""), m.overBy(s, s.secret))
	}
	if o := m.overBy(s, s.secret); o != nil {
		return o
	}
	if o := m.overBy(s, ""); o != nil && o.lease != nil {
		return o
	}
	return nil
}

// answerOver answers a request how it has ended. Without the secret the answer has nothing of its lease.
func (m *model) answerOver(s step, over *overRequest) {
	switch {
	case over.lease == nil:
		m.answer(s, over.how, "")
	case !s.knows(over.hash):
		m.refuseAsForeign(s)
	default:
		m.answer(s, over.how, over.lease.remains())
	}
}

// overBy is how a request with this hash has ended.
func (m *model) overBy(s step, hash string) *overRequest {
	for _, o := range slices.Backward(m.over) {
		if o.who == s.who && o.id == s.id && o.hash == hash {
			return &o
		}
	}
	return nil
}

func (m *model) withdraw(s step) {
	if s.id != "" && m.grantedTo(s) == nil && m.overBy(s, s.secret) == nil {
		m.over = append(m.over, overRequest{who: s.who, id: s.id, hash: s.secret, how: "CANCELLED"})
	}
}

// share keeps the latest sixteen requests.
func (g *granted) share(s step) {
	sharer := sharer{s.id, s.hash}
	if s.id == "" || s.id == g.id || slices.Contains(g.shared, sharer) {
		return
	}
	g.shared = append(g.shared, sharer)
	g.shared = g.shared[max(0, len(g.shared)-16):]
}

// takeOver leaves of the requests that ended, and of the ends of shared leases, those of the last grant.
func (m *model) takeOver() {
	m.over = nil
	for i, g := range m.grants {
		g.shared, g.unheard = nil, false
		if g.back || g.ended != "" && i == len(m.grants)-1 {
			g.end(m)
		} else if g.ended != "" {
			g.forgotten = true
		}
	}
}

// restart lets the times of all leases begin anew.
func (m *model) restart() {
	for _, g := range m.grants {
		switch g.since, g.lost = m.now, m.now; {
		case g.ended != "":
			g.rest = m.now.Add(g.left)
		case g.hold > 0:
			g.rest = m.now.Add(g.hold)
		}
	}
}

// end notes that the requests of a lease have ended with it.
func (g *granted) end(m *model) {
	m.over = append(m.over, overRequest{g.who, g.id, g.hash, g.how(), g})
	for _, s := range g.shared {
		if m.overBy(step{who: g.who, id: s.id}, s.hash) == nil { // else it was granted a lease of its own, too
			m.over = append(m.over, overRequest{g.who, s.id, s.hash, g.how(), g})
		}
	}
}

// how is what its owner is answered about a lease that has ended.
func (g *granted) how() string {
	if g.ended == "RELEASED" {
		return "RELEASED"
	}
	return "EXPIRED"
}

func (m *model) extend(s step) {
	g := m.own(s)
	switch {
	case g == nil:
	case s.tokens > max(g.tokens, 1):
		m.grow(g, s)
	case s.isLate(g.extends) && s.tolerates() <= g.tolerates():
		g.unheard = false
		m.answer(s, "EXTENDED", m.lease(g), sayOrder(g.extends))
	case s.limit == 0 || s.tolerates() == g.tolerates():
		g.unheard = false
		g.extends = max(g.extends, s.order)
		m.extendTo(g, s.ttl)
		m.answer(s, "EXTENDED", m.lease(g), sayOrder(g.extends))
	case s.tolerates() > g.tolerates() && s.token != 0 && s.token == g.former:
		m.answer(s, "STALE_TOKEN", m.lease(g))
	case s.tolerates() < g.tolerates(), len(m.held()) > 1, len(m.heldBack()) > 0, g.hold > 0:
		m.refuse(s, "INVALID")
	case !m.leaves(1):
		m.answer(s, "EXHAUSTED", "")
	default:
		m.downgrade(g, s)
		m.serve()
	}
}

// leaves reports whether so many further tokens are left.
func (m *model) leaves(n uint64) bool { return m.token()+n <= uint64(messages.MaxToken) }

// grow lets a lease have as many tokens as s says, which are more. Nothing else of it changes if s is late.
func (m *model) grow(g *granted, s step) {
	more := s.tokens - max(g.tokens, 1)
	switch {
	case wantsShared(g.limit), more > messages.MaxBlock:
		m.refuse(s, "INVALID")
		return
	case !m.leaves(uint64(more)):
		m.answer(s, "EXHAUSTED", "")
		return
	}
	g.unheard, g.tokens = false, s.tokens
	if s.isLate(g.extends) {
		m.change(g, "UPDATED", "")
	} else {
		g.extends = max(g.extends, s.order)
		m.extendTo(g, s.ttl)
	}
	m.answer(s, "EXTENDED", m.lease(g), sayOrder(g.extends))
}

// isLate reports whether a request with a higher number than the step's came before it.
func (s step) isLate(highest uint64) bool { return s.order > 0 && s.order < highest }

// downgrade puts a lease with a new token and a larger limit in the place of g. It answers the same requests.
func (m *model) downgrade(g *granted, s step) {
	m.change(g, "RELEASED", "downgraded")
	g.ended, g.forgotten = "DOWNGRADED", true
	next := *g
	next.token, next.former, next.limit, next.tokens = m.token()+1, g.token, s.limit, 0
	next.phase = next.token
	if next.slots == nil {
		next.slots = []uint32{0}
	}
	next.since, next.ended, next.forgotten, next.unheard = m.now, "", false, false
	if !s.isLate(g.extends) {
		next.ttl, next.extends = s.ttl, max(g.extends, s.order)
	}
	m.grants = append(m.grants, &next)
	m.change(&next, "ACQUIRED", "")
	m.answer(s, "EXTENDED", m.lease(&next), sayOrder(next.extends))
}

// set replaces the metadata, and nothing else.
func (m *model) set(s step) {
	g := m.own(s)
	if g == nil {
		return
	}
	g.unheard = false
	if !s.isLate(g.sets) && (g.meta != s.meta || g.sets < s.order) {
		g.meta, g.sets = s.meta, max(g.sets, s.order)
		m.change(g, "UPDATED", "")
	}
	m.answer(s, "UPDATED", m.lease(g), sayOrder(g.sets))
}

// own is the lease of which s speaks: the one with its token, or without a token the only one of its owner. If
// there is none, it says why not.
func (m *model) own(s step) *granted {
	mine := slices.DeleteFunc(m.held(), func(g *granted) bool { return !s.owns(g) })
	for _, g := range mine {
		if g.is(s.token) || s.token == 0 && len(mine) == 1 {
			return g
		}
	}
	ended := m.endedAs(s)
	switch {
	case ended != nil && ended.ended == "RELEASED" && s.verb != "release":
		m.answer(s, "NOT_HELD", "")
	case ended != nil:
		m.answer(s, ended.how(), "")
	case len(m.held()) == 0:
		m.answer(s, "NOT_HELD", "")
	case len(mine) == 0:
		m.refuseAsForeign(s)
	case s.token == 0:
		m.refuse(s, "INVALID")
	default:
		m.answer(s, "STALE_TOKEN", m.lease(mine[len(mine)-1]))
	}
	return nil
}

// endedAs is the ended lease of which s speaks: the last one while the resource is free, or a shared one by its token.
func (m *model) endedAs(s step) *granted {
	for i, g := range slices.Backward(m.grants) {
		last := i == len(m.grants)-1
		switch {
		case !s.owns(g) || g.ended == "" || g.forgotten:
		case last && len(m.held()) == 0 && (s.token == 0 || g.is(s.token)):
			return g
		case g.back && g.is(s.token):
			return g
		case wantsShared(g.limit) && g.is(s.token):
			return g
		}
	}
	return nil
}

func (m *model) get(s step) {
	waiters := ""
	if s.waiters && len(m.waiting()) > 0 {
		var words []string
		for _, w := range m.waiting() {
			words = append(words, fmt.Sprintf("%s/%sx%d(%v,%v)", w.who, sayLimit(w.limit), w.takes(),
				m.now.Sub(w.since).Truncate(time.Millisecond), w.until().Sub(m.now).Truncate(time.Millisecond)))
		}
		waiters = " waiters=" + strings.Join(words, ",")
	}
	switch {
	case len(m.held())+len(m.heldBack()) > 0:
		m.taken(s, waiters)
	case len(m.grants) == 0:
		m.answer(s, "FREE", "")
	default:
		m.answer(s, "FREE", fmt.Sprintf("#%d", m.token()))
	}
}

func (m *model) breakLease(s step) {
	g := m.find(s.token)
	switch {
	case g != nil:
		m.end(g, "BROKEN", s.why)
		m.serve()
		m.answer(s, "RELEASED", "")
	case m.lastHas(s.token) && m.grants[len(m.grants)-1].wasTaken():
		m.answer(s, "RELEASED", "")
	case len(m.held()) > 0:
		m.answer(s, "STALE_TOKEN", m.lease(m.held()[0]))
	default:
		m.answer(s, "NOT_HELD", "")
	}
}

// wasTaken reports whether a break of the lease may be a repetition.
func (g *granted) wasTaken() bool { return g.ended == "BROKEN" || g.ended == "CONFIRMED" }

// next is when the next thing happens by itself.
func (m *model) next() lease.Instant {
	next := lease.Never
	for _, g := range m.held() {
		next = min(next, g.until())
	}
	for _, g := range m.heldBack() {
		next = min(next, g.backUntil())
	}
	for _, w := range m.waiting() {
		next = min(next, w.until())
	}
	return next
}

// held are the present leases, the oldest first.
func (m *model) held() []*granted {
	return slices.DeleteFunc(slices.Clone(m.grants), func(g *granted) bool { return g.ended != "" })
}

// find is the present lease with the token.
func (m *model) find(token uint64) *granted {
	for _, g := range m.held() {
		if g.has(token) {
			return g
		}
	}
	return nil
}

// token is the highest that was issued.
func (m *model) token() uint64 {
	if n := len(m.grants); n > 0 {
		return m.grants[n-1].last()
	}
	return m.floor
}

// waiting are the queued requests, in the order in which they came.
func (m *model) waiting() []*waited {
	return slices.DeleteFunc(slices.Clone(m.waits), func(w *waited) bool { return w.over })
}

// place is where the same request waits already.
func (m *model) place(s step) *waited {
	for _, w := range m.waiting() {
		if s.id != "" && w.id == s.id && w.who == s.who && s.knows(w.hash) {
			return w
		}
	}
	return nil
}

func (m *model) grant(s step, doubted bool) {
	if !m.leaves(s.block()) {
		m.answer(s, "EXHAUSTED", "")
		return
	}
	g := &granted{step: s, token: m.token() + 1, ttl: s.ttl, since: m.now, unheard: doubted}
	if s.hold > 0 {
		g.rest = m.now.Add(s.hold)
	}
	if wantsShared(s.limit) {
		g.limit, g.phase = s.limit, g.token
		taken := map[uint32]bool{}
		for _, other := range m.held() {
			g.phase = other.phase
			for _, slot := range other.slots {
				taken[slot] = true
			}
		}
		for slot := uint32(0); uint64(len(g.slots)) < s.takes(); slot++ {
			if !taken[slot] {
				g.slots = append(g.slots, slot)
			}
		}
	}
	m.grants = append(m.grants, g)
	m.change(g, "ACQUIRED", "")
	m.answer(s, "GRANTED", m.lease(g), map[bool]string{true: " doubted"}[doubted])
}

func (m *model) end(g *granted, how, why string) {
	left := g.restLeft(m.now)
	g.left, g.rests, g.rest = left, left > 0, m.now.Add(left)
	m.change(g, how, why)
	g.ended = how
	g.back, g.lost = how != "RELEASED" && g.holdsBack(), m.now
	g.end(m)
}

// serve grants to those who wait, in their order, until one does not fit.
func (m *model) serve() {
	for _, w := range m.waiting() {
		over := m.overAs(w.step)
		switch {
		case over != nil:
			w.over = true
			m.answerOver(w.step, over)
		case m.mayEnter(w.step):
			w.over = true
			m.grant(w.step, true)
		default:
			return
		}
	}
}

func (m *model) extendTo(g *granted, ttl time.Duration) {
	g.ttl, g.since = ttl, m.now
	m.change(g, "EXTENDED", "")
}

// leave lets the waiters go, all at once.
func (m *model) leave(status string, gone []*waited) {
	for _, w := range gone {
		w.over = true
	}
	shown := ""
	for _, g := range m.held() {
		if status == "TIMEOUT" && shown == "" && g.until() > m.now {
			shown = m.lease(g)
		}
	}
	for _, w := range gone {
		m.answer(w.step, status, shown)
	}
}

// surrender lets the waiters go without an answer, with what is left of their waits.
func (m *model) surrender() (gone []string) {
	for _, w := range m.waiting() {
		w.over = true
		left := w.until().Sub(m.now)
		if rest := left % time.Millisecond; rest > 0 {
			left += time.Millisecond - rest
		}
		gone = append(gone, fmt.Sprintf("%s: surrendered, waits %v", w.from, left))
	}
	return gone
}

func (m *model) change(g *granted, kind, why string) {
	line := fmt.Sprintf("%s %s %v", kind, g.name(), g.ttl)
	if g.former > 0 {
		line += fmt.Sprintf(" former=%d", g.former)
	}
	line += sayOrders(g.extends, g.sets)
	if g.holdsBack() && (kind == "EXPIRED" || kind == "BROKEN") {
		line += " back"
	}
	if g.rests {
		line += fmt.Sprintf(" rests=%v", g.rest.Sub(m.now))
	}
	if why != "" {
		line += fmt.Sprintf(" %q", why)
	}
	m.changes = append(m.changes, line)
}

// holdsBack reports whether the resource is held back if the lease is lost.
func (g *granted) holdsBack() bool { return g.delay > 0 || g.confirmed }

// name is the lease without its time.
func (g *granted) name() string {
	name := fmt.Sprintf("%s#%d", g.who, g.token)
	if g.tokens > 1 {
		name += fmt.Sprintf("..%d", g.last())
	}
	if wantsShared(g.limit) {
		name += fmt.Sprintf("%s/%s@%d", saySlots(g.slots), sayLimit(g.limit), g.phase)
	}
	if g.meta != "" {
		name += "{" + g.meta + "}"
	}
	return name
}

// remains is what is shown of a lease that has ended: its token, and its fence.
func (g *granted) remains() string {
	if wantsShared(g.limit) && g.phase != g.token {
		return fmt.Sprintf("%s#%d@%d", g.who, g.token, g.phase)
	}
	return fmt.Sprintf("%s#%d", g.who, g.token)
}

func (m *model) lease(g *granted) string {
	left := g.until().Sub(m.now).Truncate(time.Millisecond)
	return fmt.Sprintf("%s %v/%v", g.name(), left, g.ttl)
}

// holders is the first lease and, if it is shared, all of them.
func (m *model) holders() string {
	held := m.held()
	first := m.lease(held[0])
	if !wantsShared(held[0].limit) {
		return first
	}
	return first + m.others(held)
}

// others says how many permits are held, and by whom.
func (m *model) others(held []*granted) string {
	permits, names := uint64(0), []string{}
	for _, g := range held {
		permits += g.takes()
		names = append(names, fmt.Sprintf("%s#%d", g.who, g.token))
	}
	return fmt.Sprintf(" held=%d holders=%s", permits, strings.Join(names, ","))
}

// refuse answers a request that breaks a rule, without a look at the queue.
func (m *model) refuse(s step, status string) {
	m.answers = append(m.answers, s.from+": "+status)
}

func (m *model) answer(s step, status, shown string, how ...string) {
	line := s.from + ": " + status
	if shown != "" {
		line += " " + shown
	}
	if n := len(m.waiting()); n > 0 {
		line += fmt.Sprintf(" waiting=%d", n)
	}
	for _, h := range how {
		line += h
	}
	if s.stale {
		line += " stale"
	}
	m.answers = append(m.answers, line)
}
