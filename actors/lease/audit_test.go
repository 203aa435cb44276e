package lease_test

import (
	"fmt"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/holdfast-io/holdfast/actors/lease"
	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/journal"
)

// contract is which status answers which request, of those that this package decides.
var contract = map[messages.Status][]string{
	messages.Status_GRANTED:     {"acquire"},
	messages.Status_HELD:        {"acquire", "get"},
	messages.Status_TIMEOUT:     {"acquire"},
	messages.Status_CANCELLED:   {"acquire", "release"},
	messages.Status_EXTENDED:    {"extend"},
	messages.Status_HELD_BACK:   {"acquire", "get"},
	messages.Status_RELEASED:    {"release", "break", "acquire", "confirm"},
	messages.Status_EXPIRED:     {"release", "extend", "acquire", "set"},
	messages.Status_NOT_HELD:    {"release", "extend", "break", "set", "confirm"},
	messages.Status_NOT_OWNER:   {"acquire", "release", "extend", "set"},
	messages.Status_STALE_TOKEN: {"release", "extend", "break", "set", "confirm"},
	messages.Status_FREE:        {"get"},
	messages.Status_OVERLOADED:  {"acquire"},
	messages.Status_UNAVAILABLE: {"acquire"},
	messages.Status_EXHAUSTED:   {"acquire", "extend"},
	messages.Status_INVALID:     {"release", "extend", "set"},
	messages.Status_UPDATED:     {"set"},
}

// showsLease reports whether an answer shows a lease: the one that is held, or the one of a request that
// has ended.
func showsLease(verb string, status messages.Status) bool {
	switch status {
	case messages.Status_GRANTED, messages.Status_EXTENDED, messages.Status_UPDATED, messages.Status_HELD,
		messages.Status_NOT_OWNER, messages.Status_STALE_TOKEN, messages.Status_HELD_BACK:
		return true
	case messages.Status_RELEASED, messages.Status_EXPIRED:
		return verb == "acquire"
	default:
		return false
	}
}

// audit watches what goes in and comes out, and knows nothing of how it is decided.
type audit struct {
	image lease.Image // as the changes alone have it
	held  []holding   // in the order of their grants
	// lost are the ended leases because of which nothing is granted, in the order of their ends, and until when.
	lost []holding
	// token is the highest that was issued.
	token uint64
	// grants are all of them, and fence is the highest of theirs.
	grants []*journal.Grant
	fence  uint64
	// slots are the last tokens of each.
	slots []uint64
	queue []*step        // the waiting requests, in the order of their arrival
	open  []*step        // requests without an answer
	seen  map[string]int // how often each verb had which answer, and made which change
	last  *journal.Grant // the last one
	// granting is the token of the grant that the present answer shows for the first time; 0: none.
	granting uint64
	// over are the requests of this owner that ended.
	over   []request
	faults []string
}

// holding is a lease, its deadline, and when its shortest hold is over.
type holding struct {
	*journal.Grant
	deadline, rest lease.Instant
	// restMs is what was left of the shortest hold of a lease that has ended, when it did.
	restMs uint32
	// lost and confirmed say of a lease that has ended whether its loss holds the resource back, or was confirmed.
	lost, confirmed bool
}

// left is what is left of the shortest hold, in whole milliseconds.
func (h holding) left(now lease.Instant) uint32 { return millis(max(ceil(h.rest.Sub(now)), 0)) }

// ended is what is left of a lease that has ended at now: until when nothing is granted because of its loss, or of what
// is left of its shortest hold.
func (h holding) ended(now lease.Instant, lost bool, restMs uint32) holding {
	h.rest, h.restMs, h.lost = 0, restMs, lost
	if restMs > 0 {
		h.rest = now.Add(duration(restMs))
	}
	switch h.deadline = h.rest; {
	case lost && h.GetDelayMs() == 0:
		h.deadline = lease.Never
	case lost:
		h.deadline = max(h.rest, now.Add(duration(h.GetDelayMs())))
	}
	return h
}

// takes is how many permits the lease has, and tolerates how many may be held beside it and with it.
func (h holding) takes() int       { return max(len(h.GetSlots()), 1) }
func (h holding) tolerates() int64 { return max(int64(h.GetLimit()), 1) }

func newAudit(floor messages.Token) *audit {
	return &audit{
		image: lease.Image{Floor: floor}, token: uint64(floor), seen: map[string]int{},
	}
}

// The lines of answers, changes and leases are made when they are printed: a search takes millions of steps.
type (
	answerLine struct{ *lease.Answer }
	changeLine struct{ *journal.Change }
	leaseLine  struct{ *journal.Grant }
)

