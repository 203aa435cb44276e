package lease_test

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/holdfast-io/holdfast/actors/lease"
	"github.com/holdfast-io/holdfast/messages"
)

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

// A lease of a session grows as any other, keeps its block and its shortest hold whatever the session does, and rests when
// that ends it.
func TestBlockOfASession(t *testing.T) {
	const session = "session-000000000"
	for kind, want := range map[messages.Event_Kind]string{
		messages.Event_RELEASED: "RELEASED ann#1..16 3s orders=2,0 rests=2.5s",
		messages.Event_EXPIRED:  "EXPIRED ann#1..16 3s orders=2,0 rests=2.5s",
		messages.Event_EXTENDED: "EXTENDED ann#1..16 3s orders=2,0", // it goes on by itself
	} {
		sessions := lease.NewSessions(1)
		s := lease.New(resource, lease.Image{}, lease.NewEndedRequests(), sessions)
		step := func(when, want string) {
			t.Helper()
			st := mustParse(when).steps[0]
			event := st.event()
			if e, ok := event.(lease.Acquire); ok {
				e.Request.Session = session
			}
			if e, ok := event.(lease.Extend); ok {
				e.Request.Session = session
			}
			if got := said(s.Step(st.time(), event)); !slices.Equal(got, lines(want)) {
				t.Errorf("%s: got %q, want %q", when, got, want)
			}
		}
		step("0s ann acquire tokens=4 hold=6s", "ACQUIRED ann#1..4 1s; ann: GRANTED ann#1..4 1s/1s")
		step("500ms ann extend tokens=4", "ann: EXTENDED ann#1..4 1s/1s")
		step("500ms ann extend tokens=8", "EXTENDED ann#1..8 1s; ann: EXTENDED ann#1..8 1s/1s")
		x := sessions.Find(lease.Instant(time.Second), lease.KeyOfSession(session))
		sessions.Keep(lease.Instant(time.Second), x, 3000, false)
		step("1s node tick", "EXTENDED ann#1..8 3s")
		step("1s ann extend order=2", "EXTENDED ann#1..8 3s orders=2,0; ann: EXTENDED ann#1..8 3s/3s order=2")
		step("2s ann extend order=1 tokens=16", "UPDATED ann#1..16 3s orders=2,0; ann: EXTENDED ann#1..16 2s/3s order=2")
		if x.Resources()[0] != resource || !x.IsSettled() {
			t.Errorf("the session has %q, settled: %t", x.Resources(), x.IsSettled())
		}
		sessions.End(x, kind, "")
		step("3.5s node tick", want)
		if image := s.Image(); image.Last().Rest != lease.Instant(6*time.Second) {
			t.Errorf("%v: the shortest hold is over at %v", kind, image.Last().Rest)
		}
	}
}

func secretHash(secret []byte) []byte {
	sum := sha256.Sum256(secret)
	return sum[:]
}
