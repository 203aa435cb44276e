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
	messages.Status_RELEASED:    {"release", "break", "acquire"},
	messages.Status_EXPIRED:     {"release", "extend", "acquire"},
	messages.Status_NOT_HELD:    {"release", "extend", "break"},
	messages.Status_NOT_OWNER:   {"release", "extend"},
	messages.Status_STALE_TOKEN: {"release", "extend", "break"},
	messages.Status_FREE:        {"get"},
	messages.Status_OVERLOADED:  {"acquire"},
	messages.Status_UNAVAILABLE: {"acquire"},
	messages.Status_EXHAUSTED:   {"acquire"},
}

// showsLease reports whether an answer shows a lease: the one that is held, or the one of a request that
// has ended.
func showsLease(verb string, status messages.Status) bool {
	switch status {
	case messages.Status_GRANTED, messages.Status_EXTENDED, messages.Status_HELD,
		messages.Status_NOT_OWNER, messages.Status_STALE_TOKEN:
		return true
	case messages.Status_RELEASED, messages.Status_EXPIRED:
		return verb == "acquire"
	default:
		return false
	}
}

// audit watches what goes in and comes out, and knows nothing of how it is decided.
type audit struct {
	image    lease.Image // as the changes alone tell it
	held     bool
	holder   string
	token    uint64
	deadline lease.Instant
	queue    []step          // the waiting requests, in the order of their arrival
	open     map[string]step // requests without an answer, by where it is to go
	seen     map[string]int  // how often each verb had which answer, and made which change
	last     *journal.Grant  // the last one
	// over are the requests of this owner that ended, by owner and id, with the token; 0: withdrawn.
	over   map[[2]string]uint64
	faults []string
}

func newAudit(floor messages.Token) *audit {
	return &audit{
		image: lease.Image{Floor: floor}, token: uint64(floor),
		open: map[string]step{}, seen: map[string]int{}, over: map[[2]string]uint64{},
	}
}

func (a *audit) want(ok bool, format string, args ...any) {
	if !ok {
		a.faults = append(a.faults, fmt.Sprintf(format, args...))
	}
}

// check takes the audit over a step with its outcome.
func (a *audit) check(s step, o lease.Outcome, after *lease.State) {
	if s.asks() {
		a.open[s.from] = s
	}
	for _, c := range o.Changes {
		a.change(s.at, c)
		a.seen[s.verb+" makes "+c.GetKind().String()]++
		a.want(caused(c, s, o), "nothing explains the change %s", sayChange(c))
	}
	for _, answer := range o.Answers {
		a.answer(s.at, answer)
	}
	a.surrendered(s, o)
	a.takenOver(s)
	if _, waits := a.open[s.from]; waits && s.asks() {
		a.enqueue(s)
	}
	a.state(s.at, after)
}

func (a *audit) change(now lease.Instant, c *journal.Change) {
	g := c.GetGrant()
	a.image.Apply(c, now)
	if c.GetKind() == messages.Event_ACQUIRED {
		a.want(!a.held, "granted to %s while %s holds it", g.GetOwner(), a.holder)
		_, over := a.over[[2]string{g.GetOwner(), g.GetRequestId()}]
		a.want(!over || g.GetRequestId() == "", "granted to request %s of %s, which had ended", g.GetRequestId(), g.GetOwner())
		a.last = g
		a.want(g.GetToken() == a.token+1, "token %d comes after %d", g.GetToken(), a.token)
		a.held, a.holder, a.token, a.deadline = true, g.GetOwner(), g.GetToken(), now.Add(duration(g.GetTtlMs()))
		return
	}
	a.want(a.held && g.GetOwner() == a.holder && g.GetToken() == a.token, "%s is not the lease that is held", sayChange(c))
	a.want((now >= a.deadline) == (c.GetKind() == messages.Event_EXPIRED), "%s with %v to go", sayChange(c), a.deadline.Sub(now))
	if c.GetKind() == messages.Event_EXTENDED {
		a.deadline = now.Add(duration(g.GetTtlMs()))
	} else {
		a.held = false
		a.over[[2]string{g.GetOwner(), g.GetRequestId()}] = g.GetToken()
	}
}

// takenOver leaves of the requests that ended the one of the last grant.
func (a *audit) takenOver(s step) {
	if s.verb != "takeover" {
		return
	}
	clear(a.over)
	if a.last != nil && !a.held {
		a.over[[2]string{a.last.GetOwner(), a.last.GetRequestId()}] = a.last.GetToken()
	}
}

// caused reports whether the step and its answers explain a change: a refused request makes none.
func caused(c *journal.Change, s step, o lease.Outcome) bool {
	own := messages.Status_STATUS_UNSPECIFIED
	if n := len(o.Answers); n > 0 && o.Answers[n-1].To.Subject == s.from {
		own = o.Answers[n-1].Reply.GetStatus()
	}
	switch c.GetKind() {
	case messages.Event_ACQUIRED:
		return slices.ContainsFunc(o.Answers, func(a lease.Answer) bool { return reports(a, c) })
	case messages.Event_EXTENDED:
		return own == messages.Status_EXTENDED || own == messages.Status_GRANTED && s.reentrant
	case messages.Event_RELEASED:
		return s.verb == "undeliverable" || s.verb == "release" && own == messages.Status_RELEASED
	case messages.Event_BROKEN:
		return s.verb == "break" && own == messages.Status_RELEASED
	default:
		return c.GetKind() == messages.Event_EXPIRED
	}
}