func (l answerLine) String() string { return sayAnswer(*l.Answer) }
func (l changeLine) String() string { return sayChange(l.Change) }
func (l leaseLine) String() string  { return sayLease(l.Lease(0)) }

func (a *audit) want(ok bool, format string, args ...any) {
	if !ok {
		a.faults = append(a.faults, fmt.Sprintf(format, args...))
	}
}

// check takes the audit over a step with its outcome.
func (a *audit) check(s *step, o lease.Outcome, after *lease.State) {
	if s.asks() {
		a.closed(s.from)
		a.open = append(a.open, s)
	}
	a.cameAgain(s, o)
	if s.verb == "release" && ownAnswer(s, o) == messages.Status_CANCELLED {
		i := slices.IndexFunc(a.queue, func(w *step) bool { return w.id == s.id && w.who == s.who })
		a.want(i >= 0 && s.knows(a.queue[i].hash), "%s withdraws a request of another", s)
	}
	for i, c := range o.Changes {
		a.change(s, c, o.Changes[i+1:])
		a.seen[s.verb+" makes "+c.GetKind().String()]++
		a.want(caused(c, s, o), "nothing explains the change %s", changeLine{c})
	}
	for i := range o.Answers {
		a.granted(&o.Answers[i], o)
		a.answer(s.at, &o.Answers[i])
	}
	a.surrendered(s, o)
	a.takenOver(s)
	if s.asks() && isFrom(s.from, a.open) >= 0 {
		a.enqueue(s)
	}
	a.state(s.at, after)
}

// isFrom returns the place of the request whose answer goes to a subject, -1 if there is none.
func isFrom(subject string, requests []*step) int {
	return slices.IndexFunc(requests, func(s *step) bool { return s.from == subject })
}

// asked returns the request whose answer goes to a subject; without a verb if there is none.
func (a *audit) asked(subject string) *step {
	if place := isFrom(subject, a.open); place >= 0 {
		return a.open[place]
	}
	return &step{}
}

func (a *audit) closed(subject string) {
	a.open = slices.DeleteFunc(a.open, func(s *step) bool { return s.from == subject })
}

func (a *audit) change(s *step, c *journal.Change, next []*journal.Change) {
	now, g := s.at, c.GetGrant()
	a.image.Apply(c, now)
	if c.GetKind() == messages.Event_ACQUIRED {
		a.acquired(now, g)
		return
	}
	if c.GetKind() == messages.Event_CONFIRMED {
		a.confirmed(s, c, next)
		return
	}
	place := slices.IndexFunc(a.held, func(h holding) bool { return h.GetToken() == g.GetToken() })
	if place < 0 {
		a.want(false, "%s is of no lease that is held", changeLine{c})
		return
	}
	h := a.held[place]
	a.want((now >= h.deadline) == (c.GetKind() == messages.Event_EXPIRED),
		"%s with %v to go", changeLine{c}, h.deadline.Sub(now))
	switch c.GetKind() {
	case messages.Event_EXTENDED, messages.Event_UPDATED:
		a.held[place] = a.updated(s, c, h)
		return
	}
	a.want(proto.Equal(g, h.Grant), "%s changes %v", changeLine{c}, h.Grant)
	a.held = slices.Delete(a.held, place, place+1)
	if c.GetReason() == "downgraded" {
		a.want(c.GetRestingMs() == 0 && g.GetMinHoldMs() == 0, "%s of %v", changeLine{c}, g)
		a.downgraded(s, g, next)
		return
	}
	rest := h.left(now)
	if s.verb == "undeliverable" || s.verb == "release" && s.id != "" && s.token == 0 {
		if c.GetKind() == messages.Event_RELEASED {
			rest = 0 // nothing is left of what its client does not know of
		}
	}
	a.want(c.GetRestingMs() == rest, "%s, of the shortest hold are left %d ms", changeLine{c}, rest)
	a.over = append(a.over, requestOf(g))
	if c.HoldsBack() || rest > 0 {
		a.lost = append(a.lost, h.ended(now, c.HoldsBack(), rest))
	}
}

