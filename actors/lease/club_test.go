package lease_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/holdfast-io/holdfast/actors/lease"
	"github.com/holdfast-io/holdfast/messages"
)

// club is some resources that share their sessions, beside a model of them.
type club struct {
	now      lease.Instant
	epoch    uint64
	sessions *lease.Sessions
	past     *lease.EndedRequests
	states   []*lease.State
	// recorded is what a new owner would know.
	recorded []*lease.Image
	model    clubModel
	asked    int
	// due are the resources that have yet to get a tick.
	due []string
	// losses has the number that was shown for each state of a model's session.
	losses map[string]uint64
	faults []string
}

var (
	clubResources = []string{"r0", "r1", "r2", "r3"}
	clubSessions  = []string{"session-000000000", "session-111111111"}
)

// clubAct is something that happens to a club. What an act does not need is left out.
type clubAct struct {
	verb              string
	resource, session string
	ttl, wait         uint32
	ephemeral         bool
	order             uint64
	notices           bool
	passing           time.Duration
}

func (a clubAct) String() string {
	words := a.verb
	for _, word := range []struct {
		said bool
		text string
	}{
		{a.resource != "", a.resource}, {a.session != "", "session=" + a.session},
		{a.ttl > 0, fmt.Sprint("ttl=", a.ttl)},
		{a.wait > 0, fmt.Sprint("wait=", a.wait)}, {a.ephemeral, "ephemeral"},
		{a.order > 0, fmt.Sprint("order=", a.order)}, {a.notices, "notices"}, {a.passing > 0, a.passing.String()},
	} {
		if word.said {
			words += " " + word.text
		}
	}
	return words
}

// newClub returns a club of so many resources.
func newClub(resources int) *club {
	c := &club{
		losses: map[string]uint64{},
		model: clubModel{leases: map[string]*clubLease{}, queues: map[string][]*clubRequest{},
			sessions: map[string]*clubSession{}},
		now: lease.Instant(time.Hour),
	}
	for range clubResources[:resources] {
		c.recorded = append(c.recorded, &lease.Image{})
	}
	c.begin()
	return c
}

func (c *club) resources() []string { return clubResources[:len(c.recorded)] }

func (c *club) wrong(format string, args ...any) {
	c.faults = append(c.faults, fmt.Sprintf(format, args...))
}

// begin begins a term with what is recorded.
func (c *club) begin() {
	c.epoch++
	c.sessions, c.past, c.states, c.due = lease.NewSessions(c.epoch), lease.NewEndedRequests(), nil, nil
	for place, r := range c.resources() {
		i := c.recorded[place]
		i.Restart(c.now, nil)
		c.sessions.Restore(c.now, i)
		c.states = append(c.states, lease.New(r, i.Clone(), c.past, c.sessions))
	}
	c.heed()
}

// step takes a resource over an event, and records what it led to. It returns the answer to the event, nil if it waits.
func (c *club) step(resource string, e lease.Event, inbox string) (answer *messages.Reply) {
	place := slices.Index(clubResources, resource)
	o := c.states[place].Step(lease.Time{Instant: c.now, UnixMillis: 1}, e)
	for i, change := range o.Changes {
		c.recorded[place].Apply(change, o.Began(i, c.now))
	}
	for _, a := range o.Answers {
		if a.To.Subject == inbox {
			answer = a.Reply
		} else {
			c.model.answered(c, a)
		}
	}
	c.heed()
	return answer
}

// heed notes what the sessions have news of.
func (c *club) heed() {
	for _, x := range c.sessions.News().Unsettled {
		more := x.Resources()
		slices.Sort(more)
		c.due = append(c.due, more...)
	}
}

// take lets something happen.
func (c *club) take(a clubAct) {
	switch a.verb {
	case "acquire":
		c.acquire(a)
	case "ticks":
		c.ticks()
	case "keep":
		c.keep(a)
	case "end", "orphan":
		c.endSession(a)
	case "takeover":
		c.model.takeOver(c.now)
		c.begin()
	case "pass":
		c.pass(a.passing)
	default:
		if l := c.holder(a.resource); l != nil {
			c.ofHolder(a, l)
		}
	}
	c.check()
}