func (a *audit) answer(now lease.Instant, answer lease.Answer) {
	op, asked := a.open[answer.To.Subject]
	delete(a.open, answer.To.Subject)
	r, line := answer.Reply, sayAnswer(answer)
	status, shown := r.GetStatus(), r.GetLease()
	a.seen[op.verb+" "+status.String()]++

	a.want(asked, "%s: it answers no request, or one that was answered before", line)
	a.want(slices.Contains(contract[status], op.verb), "%s: no answer to %s", line, op.verb)
	_, failed := status.ServiceCode()
	a.want(failed == (r.GetError() != ""), "%s: the error is %q", line, r.GetError())
	a.want(answer.Stale == op.stale, "%s: whether it is stale", line)
	if shown != nil {
		a.want(shown.GetResource() == resource, "%s: of %s", line, shown.GetResource())
		a.want(shown.GetFence() == messages.Token(shown.GetToken()).String(), "%s: fence %s", line, shown.GetFence())
	}
	if status != messages.Status_FREE {
		a.want((shown != nil) == showsLease(op.verb, status), "%s: whether it shows a lease", line)
	}
	switch status {
	case messages.Status_GRANTED, messages.Status_EXTENDED:
		a.want(shown.GetOwner() == op.who, "%s: to %s", line, op.who)
	case messages.Status_NOT_OWNER:
		a.want(shown.GetOwner() != op.who, "%s: to %s", line, op.who)
	case messages.Status_CANCELLED:
		if op.verb == "acquire" {
			a.over[[2]string{op.who, op.id}] = 0
		}
	case messages.Status_RELEASED, messages.Status_EXPIRED:
		if op.verb == "acquire" {
			a.want(shown.GetOwner() == op.who && shown.GetToken() <= a.token, "%s: never granted to %s", line, op.who)
		}
	case messages.Status_TIMEOUT:
		a.want(op.at.Add(op.wait) <= now, "%s: with %v to go", line, op.at.Add(op.wait).Sub(now))
	}
	a.dequeue(answer, status)
}

// dequeue lets an answered waiter go; waiters that are granted or sent away go in
// the order of their arrival.
func (a *audit) dequeue(answer lease.Answer, status messages.Status) {
	i := slices.IndexFunc(a.queue, func(w step) bool { return w.from == answer.To.Subject })
	if status == messages.Status_GRANTED {
		a.want(i < 0 || answer.InDoubt, "%s: it waited", sayAnswer(answer))
		a.want(i >= 0 || answer.To.Batched || !answer.InDoubt, "%s: it did not wait", sayAnswer(answer))
	}
	if i < 0 {
		return
	}
	if status != messages.Status_TIMEOUT && status != messages.Status_CANCELLED {
		a.want(i == 0, "%s: before %s", sayAnswer(answer), a.queue[0].from)
	}
	a.queue = slices.Delete(a.queue, i, i+1)
}

// surrendered lets all who wait go when they are given back, as they came and in their order.
func (a *audit) surrendered(s step, o lease.Outcome) {
	if s.verb != "surrender" && s.verb != "takeover" {
		a.want(len(o.Surrendered) == 0, "%s surrenders %v", s, o.Surrendered)
		return
	}
	a.want(len(o.Surrendered) == len(a.queue), "%d are surrendered of %d", len(o.Surrendered), len(a.queue))
	for i, got := range o.Surrendered[:min(len(o.Surrendered), len(a.queue))] {
		came := a.queue[i]
		want := came.event().(lease.Acquire)
		left, wait := came.at.Add(came.wait).Sub(s.at), duration(got.Request.GetWaitMs())
		a.want(wait >= left && wait < left+time.Millisecond && wait > 0, "%s: waits %v, with %v to go", came.from, wait, left)
		want.Request.WaitMs = got.Request.GetWaitMs()
		a.want(proto.Equal(got.Request, want.Request), "%s: surrendered as %v", came.from, got.Request)
		a.want(got.From == want.From, "%s is surrendered in the place of %s", got.From.Subject, came.from)
		delete(a.open, came.from)
		a.seen["surrendered"]++
	}
	a.queue = nil
}

// enqueue lets a request wait that was not answered, in its old place if it has one.
func (a *audit) enqueue(s step) {
	a.want(s.verb == "acquire" && s.wait > 0, "%s is not answered", s)
	i := slices.IndexFunc(a.queue, func(w step) bool { return s.id != "" && w.id == s.id && w.who == s.who })
	if i < 0 {
		a.want(len(a.queue) < s.room, "%s waits where there is no room", s)
		a.queue = append(a.queue, s)
		return
	}
	if a.queue[i].from != s.from {
		delete(a.open, a.queue[i].from)
	}
	a.queue[i] = s
}

func (a *audit) state(now lease.Instant, s *lease.State) {
	image := s.Image()
	a.want(sameImage(image, a.image), "replay gives %+v, the state is %+v", a.image, image)
	a.want(image.Held() == a.held, "held: %v, by the changes %v", image.Held(), a.held)
	a.want(uint64(image.Token()) == a.token, "token %d, by the changes %d", image.Token(), a.token)
	a.want(s.Waiting() == len(a.queue), "%d wait, by the answers %d", s.Waiting(), len(a.queue))
	a.want(s.Waiting() == 0 || a.held, "%d wait for a free resource", s.Waiting())
	a.want((s.Wake() == lease.Never) == !a.held, "wakes at %v", s.Wake())
	a.want(s.Wake() > now, "wakes at %v, which is past", s.Wake())
}