// updated checks a lease that goes on: an extend or a set changes what it may, and tokens only become more, which no
// other lease has had.
func (a *audit) updated(s *step, c *journal.Change, h holding) holding {
	g, same := c.GetGrant(), proto.CloneOf(c.GetGrant())
	if tokens := g.GetTokens(); tokens != h.GetTokens() {
		a.want(s.verb == "extend" && tokens == s.tokens && tokens > max(h.GetTokens(), 1),
			"%s: there were %d tokens", changeLine{c}, h.GetTokens())
		a.want(a.token == uint64(h.Last()), "%s: token %d was issued", changeLine{c}, a.token)
		a.token, same.Tokens = uint64(g.Last()), h.GetTokens()
		a.seen["a block grows"]++
	}
	after := holding{Grant: g, deadline: h.deadline, rest: h.rest}
	switch {
	case c.GetKind() == messages.Event_EXTENDED:
		same.TtlMs, same.ExtendOrder = h.GetTtlMs(), h.GetExtendOrder()
		a.counts(s, c, g.GetExtendOrder(), h.GetExtendOrder())
		after.deadline = s.at.Add(duration(g.GetTtlMs()))
	case s.verb == "extend":
		a.want(s.isLate(h.GetExtendOrder()) && g.GetTokens() > h.GetTokens(), "%s by %s", changeLine{c}, s)
		a.seen["a block grows late"]++
	default:
		same.Metadata, same.SetOrder = h.GetMetadata(), h.GetSetOrder()
		a.counts(s, c, g.GetSetOrder(), h.GetSetOrder())
		isNews := h.GetMetadata()["meta"] != s.meta || g.GetSetOrder() > h.GetSetOrder()
		a.want(g.GetMetadata()["meta"] == s.meta && isNews, "%s: set to %q", changeLine{c}, s.meta)
	}
	a.want(proto.Equal(same, h.Grant), "%s changes more of %v", changeLine{c}, h.Grant)
	return after
}

// counts checks that a change comes from a request that is not late, and records its number if it is the highest.
func (a *audit) counts(s *step, c *journal.Change, order, before uint64) {
	a.want(s.order == 0 || s.order >= before, "%s: %d came after %d", changeLine{c}, s.order, before)
	a.want(order == max(before, s.order), "%s: of number %d after %d", changeLine{c}, s.order, before)
}

// confirmed checks the end of what an ended lease held back: its time is over, the step confirms it, or its owner takes
// the resource back, and then all of it. What is left of the shortest hold stays if a loss is confirmed.
func (a *audit) confirmed(s *step, c *journal.Change, next []*journal.Change) {
	g := c.GetGrant()
	place := slices.IndexFunc(a.lost, func(h holding) bool { return h.GetToken() == g.GetToken() })
	if place < 0 {
		a.want(false, "%s is of no lease that holds back", changeLine{c})
		return
	}
	h := a.lost[place]
	a.lost = slices.Delete(a.lost, place, place+1)
	a.want(proto.Equal(g, h.Grant), "%s changes %v", changeLine{c}, h.Grant)
	isOver, left := s.at >= h.deadline, uint32(0)
	switch c.GetReason() {
	case "the delay is over":
		a.want(isOver && s.at > h.rest, "%s with %v to go", changeLine{c}, h.deadline.Sub(s.at))
	case "the shortest hold is over":
		a.want(isOver && h.rest == h.deadline, "%s with %v to go", changeLine{c}, h.deadline.Sub(s.at))
		a.seen["a hold is over"]++
	case "taken back by its owner":
		a.want(s.verb == "acquire" && s.who == g.GetOwner() && opensHash(s, g) && !g.GetConfirm() && !isOver,
			"%s by %s", changeLine{c}, s)
		a.want(h.lost && s.at >= h.rest, "%s, which rests for %v", changeLine{c}, h.rest.Sub(s.at))
		anew := slices.IndexFunc(next, func(c *journal.Change) bool { return c.GetKind() == messages.Event_ACQUIRED })
		a.want(anew >= 0 && next[anew].GetGrant().GetOwner() == s.who,
			"%s, and nothing is granted to %s", changeLine{c}, s.who)
		a.seen["taken back beside others"] += min(1, len(a.held))
	default:
		a.want(s.verb == "confirm" && g.Has(messages.Token(s.token)) && !isOver, "%s by %s", changeLine{c}, s)
		a.want(h.lost || !h.confirmed, "%s, whose loss was confirmed before", changeLine{c})
		if h.lost {
			left = h.left(s.at)
		}
	}
	if a.want(c.GetRestingMs() == left, "%s, of the shortest hold are left %d ms", changeLine{c}, left); left > 0 {
		after := h.ended(s.at, false, left)
		after.confirmed = true
		a.lost = append(a.lost, after)
		a.seen["a confirmed loss rests"]++
	}
}

// opensHash reports whether a step has the secret of a lease, if it has one.
func opensHash(s *step, g *journal.Grant) bool {
	return len(g.GetSecretHash()) == 0 || slices.Equal(g.GetSecretHash(), hashOf(s.secret))
}

// request names a request: its owner, its id, and the hash of its secret or none.
type request struct{ owner, id, hash string }

// requestOf names the request of a grant.
func requestOf(g *journal.Grant) request {
	return request{g.GetOwner(), g.GetRequestId(), string(g.GetSecretHash())}
}