// ofHolder is an act of the holder of a resource.
func (c *club) ofHolder(a clubAct, l *clubLease) {
	switch a.verb {
	case "reenter":
		c.reenter(a, l)
	case "release":
		c.model.end(c.now, a.resource, false)
		c.want(a, c.step(a.resource, lease.Release{Request: &messages.ReleaseRequest{Owner: l.owner}}, ""),
			messages.Status_RELEASED)
	case "break":
		token := c.tokenOf(a.resource)
		c.model.end(c.now, a.resource, true)
		c.want(a, c.step(a.resource, lease.Break{Request: &messages.BreakRequest{Token: token}}, ""),
			messages.Status_RELEASED)
	case "extend":
		c.extend(a, l)
	}
}

// ticks sends the ticks that are due.
func (c *club) ticks() {
	for len(c.due) > 0 {
		r := c.due[0]
		c.due = c.due[1:]
		c.model.touch(c.now, r)
		c.step(r, lease.Tick{}, "")
	}
}

// pass lets time pass: the timers of sessions and resources fire.
func (c *club) pass(d time.Duration) {
	c.now = c.now.Add(d)
	for _, id := range clubSessions {
		c.sessions.Find(c.now, lease.KeyOfSession(id))
		c.model.find(c.now, id)
	}
	c.heed()
	for place, r := range c.resources() {
		if c.states[place].Wake() <= c.now {
			c.due = append(c.due, r)
		}
	}
}

func (c *club) acquire(a clubAct) {
	c.asked++
	q := &clubRequest{
		owner: fmt.Sprint("o", c.asked), ttl: a.ttl, session: a.session, ephemeral: a.ephemeral,
		until: c.now.Add(time.Duration(a.wait) * time.Millisecond),
	}
	want := c.model.acquire(c.now, a.resource, q, a.wait > 0)
	c.want(a, c.step(a.resource, lease.Acquire{From: messages.ReplyTo{Subject: q.owner}, MaxWaiting: 100,
		Request: &messages.AcquireRequest{
			Owner: q.owner, TtlMs: q.ttl, WaitMs: a.wait, Session: q.session, Durability: q.durability(),
		}}, q.owner), want)
}

// reenter lets a holder acquire its lease again. Its session stays, whichever the request names.
func (c *club) reenter(a clubAct, l *clubLease) {
	until, want := c.now.Add(time.Duration(a.ttl)*time.Millisecond), messages.Status_GRANTED
	switch s := c.model.find(c.now, a.session); {
	case s != nil && s.ending != "":
		want = messages.Status_OVERLOADED
	case a.session != "" && a.session != l.session:
		want = messages.Status_INVALID
	case l.session == "" && until > l.until:
		l.ttl, l.until = a.ttl, until
	}
	c.want(a, c.step(a.resource, lease.Acquire{From: messages.ReplyTo{Subject: "again"}, MaxWaiting: 100,
		Request: &messages.AcquireRequest{
			Owner: l.owner, TtlMs: a.ttl, Session: a.session, Reentrant: true,
		}}, "again"), want)
}

// want checks the status of an answer; 0: there is none.
func (c *club) want(a clubAct, got *messages.Reply, want messages.Status) {
	if (got == nil) != (want == 0) || got.GetStatus() != want {
		c.wrong("%s: got %v, want %v", a, got, want)
	}
}

// holder returns the lease of a resource, nil if it is free.
func (c *club) holder(resource string) *clubLease {
	c.model.touch(c.now, resource)
	c.step(resource, lease.Tick{}, "")
	return c.model.leases[resource]
}

func (c *club) tokenOf(resource string) uint64 {
	image := c.states[slices.Index(clubResources, resource)].Image()
	return uint64(image.Token())
}

