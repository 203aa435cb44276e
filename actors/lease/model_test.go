package lease_test

import (
	"fmt"
	"slices"
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
	step  // the acquire
	token uint64
	ttl   time.Duration
	since lease.Instant
	// ended is how; empty while it is held.
	ended string
	// unheard is so after a wait, and of a grant in a batch, until the holder shows that it knows of its grant.
	unheard bool
	// shared are the ids of the reentrant requests that it answered.
	shared []string
}

// overRequest is a request that may not be granted any more: how its lease ended, and its token; or
// CANCELLED.
type overRequest struct {
	who, id, how string
	token        uint64
}

type waited struct {
	step // the acquire, the last of its repetitions
	over bool
}

func (g *granted) until() lease.Instant { return g.since.Add(g.ttl) }
func (w *waited) until() lease.Instant  { return w.at.Add(w.wait) }

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
	case "get":
		m.get(s)
	case "break":
		m.breakLease(s)
	case "undeliverable":
		if h := m.holder(); h != nil && h.token == s.token && h.unheard {
			m.end("RELEASED", "the client was gone")
		}
	case "dismiss":
		m.leave("UNAVAILABLE", m.waiting())
	case "surrender":
		return slices.Concat(m.changes, m.answers, m.surrender())
	case "takeover":
		m.takeOver()
		return slices.Concat(m.changes, m.answers, m.surrender())
	}
	return slices.Concat(m.changes, m.answers)
}

func (m *model) passTime() {
	m.leave("TIMEOUT", slices.DeleteFunc(m.waiting(), func(w *waited) bool { return w.until() > m.now }))
	if h := m.holder(); h != nil && h.until() <= m.now {
		m.end("EXPIRED", "")
	}
}

func (m *model) acquire(s step) {
	h := m.holder()
	over := m.overAs(s)
	switch {
	case over != nil && over.token > 0:
		m.answer(s, over.how, fmt.Sprintf("%s#%d", s.who, over.token))
	case over != nil:
		m.answer(s, over.how, "")
	case h == nil && s.nogrant != "":
		m.answer(s, "OVERLOADED", "")
	case h == nil:
		m.grant(s, s.batched)
	case s.who == h.who && s.reentrant:
		h.unheard = false
		h.share(s.id)
		if m.now.Add(s.ttl) > h.until() {
			m.extendTo(s.ttl)
		}
		m.answer(s, "GRANTED", m.lease())
	case s.who == h.who && s.id == h.id && s.id != "":
		h.unheard = false
		m.answer(s, "GRANTED", m.lease())
	case s.wait == 0:
		m.answer(s, "HELD", m.lease())
	case m.place(s) != nil:
		m.place(s).step = s
	case len(m.waiting()) >= s.room, s.nowait != "":
		m.answer(s, "OVERLOADED", "")
	default:
		m.waits = append(m.waits, &waited{step: s})
	}
}

func (m *model) release(s step) {
	if w := m.place(s); w != nil {
		m.leave("CANCELLED", []*waited{w})
		m.answer(s, "CANCELLED", "")
		m.withdraw(s)
		return
	}
	if s.id != "" && s.token == 0 {
		m.releaseRequest(s)
		return
	}
	m.withdraw(s)
	if m.owns(s) {
		m.end("RELEASED", "")
		m.answer(s, "RELEASED", "")
	}
}

// releaseRequest is a release that names a request and no token: nothing else counts.
func (m *model) releaseRequest(s step) {
	over := m.overAs(s)
	switch {
	case m.holds(s):
		m.end("RELEASED", "")
		m.answer(s, "RELEASED", "")
	case over != nil && over.token > 0:
		m.answer(s, over.how, "")
	default:
		m.withdraw(s)
		m.answer(s, "NOT_HELD", "")
	}
}

// holds reports whether the present lease was granted to the request that s names.
func (m *model) holds(s step) bool {
	h := m.holder()
	return h != nil && s.id != "" && h.id == s.id && h.who == s.who
}

// overAs is how the request that s names has ended, nil if it has not.
func (m *model) overAs(s step) *overRequest {
	if s.id == "" || m.holds(s) {
		return nil
	}
	for _, o := range slices.Backward(m.over) {
		if o.who == s.who && o.id == s.id {
			return &o
		}
	}
	return nil
}

func (m *model) withdraw(s step) {
	if s.id != "" && !m.holds(s) && m.overAs(s) == nil {
		m.over = append(m.over, overRequest{who: s.who, id: s.id, how: "CANCELLED"})
	}
}

// share keeps the latest sixteen requests.
func (g *granted) share(id string) {
	if id == "" || id == g.id || slices.Contains(g.shared, id) {
		return
	}
	g.shared = append(g.shared, id)
	g.shared = g.shared[max(0, len(g.shared)-16):]
}