// acquired checks a grant: it fits, and its token, its fence and its slots are right.
func (a *audit) acquired(now lease.Instant, g *journal.Grant) {
	h := holding{Grant: g, deadline: now.Add(duration(g.GetTtlMs()))}
	if g.GetMinHoldMs() > 0 {
		h.rest = now.Add(duration(g.GetMinHoldMs()))
	}
	line := leaseLine{g}
	a.want(g.GetRequestId() == "" || !slices.Contains(a.over, requestOf(g)),
		"granted to request %s of %s, which had ended", g.GetRequestId(), g.GetOwner())
	a.want(g.GetToken() == a.token+1, "token %d comes after %d", g.GetToken(), a.token)
	a.want(g.GetTokens() != 1 && (g.GetTokens() == 0 || g.GetLimit() == 0), "%s: %d tokens", line, g.GetTokens())
	a.want(len(a.lost) == 0, "%s is granted while %v holds the resource back", line, a.lost)

	fence := uint64(g.Fence())
	for _, other := range a.held {
		a.want(fence == uint64(other.Fence()), "%s has the fence %d beside %d", line, fence, other.Fence())
	}
	a.want(len(a.held) > 0 || fence == g.GetToken(), "%s does not begin a phase, though the resource was free", line)
	a.want(len(a.held) > 0 || fence > a.fence, "%s has the fence %d behind %d", line, fence, a.fence)
	a.want((g.GetLimit() == 0) == (len(g.GetSlots()) == 0), "%s: its slots", line)
	a.want((g.GetLimit() == 0) == (g.GetPhase() == 0), "%s: its phase is %d", line, g.GetPhase())
	a.want(g.GetLimit() != 1, "%s: an exclusive lease has no limit", line)
	kept := g.GetFormer() > 0 // a downgraded lease has the slots that it had
	a.want(kept || slices.Equal(g.GetSlots(), a.freeSlots(len(g.GetSlots()))),
		"%s: others are free: %v", line, a.freeSlots(len(g.GetSlots())))
	for _, slot := range g.GetSlots() {
		for len(a.slots) <= int(slot) {
			a.slots = append(a.slots, 0)
		}
		a.want(g.GetToken() > a.slots[slot], "slot %d has token %d after %d", slot, g.GetToken(), a.slots[slot])
		a.slots[slot] = g.GetToken()
	}
	a.held = append(a.held, h)
	for _, holder := range a.held {
		a.want(int64(a.permits()) <= holder.tolerates(),
			"%d permits are held beside %s", a.permits(), leaseLine{holder.Grant})
	}
	a.last, a.token, a.fence = g, uint64(g.Last()), max(a.fence, fence)
	a.grants = append(a.grants, g)
}

func (a *audit) permits() (n int) {
	for _, h := range a.held {
		n += h.takes()
	}
	return n
}

// freeSlots are the n smallest numbers that no permit has.
func (a *audit) freeSlots(n int) (free []uint32) {
	taken := func(slot uint32) bool {
		return slices.ContainsFunc(a.held, func(h holding) bool { return slices.Contains(h.GetSlots(), slot) })
	}
	for slot := uint32(0); len(free) < n; slot++ {
		if !taken(slot) {
			free = append(free, slot)
		}
	}
	return free
}

// downgraded checks that at once another lease of the same owner is in the place of g, which was held alone.
func (a *audit) downgraded(s *step, g *journal.Grant, next []*journal.Change) {
	a.want(len(a.held) == 0, "%s is downgraded beside others", leaseLine{g})
	if len(next) == 0 || next[0].GetKind() != messages.Event_ACQUIRED {
		a.want(false, "nothing is in the place of %s, which was downgraded", leaseLine{g})
		return
	}
	want := proto.CloneOf(g)
	want.Token, want.Phase, want.Former = a.token+1, a.token+1, g.GetToken()
	want.Limit, want.Tokens, want.AcquiredAtMs = s.limit, 0, s.time().UnixMillis
	if !s.isLate(g.GetExtendOrder()) {
		want.TtlMs, want.ExtendOrder = millis(s.ttl), max(g.GetExtendOrder(), s.order)
	}
	if g.GetLimit() == 0 {
		want.Slots = []uint32{0}
	}
	a.want(proto.Equal(next[0].GetGrant(), want), "%v is in the place of %v", next[0].GetGrant(), g)
	a.want(s.limit > max(g.GetLimit(), 1), "downgraded from %d to %d", g.GetLimit(), s.limit)
}

