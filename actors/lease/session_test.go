package lease_test

import (
	"crypto/sha256"
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/holdfast-io/holdfast/actors/lease"
	"github.com/holdfast-io/holdfast/messages"
)

// club is some resources that share their sessions, beside a model of them.
type club struct {
	*rapid.T
	now      lease.Instant
	epoch    uint64
	sessions *lease.Sessions
	past     *lease.EndedRequests
	states   map[string]*lease.State
	// recorded is what a new owner would know.
	recorded map[string]*lease.Image
	model    clubModel
	asked    int
	// due are the resources that have yet to get a tick.
	due []string
	// losses has the number that was shown for each state of a model's session.
	losses map[string]uint64
}

var (
	clubResources = []string{"r0", "r1", "r2", "r3"}
	clubSessions  = []string{"session-000000000", "session-111111111"}
)

func newClub(t *rapid.T) *club {
	c := &club{
		T: t, recorded: map[string]*lease.Image{}, losses: map[string]uint64{},
		model: clubModel{leases: map[string]*clubLease{}, queues: map[string][]*clubRequest{},
			sessions: map[string]*clubSession{}},
	}
	for _, r := range clubResources {
		c.recorded[r] = &lease.Image{}
	}
	c.begin()
	return c
}

// begin begins a term with what is recorded.
func (c *club) begin() {
	c.epoch++
	c.sessions, c.past, c.states, c.due = lease.NewSessions(c.epoch), lease.NewEndedRequests(),
		map[string]*lease.State{}, nil
	for _, r := range clubResources {
		i := c.recorded[r]
		i.Restart(c.now, nil)
		c.sessions.Restore(c.now, i)
		c.states[r] = lease.New(r, i.Clone(), c.past, c.sessions)
	}
	c.heed()
}

