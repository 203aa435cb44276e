package lease_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-io/holdfast/actors/lease"
	"github.com/holdfast-io/holdfast/messages"
)

// wantedRows have scripts in which requests with from=in name a session, whose keep asks for notices, or with "quiet"
// does not. Behind an arrow are the tokens of the notices that go out after a step.
var wantedRows = []struct{ name, script string }{
	{"a request begins to wait, and goes on", `0s ann acquire from=in; 0s keep; 100ms bob acquire wait=5s -> 1;
		600ms node tick; 1099ms node tick; 1100ms node tick -> 1; 2099ms node tick; 2100ms node tick -> 1`},
	{"a request is refused", `0s ann acquire from=in; 0s keep; 100ms bob acquire -> 1; 1100ms node tick; 2s node tick`},
	{"one is refused again and again", `0s ann acquire from=in; 0s keep; 100ms bob acquire -> 1; 200ms bob acquire;
		900ms bob acquire; 1100ms node tick -> 1; 2s bob acquire; 2100ms node tick -> 1; 5s bob acquire -> 1`},
	{"a second one waits", `0s ann acquire from=in; 0s keep; 100ms bob acquire wait=5s -> 1; 200ms cid acquire wait=5s;
		1100ms node tick -> 1`},
	{"the wait ends", `0s ann acquire from=in; 0s keep; 100ms bob acquire wait=500ms -> 1; 600ms node tick;
		1100ms node tick`},
	{"a short wait between two notices", `0s ann acquire from=in; 0s keep; 100ms bob acquire wait=200ms -> 1;
		300ms node tick; 400ms cid acquire wait=200ms; 600ms node tick; 1100ms node tick -> 1; 2100ms node tick`},
	{"requests wait at its grant", `0s bob acquire; 0s ann acquire wait=5s from=in; 0s cid acquire wait=5s; 0s keep;
		100ms bob release -> 2`},
	{"requests wait when it joins", `0s dan acquire id=other from=in limit=all; 0s dan release; 0s ann acquire;
		0s bob acquire wait=5s; 0s keep; 100ms ann extend from=in -> 2`},
	{"it is extended in its session", `0s ann acquire from=in; 0s keep; 100ms bob acquire wait=5s -> 1;
		200ms ann extend from=in; 300ms ann set meta=one; 1100ms node tick -> 1`},
	{"it leaves its session", `0s ann acquire from=in; 0s keep; 100ms bob acquire wait=5s -> 1; 200ms ann extend ttl=9s;
		1100ms node tick; 1200ms cid acquire`},
	{"it is released", `0s ann acquire from=in; 0s keep; 100ms bob acquire wait=5s -> 1; 200ms cid acquire;
		300ms ann release; 1100ms node tick`},
	{"it is downgraded", `0s ann acquire from=in; 0s keep; 100ms bob acquire wait=5s -> 1; 200ms ann extend limit=all -> 2;
		1100ms node tick; 1200ms node tick -> 2`},
	{"two of the session are held", `0s ann acquire limit=all from=in; 0s eve acquire limit=all from=in; 0s keep;
		100ms bob acquire -> 1 2; 200ms ann release; 300ms bob acquire; 1100ms node tick -> 2`},
	{"the other holder is in no session", `0s dan acquire limit=all; 0s ann acquire limit=all from=in; 0s keep;
		100ms bob acquire -> 2`},
	{"it is looked at", `0s ann acquire from=in; 0s keep; 100ms bob get`},
	{"there is no room in the queue", `0s ann acquire from=in; 0s keep; 100ms bob acquire wait=1s room=0`},
	{"a lost lease is the reason", `0s ann acquire limit=3 from=in; 0s dan acquire limit=3 delay=5s; 0s keep;
		50ms op break token=2; 100ms bob acquire limit=3`},
	{"nobody asks", `0s ann acquire from=in; 0s quiet; 100ms bob acquire; 200ms cid acquire wait=5s`},
	{"it is asked for later", `0s ann acquire from=in; 0s quiet; 100ms bob acquire wait=5s; 500ms keep -> 1;
		1500ms node tick -> 1; 1600ms quiet; 3s node tick; 3100ms keep -> 1`},
}