// granted checks that a new lease is what was asked for, and that no request overtakes another.
func (a *audit) granted(answer *lease.Answer, o lease.Outcome) {
	a.granting = 0
	l := answer.Reply.GetLease()
	isNew := slices.ContainsFunc(o.Changes, func(c *journal.Change) bool {
		return c.GetKind() == messages.Event_ACQUIRED && c.GetGrant().GetFormer() == 0 && reports(*answer, c)
	})
	first := slices.IndexFunc(o.Answers, func(x lease.Answer) bool { // a repetition may have come in the same step
		return x.Reply.GetStatus() == messages.Status_GRANTED && x.Reply.GetLease().GetToken() == l.GetToken()
	})
	if !isNew || o.Answers[first].To.Subject != answer.To.Subject {
		return
	}
	op := a.asked(answer.To.Subject)
	a.granting = l.GetToken()
	limit, permits := op.limit, int(max(op.permits, 1))
	if limit <= 1 {
		limit, permits = 0, 0
	}
	a.want(l.GetLimit() == limit && len(l.GetSlots()) == permits,
		"%s: asked for %d of %d", answerLine{answer}, permits, limit)
	a.want(max(l.GetTokens(), 1) == max(op.tokens, 1), "%s: asked for %d tokens", answerLine{answer}, op.tokens)
	g := a.grants[slices.IndexFunc(a.grants, func(g *journal.Grant) bool { return g.GetToken() == l.GetToken() })]
	a.want(g.GetMinHoldMs() == millis(op.hold), "%s: its shortest hold is %d ms", answerLine{answer}, g.GetMinHoldMs())
	a.want(len(a.queue) == 0 || a.queue[0].from == answer.To.Subject || takesBack(o),
		"%s: before %v", answerLine{answer}, a.queue)
	a.seen["granted beside others"] += min(1, len(a.held)-1)
}

// takesBack reports whether in an outcome an owner takes back what it has lost.
func takesBack(o lease.Outcome) bool {
	return slices.ContainsFunc(o.Changes, func(c *journal.Change) bool {
		return c.GetReason() == "taken back by its owner"
	})
}

// cameAgain takes a waiting request that came again and was answered: in its place, if it got a lease of its own; else
// it has left the queue for a lease that its owner has.
func (a *audit) cameAgain(s *step, o lease.Outcome) {
	i := slices.IndexFunc(a.queue, func(w *step) bool { return w.id == s.id && w.who == s.who && s.knows(w.hash) })
	own := ownAnswer(s, o)
	if s.verb != "acquire" || s.id == "" || i < 0 ||
		own != messages.Status_GRANTED && own != messages.Status_EXHAUSTED {
		return
	}
	if slices.ContainsFunc(o.Answers, func(answer lease.Answer) bool { return answer.To.Subject == a.queue[i].from }) {
		return
	}
	a.closed(a.queue[i].from)
	a.queue[i] = s
	anew := func(c *journal.Change) bool {
		return c.GetKind() == messages.Event_ACQUIRED &&
			requestOf(c.GetGrant()) == request{s.who, s.id, string(hashOf(s.hash))}
	}
	if own == messages.Status_GRANTED && (takesBack(o) || !slices.ContainsFunc(o.Changes, anew)) {
		a.queue = slices.Delete(a.queue, i, i+1)
		a.want(s.reentrant || takesBack(o), "%s was granted, though it waits", s)
		a.seen["answered instead"]++
	}
}

// takenOver leaves of the requests that ended the one of the last grant.
func (a *audit) takenOver(s *step) {
	if !s.changesOwner() {
		return
	}
	if s.verb == "restart" {
		a.restart(s.at)
	}
	a.over = nil
	if a.last != nil && !slices.ContainsFunc(a.held, func(h holding) bool { return h.GetToken() == a.last.GetToken() }) {
		a.over = []request{requestOf(a.last)}
	}
}

// restart lets all times begin anew.
func (a *audit) restart(now lease.Instant) {
	a.image.Restart(now, nil)
	for i, h := range a.held {
		if a.held[i].deadline = now.Add(duration(h.GetTtlMs())); h.GetMinHoldMs() > 0 {
			a.held[i].rest = now.Add(duration(h.GetMinHoldMs()))
		}
	}
	for i, h := range a.lost {
		a.lost[i] = h.ended(now, h.lost, h.restMs)
	}
}

// ownAnswer is how the request of a step was answered, unspecified if it was not.
func ownAnswer(s *step, o lease.Outcome) messages.Status {
	for _, a := range slices.Backward(o.Answers) {
		if a.To.Subject == s.from {
			return a.Reply.GetStatus()
		}
	}
	return messages.Status_STATUS_UNSPECIFIED
}