// step takes a resource over an event, and records what it led to. It returns the answer to the event, nil if it waits.
func (c *club) step(resource string, e lease.Event, inbox string) (answer *messages.Reply) {
	o := c.states[resource].Step(lease.Time{Instant: c.now, UnixMillis: 1}, e)
	for i, change := range o.Changes {
		c.recorded[resource].Apply(change, o.Began(i, c.now))
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
		c.due = append(c.due, x.Resources()...)
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
	for _, r := range clubResources {
		if c.states[r].Wake() <= c.now {
			c.due = append(c.due, r)
		}
	}
}

func (c *club) acquire() {
	c.asked++
	q := &clubRequest{
		owner: fmt.Sprint("o", c.asked), ttl: rapid.SampledFrom([]uint32{1000, 2000, 5000}).Draw(c.T, "ttl"),
		session:   rapid.SampledFrom(append(clubSessions, "")).Draw(c.T, "session"),
		ephemeral: rapid.IntRange(0, 4).Draw(c.T, "ephemeral") == 0,
	}
	wait := rapid.SampledFrom([]uint32{0, 3000}).Draw(c.T, "wait")
	q.until = c.now.Add(time.Duration(wait) * time.Millisecond)
	r := rapid.SampledFrom(clubResources).Draw(c.T, "resource")
	want := c.model.acquire(c.now, r, q, wait > 0)
	got := c.step(r, lease.Acquire{From: messages.ReplyTo{Subject: q.owner}, MaxWaiting: 10,
		Request: &messages.AcquireRequest{
			Owner: q.owner, TtlMs: q.ttl, WaitMs: wait, Session: q.session, Durability: q.durability(),
		}}, q.owner)
	c.want(got, want)
}

// reenter lets a holder acquire its lease again. Its session stays, whichever the request names.
func (c *club) reenter() {
	r, l := c.holder()
	session := rapid.SampledFrom(append(clubSessions, "")).Draw(c.T, "session")
	ttl := rapid.SampledFrom([]uint32{1000, 4000}).Draw(c.T, "ttl")
	until, want := c.now.Add(time.Duration(ttl)*time.Millisecond), messages.Status_GRANTED
	switch s := c.model.find(c.now, session); {
	case s != nil && s.ending != "":
		want = messages.Status_OVERLOADED
	case session != "" && session != l.session:
		want = messages.Status_INVALID
	case l.session == "" && until > l.until:
		l.ttl, l.until = ttl, until
	}
	c.want(c.step(r, lease.Acquire{From: messages.ReplyTo{Subject: "again"}, MaxWaiting: 10,
		Request: &messages.AcquireRequest{
			Owner: l.owner, TtlMs: ttl, Session: session, Reentrant: true,
		}}, "again"), want)
}

// want checks the status of an answer; 0: there is none.
func (c *club) want(got *messages.Reply, want messages.Status) {
	if (got == nil) != (want == 0) || got.GetStatus() != want {
		c.Fatalf("got %v, want %v", got, want)
	}
}

// holder returns a resource that is held.
func (c *club) holder() (string, *clubLease) {
	r := rapid.SampledFrom(clubResources).Draw(c.T, "resource")
	c.model.touch(c.now, r)
	c.step(r, lease.Tick{}, "")
	if c.model.leases[r] == nil {
		c.Skip("it is free")
	}
	return r, c.model.leases[r]
}

func (c *club) tokenOf(resource string) uint64 {
	image := c.states[resource].Image()
	return uint64(image.Token())
}

func (c *club) release() {
	r, l := c.holder()
	c.model.end(c.now, r, false)
	c.want(c.step(r, lease.Release{Request: &messages.ReleaseRequest{Owner: l.owner}}, ""), messages.Status_RELEASED)
}

func (c *club) breakIt() {
	r, _ := c.holder()
	token := c.tokenOf(r)
	c.model.end(c.now, r, true)
	c.want(c.step(r, lease.Break{Request: &messages.BreakRequest{Token: token}}, ""), messages.Status_RELEASED)
}

func (c *club) extend() {
	r, l := c.holder()
	ttl := rapid.SampledFrom([]uint32{1000, 4000}).Draw(c.T, "ttl")
	order := c.order()
	if l.counts(order) {
		l.order = max(l.order, order)
		l.session, l.ttl, l.until = "", ttl, c.now.Add(time.Duration(ttl)*time.Millisecond)
	}
	c.wantExtended(r, l, &messages.ExtendRequest{Owner: l.owner, TtlMs: ttl, Order: order}, messages.Status_EXTENDED)
}

func (c *club) order() uint64 { return rapid.Uint64Range(0, 3).Draw(c.T, "order") }

// wantExtended sends an extend, of which the model has the status of the answer and the order of the lease.
func (c *club) wantExtended(r string, l *clubLease, request *messages.ExtendRequest, want messages.Status) {
	got := c.step(r, lease.Extend{Request: request}, "")
	if c.want(got, want); want == messages.Status_EXTENDED && got.GetOrder() != l.order {
		c.Fatalf("order %d, want %d", got.GetOrder(), l.order)
	}
}

// extendIn takes a lease into a session.
func (c *club) extendIn() {
	r, l := c.holder()
	ttl := rapid.SampledFrom([]uint32{1000, 4000}).Draw(c.T, "ttl")
	id := rapid.SampledFrom(clubSessions).Draw(c.T, "session")
	order := c.order()
	want := messages.Status_EXTENDED
	if l.counts(order) {
		want = c.model.extendIn(c.now, l, id, ttl, order)
	}
	c.wantExtended(r, l, &messages.ExtendRequest{Owner: l.owner, TtlMs: ttl, Session: id, Order: order}, want)
}

// keep is answered when its session is settled.
func (c *club) keep() {
	id := rapid.SampledFrom(clubSessions).Draw(c.T, "session")
	ttl := rapid.SampledFrom([]uint32{500, 1000, 3000, 9000}).Draw(c.T, "ttl")
	s := c.model.find(c.now, id)
	x := c.sessions.Find(c.now, lease.KeyOfSession(id))
	if (x == nil) != (s == nil) || x != nil && x.IsRunning() != (s.ending == "") {
		c.Fatalf("session %v, want %v", x, s)
	}
	if s == nil || s.ending != "" {
		c.heed()
		return
	}
	s.until, s.ttl = c.now.Add(time.Duration(ttl)*time.Millisecond), max(s.ttl, ttl)
	c.sessions.Keep(c.now, x, ttl, false)
	c.heed()
	c.ticks()
	if !x.IsSettled() {
		c.Fatalf("a keep has no answer after all resources have had a tick")
	}
	held := 0
	for r, l := range c.model.leases {
		if l.session != id {
			continue
		}
		held++
		if !l.ephemeral && c.recorded[r].Last().Grant.GetTtlMs() < ttl {
			c.Fatalf("%s is promised %d ms and recorded with %d", r, ttl, c.recorded[r].Last().Grant.GetTtlMs())
		}
	}
	if got := x.Kept(); int(got.GetHeld()) != held {
		c.Fatalf("kept %v, want %d leases", got, held)
	}
	c.checkLosses(s, x.Kept().GetLosses())
}

// checkLosses checks that the number is the same while no lease is lost, and another one after that.
func (c *club) checkLosses(s *clubSession, got uint64) {
	state := fmt.Sprintf("%d/%d/%d", c.epoch, s.number, s.losses)
	for other, n := range c.losses {
		if (other == state) != (n == got) {
			c.Fatalf("losses %d in state %s, and %d in state %s", got, state, n, other)
		}
	}
	c.losses[state] = got
}

func (c *club) endSession() {
	id := rapid.SampledFrom(clubSessions).Draw(c.T, "session")
	how, kind := "released", messages.Event_RELEASED
	if rapid.Bool().Draw(c.T, "orphan") {
		how, kind = "orphaned", messages.Event_EXTENDED
	}
	s, x := c.model.find(c.now, id), c.sessions.Find(c.now, lease.KeyOfSession(id))
	if s != nil && s.ending == "" {
		s.ending = how
		c.model.tidy()
		c.sessions.End(x, kind, "")
	}
	c.heed()
}

// takeOver begins a term of a new owner, who knows what is recorded.
func (c *club) takeOver() {
	c.model.takeOver(c.now)
	c.begin()
}

// check compares the resources and the sessions with the model.
func (c *club) check() {
	for _, r := range clubResources {
		image, l := c.states[r].Image(), c.model.leases[r]
		if image.Held() != (l != nil) || c.states[r].Waiting() != len(c.model.queues[r]) {
			c.Fatalf("%s: %v, %d wait; want %v, %d wait", r, image.Last().Grant, c.states[r].Waiting(), l,
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
			c.Fatalf("%s: %v, want %+v", r, g, l)
		}
		if got, want := c.sessions.Deadline(image.Last()), c.model.deadline(l); got != want {
			c.Fatalf("%s ends at %v, want %v", r, got, want)
		}
		if got, want := c.recorded[r].Last(), image.Last(); !l.ephemeral && got != want {
			c.Fatalf("%s: recorded is %+v, want %+v", r, got, want)
		}
	}
	if c.sessions.Len() != len(c.model.sessions) {
		c.Fatalf("%d sessions, want %d", c.sessions.Len(), len(c.model.sessions))
	}
	for id, s := range c.model.sessions {
		if x := c.sessions.Find(-1, lease.KeyOfSession(id)); x.IsAwaited() != c.model.isAwaited(id) || x.Deadline() != s.until {
			c.Fatalf("session %s: awaited %v until %v, want %v until %v", id, x.IsAwaited(), x.Deadline(),
				c.model.isAwaited(id), s.until)
		}
	}
}

// Leases that share sessions live as long as these, whatever happens to either, and whenever the ticks come.
func TestSessions(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := newClub(t)
		t.Repeat(map[string]func(*rapid.T){
			"":           func(*rapid.T) { c.check() },
			"acquire":    c.with((*club).acquire),
			"acquire2":   c.with((*club).acquire),
			"reenter":    c.with((*club).reenter),
			"release":    c.with((*club).release),
			"break":      c.with((*club).breakIt),
			"extend":     c.with((*club).extend),
			"extendIn":   c.with((*club).extendIn),
			"keep":       c.with((*club).keep),
			"keep2":      c.with((*club).keep),
			"endSession": c.with((*club).endSession),
			"ticks":      c.with((*club).ticks),
			"takeOver":   c.with((*club).takeOver),
			"pass": c.with(func(c *club) {
				c.pass(time.Duration(rapid.SampledFrom([]int{1, 499, 500, 1000}).Draw(c.T, "ms")) * time.Millisecond)
			}),
		})
	})
}