// extend lets a lease run on, by itself or in a session.
func (c *club) extend(a clubAct, l *clubLease) {
	want := messages.Status_EXTENDED
	switch {
	case !l.counts(a.order):
	case a.session != "":
		want = c.model.extendIn(c.now, l, a.session, a.ttl, a.order)
	default:
		l.order = max(l.order, a.order)
		l.session, l.ttl, l.until = "", a.ttl, c.now.Add(time.Duration(a.ttl)*time.Millisecond)
		c.model.tidy()
	}
	got := c.step(a.resource, lease.Extend{Request: &messages.ExtendRequest{
		Owner: l.owner, TtlMs: a.ttl, Session: a.session, Order: a.order,
	}}, "")
	if c.want(a, got, want); want == messages.Status_EXTENDED && got.GetOrder() != l.order {
		c.wrong("%s: order %d, want %d", a, got.GetOrder(), l.order)
	}
}

// keep is answered when its session is settled.
func (c *club) keep(a clubAct) {
	s := c.model.find(c.now, a.session)
	x := c.sessions.Find(c.now, lease.KeyOfSession(a.session))
	if (x == nil) != (s == nil) || x != nil && x.IsRunning() != (s.ending == "") {
		c.wrong("session %v, want %v", x, s)
		return
	}
	if s == nil || s.ending != "" {
		c.heed()
		return
	}
	s.until, s.ttl = c.now.Add(time.Duration(a.ttl)*time.Millisecond), max(s.ttl, a.ttl)
	s.notices = a.notices
	x.AskNotices(a.notices)
	c.model.want()
	c.sessions.Keep(c.now, x, a.ttl, false)
	c.heed()
	c.ticks()
	if !x.IsSettled() {
		c.wrong("a keep has no answer after all resources have had a tick")
	}
	held := 0
	for r, l := range c.model.leases {
		if l.session != a.session {
			continue
		}
		held++
		recorded := c.recorded[slices.Index(clubResources, r)].Last().Grant
		if !l.ephemeral && recorded.GetTtlMs() < a.ttl {
			c.wrong("%s is promised %d ms and recorded with %d", r, a.ttl, recorded.GetTtlMs())
		}
	}
	if got := x.Kept(); int(got.GetHeld()) != held {
		c.wrong("kept %v, want %d leases", got, held)
	}
	c.checkLosses(s, x.Kept().GetLosses())
	c.model.want()
	if got, want := x.Wanted(10), c.model.wanted(a.session, (*clubWant).isNamed); !slices.Equal(got, want) {
		c.wrong("wanted are %v, want %v", got, want)
	}
	for _, l := range c.model.leases {
		l.want.unnamed = l.want.unnamed && l.session != a.session
	}
}

// checkLosses checks that the number is the same while no lease is lost, and another one after that.
func (c *club) checkLosses(s *clubSession, got uint64) {
	state := fmt.Sprintf("%d/%d/%d", c.epoch, s.number, s.losses)
	for other, n := range c.losses {
		if (other == state) != (n == got) {
			c.wrong("losses %d in state %s, and %d in state %s", got, state, n, other)
		}
	}
	c.losses[state] = got
}

func (c *club) endSession(a clubAct) {
	how, kind := "released", messages.Event_RELEASED
	if a.verb == "orphan" {
		how, kind = "orphaned", messages.Event_EXTENDED
	}
	s, x := c.model.find(c.now, a.session), c.sessions.Find(c.now, lease.KeyOfSession(a.session))
	if s != nil && s.ending == "" {
		s.ending = how
		c.model.tidy()
		c.sessions.End(x, kind, "")
	}
	c.heed()
}