// inSession returns the event of a step; with from=in it names a session, which runs for a minute.
func (s step) inSession() lease.Event {
	event := s.event()
	if s.from != "in" {
		return event
	}
	if e, ok := event.(lease.Acquire); ok {
		e.Request.Session, e.Request.TtlMs = clubSessions[0], 60_000
	}
	if e, ok := event.(lease.Extend); ok {
		e.Request.Session, e.Request.TtlMs = clubSessions[0], 60_000
	}
	return event
}

// A notice goes out for a lease when a request begins to wait for it or is refused because of it, and at most once a
// second while that lasts.
func TestNotices(t *testing.T) {
	for _, row := range wantedRows {
		t.Run(row.name, func(t *testing.T) {
			sessions := lease.NewSessions(1)
			s := lease.New(resource, lease.Image{}, lease.NewEndedRequests(), sessions)
			find := func(at lease.Instant) *lease.Session {
				return sessions.Find(at, lease.KeyOfSession(clubSessions[0]))
			}
			for line := range strings.SplitSeq(row.script, ";") {
				line, want, _ := strings.Cut(strings.TrimSpace(line), " -> ")
				at, what, _ := strings.Cut(line, " ")
				now := lease.Instant(must(time.ParseDuration(at)))
				if what == "keep" || what == "quiet" {
					find(now).AskNotices(what == "keep")
				} else {
					for _, st := range mustParse(line).steps {
						s.Step(st.time(), st.inSession())
					}
				}
				if got := tokens(find(now), now); got != want {
					t.Errorf("%s: notices for %q, want %q", line, got, want)
				}
			}
		})
	}
}

// tokens returns those of the notices that are due; nil is no session.
func tokens(x *lease.Session, now lease.Instant) string {
	if x == nil {
		return ""
	}
	due, _ := x.Notices(now, 10)
	var all []uint64
	for _, n := range due {
		all = append(all, uint64(n.Token))
	}
	slices.Sort(all)
	return strings.Trim(fmt.Sprint(all), "[]")
}

// crowd is a session with leases of many resources, and their states.
type crowd struct {
	sessions *lease.Sessions
	states   []*lease.State
	now      lease.Instant
}

const crowdName = "r%03d"

func newCrowd(leases int) (*crowd, *lease.Session) {
	c := &crowd{sessions: lease.NewSessions(1)}
	past := lease.NewEndedRequests()
	for i := range leases {
		name := messages.Qualify("ORDERS", fmt.Sprintf(crowdName, i))
		s := lease.New(name, lease.Image{}, past, c.sessions)
		c.states = append(c.states, s)
		c.acquire(i, "ann", messages.Qualify("ORDERS", clubSessions[0]), 0)
	}
	x := c.sessions.Find(0, lease.KeyOfSession(messages.Qualify("ORDERS", clubSessions[0])))
	x.AskNotices(true)
	return c, x
}

func (c *crowd) acquire(i int, owner, session string, wait uint32) {
	c.states[i].Step(timeAt(c.now), lease.Acquire{MaxWaiting: 10, Request: &messages.AcquireRequest{
		Owner: owner, TtlMs: 60_000, Session: session, WaitMs: wait,
	}})
}

// names returns the names of a part of the resources.
func names(from, to int) (all []string) {
	for i := from; i < to; i++ {
		all = append(all, fmt.Sprintf(crowdName, i))
	}
	return all
}

// Each keep goes on behind the last one, and names a resource as long as requests wait for it, and once if one was
// refused.
func TestWantedIsNamedInTurn(t *testing.T) {
	c, x := newCrowd(250)
	for i := range c.states {
		c.acquire(i, "bob", "", map[bool]uint32{true: 30_000}[i < 120])
	}
	for i, want := range [][]string{
		names(0, 100), names(100, 200), nil, append(names(0, 20), names(200, 250)...), names(20, 120), names(0, 100),
	} {
		limit := 100
		if i == 2 {
			limit = 0
		}
		if i == 3 {
			limit = 70
		}
		if got := x.Wanted(limit); !slices.Equal(got, want) {
			t.Errorf("keep %d names %v, want %v", i, got, want)
		}
	}
	c.now = c.now.Add(30 * time.Second)
	for _, s := range c.states {
		s.Step(timeAt(c.now), lease.Tick{})
	}
	if got := x.Wanted(100); len(got) > 0 {
		t.Errorf("named though nobody waits: %v", got)
	}
}