func (c *club) with(do func(*club)) func(*rapid.T) {
	return func(t *rapid.T) {
		c.T = t
		do(c)
	}
}

func (q *clubRequest) durability() messages.Durability {
	if q.ephemeral {
		return messages.Durability_EPHEMERAL
	}
	return messages.Durability_PERSISTENT
}

// A session needs the secret of its first request, and a request with another one has no part in it.
func TestSecretOfASession(t *testing.T) {
	sessions := lease.NewSessions(1)
	secret := []byte("0123456789abcdef")
	hash := secretHash(secret)
	ask := func(resource string, hash []byte) messages.Status {
		s := lease.New(resource, lease.Image{}, lease.NewEndedRequests(), sessions)
		return s.Step(timeAt(0), lease.Acquire{Request: &messages.AcquireRequest{
			Owner: "ann", TtlMs: 1000, Session: clubSessions[0], SecretHash: hash,
		}}).Answers[0].Reply.GetStatus()
	}
	for i, want := range []struct {
		hash   []byte
		status messages.Status
	}{{hash, messages.Status_GRANTED}, {nil, messages.Status_INVALID},
		{secretHash([]byte("x")), messages.Status_INVALID}, {hash, messages.Status_GRANTED}} {
		if got := ask(fmt.Sprint("r", i), want.hash); got != want.status {
			t.Errorf("request %d: %v, want %v", i, got, want.status)
		}
	}
	x := sessions.Find(0, lease.KeyOfSession(clubSessions[0]))
	if !x.Opens(secret) || x.Opens(nil) || x.Opens([]byte("0123456789abcdeF")) {
		t.Error("the secret is not checked")
	}
}