// check compares the resources and the sessions with the model.
func (c *club) check() {
	for place, r := range c.resources() {
		image, l := c.states[place].Image(), c.model.leases[r]
		if image.Held() != (l != nil) || c.states[place].Waiting() != len(c.model.queues[r]) {
			c.wrong("%s: %v, %d wait; want %v, %d wait", r, image.Last().Grant, c.states[place].Waiting(), l,
				len(c.model.queues[r]))
		}
		if l == nil {
			continue
		}
		var session []byte
		if l.session != "" {
			session = messages.SessionHash(l.session)
		}
		if g := image.Last().Grant; g.GetOwner() != l.owner || string(g.GetSession()) != string(session) ||
			g.GetTtlMs() != l.ttl || g.GetExtendOrder() != l.order {
			c.wrong("%s: %v, want %+v", r, g, l)
		}
		if got, want := c.sessions.Deadline(image.Last()), c.model.deadline(l); got != want {
			c.wrong("%s ends at %v, want %v", r, got, want)
		}
		if got, want := c.recorded[place].Last(), image.Last(); !l.ephemeral && got != want {
			c.wrong("%s: recorded is %+v, want %+v", r, got, want)
		}
	}
	c.model.want()
	if c.sessions.Len() != len(c.model.sessions) {
		c.wrong("%d sessions, want %d", c.sessions.Len(), len(c.model.sessions))
		return
	}
	for id, s := range c.model.sessions {
		x := c.sessions.Find(-1, lease.KeyOfSession(id))
		if x.IsAwaited() != c.model.isAwaited(id) || x.Deadline() != s.until {
			c.wrong("session %s: awaited %v until %v, want %v until %v", id, x.IsAwaited(), x.Deadline(),
				c.model.isAwaited(id), s.until)
		}
		c.checkNotices(id, x)
	}
}

// checkNotices takes the notices of a session that are due.
func (c *club) checkNotices(id string, x *lease.Session) {
	due, _ := x.Notices(c.now, 10)
	var got []string
	for _, n := range due {
		if got = append(got, n.Resource); uint64(n.Token) != c.tokenOf(n.Resource) {
			c.wrong("a notice for token %d of %s, want %d", n.Token, n.Resource, c.tokenOf(n.Resource))
		}
	}
	slices.Sort(got)
	want := c.model.wanted(id, func(w *clubWant) bool { return w.notice(c.now) })
	if !slices.Equal(got, want) {
		c.wrong("session %s: notices for %v, want %v", id, got, want)
	}
}

// Leases that share sessions live as long as these, whatever happens to either, and whenever the ticks come.
func TestSessions(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := newClub(len(clubResources))
		verbs := []string{
			"acquire", "acquire", "reenter", "release", "break", "extend", "extend", "keep", "keep", "end", "orphan",
			"ticks",
			"takeover", "pass",
		}
		for range rapid.IntRange(1, 60).Draw(t, "acts") {
			a := clubAct{
				verb:     rapid.SampledFrom(verbs).Draw(t, "verb"),
				resource: rapid.SampledFrom(clubResources).Draw(t, "resource"),
				session:  rapid.SampledFrom(append(clubSessions, "")).Draw(t, "session"),
				ttl:      rapid.SampledFrom([]uint32{500, 1000, 2000, 4000, 9000}).Draw(t, "ttl"),
			}
			switch a.verb {
			case "acquire":
				a.wait = rapid.SampledFrom([]uint32{0, 3000}).Draw(t, "wait")
				a.ephemeral = rapid.IntRange(0, 4).Draw(t, "ephemeral") == 0
			case "keep":
				a.notices = rapid.Bool().Draw(t, "notices")
			case "extend":
				a.order = rapid.Uint64Range(0, 3).Draw(t, "order")
			case "pass":
				a.passing = time.Duration(rapid.SampledFrom([]int{1, 499, 500, 1000}).Draw(t, "ms")) * time.Millisecond
			}
			if c.take(a); len(c.faults) > 0 {
				t.Fatalf("%s: %v", a, c.faults)
			}
		}
	})
}

func (q *clubRequest) durability() messages.Durability {
	if q.ephemeral {
		return messages.Durability_EPHEMERAL
	}
	return messages.Durability_PERSISTENT
}

// fork returns a copy that changes by itself.
func (c *club) fork() *club {
	fork := *c
	fork.states, fork.past, fork.sessions = lease.Fork(c.states, c.past, c.sessions)
	fork.recorded = nil
	for _, i := range c.recorded {
		image := i.Clone()
		fork.recorded = append(fork.recorded, &image)
	}
	fork.model, fork.due, fork.losses = c.model.fork(), slices.Clone(c.due), maps.Clone(c.losses)
	return &fork
}