// A resource of which the session has several leases is named once.
func TestWantedNamesAResourceOnce(t *testing.T) {
	sessions := lease.NewSessions(1)
	s := lease.New(resource, lease.Image{}, lease.NewEndedRequests(), sessions)
	for _, st := range mustParse(`0s ann acquire limit=all from=in; 0s eve acquire limit=all from=in`).steps {
		s.Step(st.time(), st.inSession())
	}
	x := sessions.Find(0, lease.KeyOfSession(clubSessions[0]))
	x.AskNotices(true)
	for _, st := range mustParse(`0s bob acquire`).steps {
		s.Step(st.time(), st.event())
	}
	if got := x.Wanted(100); !slices.Equal(got, []string{resource}) {
		t.Errorf("named %v", got)
	}
}

// Many notices go out in several turns, each once, and those first that were asked for first.
func TestNoticesAreBounded(t *testing.T) {
	c, x := newCrowd(5)
	for i := range c.states {
		c.acquire(i, "bob", "", 30_000)
	}
	for _, now := range []lease.Instant{0, lease.Instant(time.Second)} {
		seen := make(map[string]int)
		var inTurn []string
		for _, want := range []int{2, 2, 1} {
			due, next := x.Notices(now, 2)
			if len(due) != want || (next <= now) != (want == 2) {
				t.Errorf("%d notices, and the next one at %v, want %d", len(due), next, want)
			}
			for _, n := range due {
				seen[n.Resource]++
				inTurn = append(inTurn, n.Resource)
			}
		}
		if len(seen) != 5 || !slices.IsSorted(inTurn) {
			t.Errorf("notices about %q", inTurn)
		}
		if due, next := x.Notices(now, 2); len(due) > 0 || next != now.Add(time.Second) {
			t.Errorf("%v at once, and the next one at %v", due, next)
		}
	}
}

// What is kept of a lease that others want goes with it, however it leaves its session, and with the wish for notices.
func TestNothingIsKeptOfALease(t *testing.T) {
	const in, out = "in", "out"
	for name, leave := range map[string]func(*crowd, *lease.Session){
		"released": func(c *crowd, _ *lease.Session) {
			c.states[0].Step(timeAt(c.now), lease.Release{Request: &messages.ReleaseRequest{Owner: "ann"}})
		},
		"broken": func(c *crowd, _ *lease.Session) {
			c.states[0].Step(timeAt(c.now), lease.Break{Request: &messages.BreakRequest{Token: 1}})
		},
		"taken out": func(c *crowd, _ *lease.Session) {
			c.states[0].Step(timeAt(c.now), lease.Extend{Request: &messages.ExtendRequest{Owner: "ann", TtlMs: 1000}})
		},
		"moved": func(c *crowd, _ *lease.Session) {
			c.states[0].Step(timeAt(c.now), lease.Extend{Request: &messages.ExtendRequest{
				Owner: "ann", TtlMs: 1000, Session: messages.Qualify("ORDERS", clubSessions[1]),
			}})
		},
		"panicked": func(c *crowd, _ *lease.Session) {
			c.sessions.Reset(c.now, messages.Qualify("ORDERS", names(0, 1)[0]), &lease.Image{})
		},
		"quiet": func(_ *crowd, x *lease.Session) { x.AskNotices(false) },
		"named, and a second has passed": func(c *crowd, x *lease.Session) {
			x.Notices(c.now, 1)
			x.Wanted(1)
			x.Notices(c.now.Add(time.Second), 1)
		},
	} {
		for kind, wait := range map[string]uint32{in: 0, out: 30_000} {
			if wait > 0 && strings.HasPrefix(name, "named") {
				continue // it is wanted still
			}
			c, x := newCrowd(1)
			c.acquire(0, "bob", "", wait)
			if x.Wants() == 0 {
				t.Fatal("nothing is kept: the test is vacuous")
			}
			if leave(c, x); x.Wants() != 0 {
				t.Errorf("%s, %s: %d entries are kept", name, kind, x.Wants())
			}
		}
	}
}