// caused reports whether the step and its answers explain a change: a refused request makes none.
func caused(c *journal.Change, s *step, o lease.Outcome) bool {
	own := ownAnswer(s, o)
	switch c.GetKind() {
	case messages.Event_ACQUIRED:
		return slices.ContainsFunc(o.Answers, func(a lease.Answer) bool { return reports(a, c) })
	case messages.Event_EXTENDED:
		return own == messages.Status_EXTENDED || own == messages.Status_GRANTED && s.reentrant
	case messages.Event_RELEASED:
		if c.GetReason() == "downgraded" {
			return s.verb == "extend" && own == messages.Status_EXTENDED
		}
		g := c.GetGrant()
		isNamed := s.token == 0 && (s.id == "" || s.id == g.GetRequestId()) ||
			s.token != 0 && (s.token == g.GetToken() || s.token == g.GetFormer())
		return s.verb == "undeliverable" ||
			s.verb == "release" && own == messages.Status_RELEASED && isNamed && opensHash(s, g)
	case messages.Event_UPDATED:
		return s.verb == "set" && own == messages.Status_UPDATED || s.verb == "extend" && own == messages.Status_EXTENDED
	case messages.Event_BROKEN:
		return s.verb == "break" && own == messages.Status_RELEASED && c.GetGrant().Has(messages.Token(s.token))
	case messages.Event_CONFIRMED: // see audit.confirmed
		return s.verb != "confirm" || own == messages.Status_RELEASED || isOver(c)
	default:
		return c.GetKind() == messages.Event_EXPIRED
	}
}

// isOver reports whether a change says that time has ended what an ended lease held back.
func isOver(c *journal.Change) bool {
	return c.GetReason() == "the delay is over" || c.GetReason() == "the shortest hold is over"
}

// reports reports whether the answer shows the change.
func reports(a lease.Answer, c *journal.Change) bool {
	same := a.Reply.GetLease().GetToken() == c.GetGrant().GetToken()
	switch status := a.Reply.GetStatus(); c.GetKind() {
	case messages.Event_ACQUIRED:
		return same && (status == messages.Status_GRANTED ||
			status == messages.Status_EXTENDED && c.GetGrant().GetFormer() > 0)
	case messages.Event_CONFIRMED:
		return status == messages.Status_RELEASED && !isOver(c)
	case messages.Event_RELEASED, messages.Event_BROKEN:
		return status == messages.Status_RELEASED && c.GetReason() != "downgraded"
	default:
		return false
	}
}

func (a *audit) answer(now lease.Instant, answer *lease.Answer) {
	op := a.asked(answer.To.Subject)
	a.closed(answer.To.Subject)
	r, line := answer.Reply, answerLine{answer}
	status, shown := r.GetStatus(), r.GetLease()
	a.seen[op.verb+" "+status.String()]++
	if op.isLate(r.GetOrder()) {
		a.seen["late "+op.verb]++
	}
	waited := isFrom(op.from, a.queue) >= 0

	a.want(op.verb != "", "%s: it answers no request, or one that was answered before", line)
	a.want(slices.Contains(contract[status], op.verb), "%s: no answer to %s", line, op.verb)
	_, failed := status.ServiceCode()
	a.want(failed == (r.GetError() != ""), "%s: the error is %q", line, r.GetError())
	a.want(answer.Stale == op.stale, "%s: whether it is stale", line)
	if shown != nil {
		a.want(shown.GetResource() == resource, "%s: of %s", line, shown.GetResource())
		fence := shown.GetToken() // of a free resource: that of the next exclusive lease is higher
		known := slices.IndexFunc(a.grants, func(g *journal.Grant) bool { return g.GetToken() == shown.GetToken() })
		if known >= 0 && status != messages.Status_FREE {
			fence = uint64(a.grants[known].Fence())
		}
		a.want(shown.GetFence() == messages.Token(fence).String(), "%s: fence %s", line, shown.GetFence())
	}
	switch {
	case status == messages.Status_FREE:
	case status == messages.Status_NOT_OWNER && shown == nil: // it was free when it was the turn of this request
		a.want(op.verb == "acquire" && (waited || len(a.held) == 0), "%s: it shows no lease", line)
	case status == messages.Status_TIMEOUT: // it is free, or its lease has ended in the same turn, or it is held back
	default:
		a.want((shown != nil) == showsLease(op.verb, status), "%s: whether it shows a lease", line)
	}
	if status != messages.Status_HELD_BACK {
		a.want((status == messages.Status_HELD) == (r.GetHeld() > 0), "%s: %d permits", line, r.GetHeld())
		a.want((status == messages.Status_HELD) == (len(r.GetHolders()) > 0), "%s: holders %v", line, r.GetHolders())
	}
	switch status {
	case messages.Status_HELD:
		a.holders(r)
		a.want(proto.Equal(r.GetLease(), r.GetHolders()[0]),
			"%v is not the first holder, %v", r.GetLease(), r.GetHolders()[0])
		a.want(len(a.lost) == 0, "%s: %v holds back", line, a.lost)
	case messages.Status_HELD_BACK:
		a.holders(r)
		a.heldBack(now, r)
	case messages.Status_GRANTED, messages.Status_EXTENDED, messages.Status_UPDATED:
		a.want(shown.GetOwner() == op.who, "%s: to %s", line, op.who)
		a.want(a.proves(op, shown.GetToken()), "%s: without the secret of the lease", line)
		isSet := slices.ContainsFunc(a.held, func(h holding) bool {
			return h.GetToken() == shown.GetToken() && h.GetMetadata()["meta"] == op.meta
		})
		a.want(status != messages.Status_UPDATED || isSet || op.isLate(r.GetOrder()), "%s: nothing records it", line)
	case messages.Status_NOT_OWNER:
		a.want(op.verb == "acquire" || shown.GetOwner() != op.who || !a.proves(op, shown.GetToken()),
			"%s: to %s", line, op.who)
	case messages.Status_CANCELLED:
		if op.verb == "acquire" && (waited || op.hash == op.secret) { // else another request was meant
			a.over = append(a.over, request{op.who, op.id, string(hashOf(op.hash))})
		}
	case messages.Status_RELEASED, messages.Status_EXPIRED:
		if op.verb == "acquire" {
			a.want(shown.GetOwner() == op.who && shown.GetToken() <= a.token, "%s: never granted to %s", line, op.who)
		}
	case messages.Status_EXHAUSTED:
		a.want(a.token+a.needs(op) > uint64(messages.MaxToken), "%s: the last token is %d", line, a.token)
	case messages.Status_TIMEOUT:
		a.want(op.at.Add(op.wait) <= now, "%s: with %v to go", line, op.at.Add(op.wait).Sub(now))
	}
	a.dequeue(answer, status)
}

