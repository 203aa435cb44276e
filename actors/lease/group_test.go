package lease_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/holdfast-io/holdfast/actors/lease"
	"github.com/holdfast-io/holdfast/messages"
)

// guests is the sessions of a shard. Each is named by a number, and leases a resource of its own.
type guests struct {
	testing.TB
	*lease.Sessions
	states map[string]*lease.State
}

func newGuests(tb testing.TB) *guests {
	tb.Helper()
	return &guests{tb, lease.NewSessions(1), make(map[string]*lease.State)}
}

// session returns the qualified id of a session.
func (g *guests) session(tenant string, i int) string {
	return messages.Qualify(tenant, fmt.Sprintf("session-%09d", i))
}

func (g *guests) step(at time.Duration, resource string, e lease.Event) messages.Status {
	g.Helper()
	s := g.states[resource]
	if s == nil {
		s = lease.New(resource, lease.Image{}, lease.NewEndedRequests(), g.Sessions)
		g.states[resource] = s
	}
	o := s.Step(lease.Time{Instant: lease.Instant(at), UnixMillis: 1}, e)
	if len(o.Answers) == 0 {
		return 0
	}
	return o.Answers[0].Reply.GetStatus()
}

// enter acquires the resource of a session.
func (g *guests) enter(at time.Duration, tenant string, i int) messages.Status {
	g.Helper()
	return g.step(at, messages.Qualify(tenant, fmt.Sprint("r", i)),
		lease.Acquire{From: messages.ReplyTo{Subject: "i"}, Request: &messages.AcquireRequest{
			Owner: "ann", TtlMs: 3_600_000, Session: g.session(tenant, i),
		}})
}

// leave releases it.
func (g *guests) leave(at time.Duration, tenant string, i int) {
	g.Helper()
	if got := g.step(at, messages.Qualify(tenant, fmt.Sprint("r", i)),
		lease.Release{Request: &messages.ReleaseRequest{Owner: "ann"}}); got != messages.Status_RELEASED {
		g.Fatalf("release: %v", got)
	}
}

func (g *guests) has(at time.Duration, tenant string, i int) bool {
	return g.Find(lease.Instant(at), lease.KeyOfSession(g.session(tenant, i))) != nil
}

// A shard has a bounded number of sessions with leases. One without goes when another one needs its place: the one that
// was used least lately.
func TestSessionsAreBounded(t *testing.T) {
	g := newGuests(t)
	for i := range lease.MaxSessions {
		if got := g.enter(0, "", i); got != messages.Status_GRANTED {
			t.Fatalf("session %d: %v", i, got)
		}
	}
	if got := g.enter(0, "", lease.MaxSessions); got != messages.Status_OVERLOADED || g.Len() != lease.MaxSessions {
		t.Errorf("one more: %v, %d sessions", got, g.Len())
	}
	g.leave(time.Second, "", 7)
	g.leave(2*time.Second, "", 8)
	if got := g.enter(2*time.Second, "A", 0); got != messages.Status_GRANTED || g.Len() != lease.MaxSessions {
		t.Errorf("in the place of an idle one: %v, %d sessions", got, g.Len())
	}
	if g.has(2*time.Second, "", 7) || !g.has(2*time.Second, "", 8) {
		t.Error("another session than the one that was idle for longest is gone")
	}
}

// A tenant that has all its sessions in use keeps no other from opening some, and neither does one with many idle ones.
func TestSessionsOfTenantsAreBounded(t *testing.T) {
	const share = lease.MaxSessions / 16
	g := newGuests(t)
	for i := range share {
		if got := g.enter(0, "A", i); got != messages.Status_GRANTED {
			t.Fatalf("session %d: %v", i, got)
		}
	}
	if got := g.enter(0, "A", share); got != messages.Status_OVERLOADED || g.Len() != share {
		t.Errorf("one more of the tenant: %v, %d sessions", got, g.Len())
	}
	if a, b := g.enter(0, "B", 0), g.enter(0, "", 0); a != messages.Status_GRANTED || b != messages.Status_GRANTED {
		t.Errorf("another tenant: %v, no tenant: %v", a, b)
	}
	for i := range share {
		g.leave(0, "A", i)
	}
	for i := share; i < 2*share; i++ {
		if got := g.enter(0, "A", i); got != messages.Status_GRANTED {
			t.Fatalf("in the place of an idle one: %v", got)
		}
	}
	if g.Len() != share+2 || !g.has(0, "B", 0) || !g.has(0, "", 0) {
		t.Errorf("%d sessions, want %d, with those of others", g.Len(), share+2)
	}
}

// A session without leases ends a minute after it was used last, and after the last wait in it.
func TestIdleSessionEnds(t *testing.T) {
	g := newGuests(t)
	wants := func(at time.Duration, want bool) {
		t.Helper()
		if got := g.has(at, "", 0); got != want {
			t.Errorf("after %s: the session is known: %t, want %t", at, got, want)
		}
	}
	g.enter(0, "", 0)
	wants(10*time.Minute, true)
	g.leave(10*time.Minute, "", 0)
	wants(11*time.Minute-1, true)
	g.Keep(lease.Instant(11*time.Minute-1), g.Find(0, lease.KeyOfSession(g.session("", 0))), 3_600_000, false)
	wants(12*time.Minute-2, true)
	if x := g.Find(0, lease.KeyOfSession(g.session("", 0))); x.Deadline() != lease.Instant(12*time.Minute-1) {
		t.Errorf("it ends at %v", x.Deadline())
	}
	wants(12*time.Minute-1, false)

	g.enter(20*time.Minute, "", 1)
	if got := g.step(20*time.Minute, "r1", lease.Acquire{MaxWaiting: 1, Request: &messages.AcquireRequest{
		Owner: "bob", TtlMs: 3_600_000, WaitMs: 600_000, Session: g.session("", 0),
	}}); got != 0 {
		t.Fatalf("the request does not wait: %v", got)
	}
	wants(31*time.Minute-1, true)
	wants(31*time.Minute, false)
	if n := g.Len(); n != 1 {
		t.Errorf("%d sessions are left, want 1", n)
	}
}