// A request that is refused because of its session is not waiting any more, and one that was granted is answered with
// its lease, though that has left its session.
func TestReentrantInAnotherSession(t *testing.T) {
	s := newState(lease.Image{})
	acquire := func(owner, id, session string) lease.Acquire {
		return lease.Acquire{From: messages.ReplyTo{Subject: id}, MaxWaiting: 10, Request: &messages.AcquireRequest{
			Owner: owner, RequestId: id, TtlMs: 1000, WaitMs: 1000, Session: session, Reentrant: true,
		}}
	}
	first := acquire("ann", "first", clubSessions[0])
	second := acquire("ann", "second", clubSessions[1])
	for i, step := range []struct {
		event   lease.Event
		want    messages.Status
		waiting int
	}{
		{acquire("bob", "bob", ""), messages.Status_GRANTED, 0},
		{first, 0, 1},
		{second, 0, 2},
		{lease.Release{Request: &messages.ReleaseRequest{Owner: "bob", Token: 1}}, messages.Status_GRANTED, 1},
		{second, messages.Status_INVALID, 0},
		{lease.Extend{Request: &messages.ExtendRequest{Owner: "ann", TtlMs: 1000}}, messages.Status_EXTENDED, 0},
		{first, messages.Status_GRANTED, 0},
		{acquire("ann", "third", clubSessions[0]), messages.Status_INVALID, 0},
	} {
		o := s.Step(timeAt(0), step.event)
		var got messages.Status
		for _, a := range o.Answers {
			if got = a.Reply.GetStatus(); got == messages.Status_GRANTED {
				break
			}
		}
		if got != step.want || s.Waiting() != step.waiting {
			t.Fatalf("step %d: %v, %d wait; want %v, %d", i, got, s.Waiting(), step.want, step.waiting)
		}
	}
	if image := s.Image(); image.Token() != 2 || len(image.Last().Grant.GetSession()) > 0 {
		t.Errorf("the lease is %v", image.Last().Grant)
	}
}

// Each request that names a session and has its secret shows that its client is connected, whatever the answer.
func TestRequestsOfASessionAreHeard(t *testing.T) {
	const session = "session-000000000"
	for _, tc := range []struct {
		when  string
		heard bool
	}{
		{"100ms ann acquire hash=a secret=a id=y", true},           // HELD
		{"100ms ann acquire hash=a secret=a id=x", true},           // a repetition
		{"100ms ann acquire hash=a secret=a id=y reentrant", true}, // reentrant
		{"100ms ann acquire hash=a secret=a id=y wait=1s", true},
		{"100ms ann acquire hash=a secret=a id=old", true}, // its request has ended
		{"100ms ann extend secret=a", true},
		{"100ms bob acquire hash=b secret=b", false}, // of another secret
		{"100ms ann extend secret=a order=1", false}, // late: the session that it names does not count
	} {
		sessions := lease.NewSessions(1)
		s := lease.New(resource, lease.Image{}, lease.NewEndedRequests(), sessions)
		for _, st := range append(mustParse(
			"0s ann release id=old secret=a; 0s ann acquire hash=a id=x; 0s ann extend order=2 secret=a").steps,
			mustParse(tc.when).steps...) {
			event := st.event()
			if e, ok := event.(lease.Acquire); ok {
				e.Request.Session = session
			}
			if e, ok := event.(lease.Extend); ok {
				e.Request.Session = session
			}
			s.Step(st.time(), event)
		}
		at := lease.Instant(0)
		if tc.heard {
			at = at.Add(100 * ms)
		}
		if got := sessions.Find(0, lease.KeyOfSession(session)).LastRequest(); got != at {
			t.Errorf("%s: heard at %v, want %v", tc.when, got, at)
		}
	}
}

func secretHash(secret []byte) []byte {
	sum := sha256.Sum256(secret)
	return sum[:]
}