// needs is how many further tokens a request needs.
func (a *audit) needs(op *step) uint64 {
	if op.verb == "extend" && op.tokens > 0 {
		return uint64(op.tokens - max(a.held[0].GetTokens(), 1))
	}
	return op.block()
}

// proves reports whether a request has the secret of the lease with the token, or is the one that it was granted to.
func (a *audit) proves(op *step, token uint64) bool {
	i := slices.IndexFunc(a.held, func(h holding) bool { return h.GetToken() == token })
	if i < 0 {
		return true // it has ended in the same step
	}
	hash := string(a.held[i].GetSecretHash())
	granted := op.verb == "acquire" && op.hash != "" && a.granting == token
	return hash == "" || op.secret != "" && hash == string(hashOf(op.secret)) || granted
}

// holders checks that an answer shows all who hold the resource.
func (a *audit) holders(r *messages.Reply) {
	a.want(int(r.GetHeld()) == a.permits(), "%d permits are held, by the changes %d", r.GetHeld(), a.permits())
	same := slices.EqualFunc(r.GetHolders(), a.held, func(l *messages.Lease, h holding) bool {
		return l.GetToken() == h.GetToken() && l.GetOwner() == h.GetOwner()
	})
	a.want(same, "holders %v, by the changes %v", r.GetHolders(), a.held)
}

// heldBack checks that an answer shows a lost lease, and for how long the resource is held back.
func (a *audit) heldBack(now lease.Instant, r *messages.Reply) {
	var left time.Duration
	endless, shown := false, false
	for _, h := range a.lost {
		endless = endless || h.deadline == lease.Never
		left = max(left, h.deadline.Sub(now))
		shown = shown || h.GetToken() == r.GetLease().GetToken()
	}
	a.want(shown, "held back by %v, by the changes %v", r.GetLease(), a.lost)
	a.want(endless == (r.GetLeftMs() == 0), "held back for %d ms, by the changes %v", r.GetLeftMs(), a.lost)
	rounded := duration(r.GetLeftMs()) - left
	a.want(endless || rounded >= 0 && rounded < time.Millisecond,
		"held back for %d ms, with %v to go", r.GetLeftMs(), left)
}