// takeOver leaves of the requests that ended the one of the last grant.
func (m *model) takeOver() {
	m.over = nil
	if len(m.grants) == 0 {
		return
	}
	last := m.grants[len(m.grants)-1]
	last.shared, last.unheard = nil, false
	if last.ended != "" {
		last.end(m)
	}
}

// end notes that the requests of a lease have ended with it.
func (g *granted) end(m *model) {
	how := "EXPIRED"
	if g.ended == "RELEASED" {
		how = "RELEASED"
	}
	for _, id := range append([]string{g.id}, g.shared...) {
		m.over = append(m.over, overRequest{g.who, id, how, g.token})
	}
}

func (m *model) extend(s step) {
	if m.owns(s) {
		m.holder().unheard = false
		m.extendTo(s.ttl)
		m.answer(s, "EXTENDED", m.lease())
	}
}

// owns reports whether s speaks for the present holder, and says why not if it does not.
func (m *model) owns(s step) bool {
	h := m.holder()
	switch {
	case h == nil:
		m.answer(s, m.whyFree(s), "")
	case h.who != s.who:
		m.answer(s, "NOT_OWNER", m.lease())
	case s.token != 0 && s.token != h.token:
		m.answer(s, "STALE_TOKEN", m.lease())
	default:
		return true
	}
	return false
}

func (m *model) whyFree(s step) string {
	if len(m.grants) == 0 {
		return "NOT_HELD"
	}
	last := m.grants[len(m.grants)-1]
	mine := last.who == s.who && (s.token == 0 || s.token == last.token)
	switch {
	case mine && last.ended == "RELEASED" && s.verb == "release":
		return "RELEASED"
	case mine && last.ended != "RELEASED":
		return "EXPIRED"
	default:
		return "NOT_HELD"
	}
}

func (m *model) get(s step) {
	switch {
	case m.holder() != nil:
		m.answer(s, "HELD", m.lease())
	case len(m.grants) == 0:
		m.answer(s, "FREE", "")
	default:
		m.answer(s, "FREE", fmt.Sprintf("#%d", m.token()))
	}
}

func (m *model) breakLease(s step) {
	h := m.holder()
	switch {
	case h != nil && h.token == s.token:
		m.end("BROKEN", s.why)
		m.answer(s, "RELEASED", "")
	case h != nil:
		m.answer(s, "STALE_TOKEN", m.lease())
	case len(m.grants) > 0 && m.token() == s.token && m.grants[len(m.grants)-1].ended == "BROKEN":
		m.answer(s, "RELEASED", "")
	default:
		m.answer(s, "NOT_HELD", "")
	}
}

// next is when the next thing happens by itself.
func (m *model) next() lease.Instant {
	h := m.holder()
	if h == nil {
		return lease.Never
	}
	next := h.until()
	for _, w := range m.waiting() {
		next = min(next, w.until())
	}
	return next
}

func (m *model) holder() *granted {
	if n := len(m.grants); n > 0 && m.grants[n-1].ended == "" {
		return m.grants[n-1]
	}
	return nil
}

func (m *model) token() uint64 {
	if n := len(m.grants); n > 0 {
		return m.grants[n-1].token
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
		if s.id != "" && w.id == s.id && w.who == s.who {
			return w
		}
	}
	return nil
}

func (m *model) grant(s step, doubted bool) {
	if m.token() == uint64(messages.MaxToken) {
		m.answer(s, "EXHAUSTED", "")
		return
	}
	m.grants = append(m.grants, &granted{
		step: s, token: m.token() + 1, ttl: s.ttl, since: m.now, unheard: doubted,
	})
	m.change("ACQUIRED", "")
	m.answer(s, "GRANTED", m.lease(), map[bool]string{true: " doubted"}[doubted])
}

func (m *model) end(how, why string) {
	m.change(how, why)
	last := m.holder()
	last.ended = how
	last.end(m)
	for _, w := range m.waiting() {
		if m.holder() == nil {
			w.over = true
			if over := m.overAs(w.step); over != nil {
				m.answer(w.step, over.how, fmt.Sprintf("%s#%d", w.who, over.token))
				continue
			}
			m.grant(w.step, true)
		}
	}
}

func (m *model) extendTo(ttl time.Duration) {
	m.holder().ttl, m.holder().since = ttl, m.now
	m.change("EXTENDED", "")
}

// leave lets the waiters go, all at once.
func (m *model) leave(status string, gone []*waited) {
	for _, w := range gone {
		w.over = true
	}
	for _, w := range gone {
		m.answer(w.step, status, "")
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

func (m *model) change(kind, why string) {
	h := m.holder()
	line := fmt.Sprintf("%s %s#%d %v", kind, h.who, h.token, h.ttl)
	if why != "" {
		line += fmt.Sprintf(" %q", why)
	}
	m.changes = append(m.changes, line)
}

func (m *model) lease() string {
	h := m.holder()
	left := h.until().Sub(m.now).Truncate(time.Millisecond)
	return fmt.Sprintf("%s#%d %v/%v", h.who, h.token, left, h.ttl)
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