// dequeue lets an answered waiter go; waiters that are granted or sent away go in
// the order of their arrival.
func (a *audit) dequeue(answer *lease.Answer, status messages.Status) {
	i := isFrom(answer.To.Subject, a.queue)
	if status == messages.Status_GRANTED {
		a.want(i < 0 || answer.InDoubt, "%s: it waited", answerLine{answer})
		a.want(i >= 0 || answer.To.Batched || !answer.InDoubt, "%s: it did not wait", answerLine{answer})
	}
	a.want(answer.Waited == (i >= 0), "%s: it says that it waited: %v", answerLine{answer}, answer.Waited)
	if i < 0 {
		return
	}
	if status != messages.Status_TIMEOUT && status != messages.Status_CANCELLED {
		a.want(i == 0, "%s: before %s", answerLine{answer}, a.queue[0].from)
	}
	a.queue = slices.Delete(a.queue, i, i+1)
}

// surrendered lets all who wait go when they are given back, as they came and in their order.
func (a *audit) surrendered(s *step, o lease.Outcome) {
	if s.verb != "surrender" && !s.changesOwner() {
		a.want(len(o.Surrendered) == 0, "%s surrenders %v", s, o.Surrendered)
		return
	}
	a.want(len(o.Surrendered) == len(a.queue), "%d are surrendered of %d", len(o.Surrendered), len(a.queue))
	for i, got := range o.Surrendered[:min(len(o.Surrendered), len(a.queue))] {
		came := a.queue[i]
		want := came.event().(lease.Acquire)
		left, wait := came.at.Add(came.wait).Sub(s.at), duration(got.Request.GetWaitMs())
		a.want(wait >= left && wait < left+time.Millisecond && wait > 0,
			"%s: waits %v, with %v to go", came.from, wait, left)
		want.Request.WaitMs = got.Request.GetWaitMs()
		a.want(proto.Equal(got.Request, want.Request), "%s: surrendered as %v", came.from, got.Request)
		a.want(got.From == want.From, "%s is surrendered in the place of %s", got.From.Subject, came.from)
		a.closed(came.from)
		a.seen["surrendered"]++
	}
	a.queue = nil
}

// enqueue lets a request wait that was not answered, in its old place if it has one.
func (a *audit) enqueue(s *step) {
	a.want(s.verb == "acquire" && s.wait > 0, "%s is not answered", s)
	i := slices.IndexFunc(a.queue, func(w *step) bool { return s.id != "" && w.id == s.id && w.who == s.who })
	if i < 0 {
		a.want(len(a.queue) < s.room, "%s waits where there is no room", s)
		a.queue = append(a.queue, s)
		return
	}
	a.want(s.knows(a.queue[i].hash), "%s takes the place of %s", s, a.queue[i])
	if a.queue[i].from != s.from {
		a.closed(a.queue[i].from)
	}
	a.queue[i] = s
}

func (a *audit) state(now lease.Instant, s *lease.State) {
	image, n := s.Image(), 0
	for h := range image.Holdings() {
		if n == len(a.held) || !proto.Equal(h.Grant, a.held[n].Grant) || h.Deadline != a.held[n].deadline ||
			h.Rest != a.held[n].rest {
			a.want(false, "held: %v until %v, by the changes %v", h.Grant, h.Deadline, a.held)
		}
		n++
	}
	runs := slices.ContainsFunc(a.lost, func(h holding) bool { return h.deadline != lease.Never })
	switch { // nothing is boxed that is not printed
	case !sameImage(image, a.image):
		a.want(false, "replay gives %+v, the state is %+v", a.image, image)
	case n != len(a.held), image.Held() != (n > 0), image.Holders() != n, image.Permits() != uint64(a.permits()),
		image.Counts().Ended != len(a.lost), image.HeldBack() != (len(a.lost) > 0),
		image.IsFree() != (n+len(a.lost) == 0), image.Leases() != n+len(a.lost), uint64(image.Token()) != a.token:
		a.want(false, "the state is %+v of %d permits, by the changes held are %v, lost %v, and the last token is %d",
			image, image.Permits(), a.held, a.lost, a.token)
	case s.Waiting() != len(a.queue):
		a.want(false, "%d wait, by the answers %d", s.Waiting(), len(a.queue))
	case s.Waiting() > 0 && a.fits(a.queue[0]):
		a.want(false, "%s waits, though it fits", a.queue)
	case (s.Wake() == lease.Never) != (len(a.held)+len(a.queue) == 0 && !runs):
		a.want(false, "wakes at %v", s.Wake())
	case s.Wake() <= now:
		a.want(false, "wakes at %v, which is past", s.Wake())
	}
}

// fits reports whether the request of a step may hold beside those that do.
func (a *audit) fits(s *step) bool {
	if len(a.lost) > 0 {
		return false
	}
	sum := int64(a.permits()) + int64(max(s.permits, 1))
	return len(a.held) == 0 || sum <= max(int64(s.limit), 1) &&
		!slices.ContainsFunc(a.held, func(h holding) bool { return sum > h.tolerates() })
}
