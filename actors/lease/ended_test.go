package lease

import (
	"fmt"
	"testing"
	"time"

	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/journal"
)

// few has room for a few thousand.
func few() *EndedRequests {
	m := NewEndedRequests()
	m.keep, m.limit = 256, 4096
	return m
}

// flood ends n requests at the instant, by ids that begin with prefix.
func (m *EndedRequests) flood(now Instant, prefix string, n int) {
	for i := range n {
		m.End(now, flooded(prefix, i), messages.Event_RELEASED)
	}
}

func flooded(prefix string, i int) *journal.Grant {
	return &journal.Grant{Resource: "r", Owner: "ann", Token: uint64(i + 1), RequestId: fmt.Sprint(prefix, i)}
}

func (m *EndedRequests) knows(prefix string, i int) bool {
	g := flooded(prefix, i)
	e, ok := m.find(keyOfGrant(g, g.GetRequestId()))
	return ok && e == ended{messages.Token(i + 1), messages.Event_RELEASED, 0}
}

func TestEndedRequestsAreRememberedForAMinute(t *testing.T) {
	m := few()
	m.flood(0, "first", 10)
	const each = 40
	for second := range 60 {
		m.flood(Instant(0).Add(time.Duration(second)*time.Second+time.Millisecond), fmt.Sprint(second, "-"), each)
		for i := range 10 {
			if !m.knows("first", i) {
				t.Fatalf("request %d is forgotten after %d s and %d others", i, second, m.count)
			}
		}
	}
	for second := range 60 {
		if !m.knows(fmt.Sprint(second, "-"), each-1) {
			t.Errorf("the last request of second %d is forgotten", second)
		}
	}
	m.flood(Instant(0).Add(10*time.Minute), "last", 1)
	if !m.knows("last", 0) || m.count > m.keep {
		t.Errorf("%d are remembered after ten minutes, want %d at most", m.count, m.keep)
	}
}

// A quiet shard remembers for as long as it is owned.
func TestFewEndedRequestsStayRemembered(t *testing.T) {
	m := few()
	for hour := range m.keep {
		m.flood(Instant(0).Add(time.Duration(hour)*time.Hour), fmt.Sprint(hour, "-"), 1)
	}
	if !m.knows("0-", 0) {
		t.Error("the first is forgotten, though there is room")
	}
	if n := len(m.parts); n > 2*generations {
		t.Errorf("%d parts to look through", n)
	}
	m.flood(Instant(0).Add(time.Duration(m.keep)*time.Hour), "one more", m.keep/generations)
	if m.knows("0-", 0) || m.count > m.keep {
		t.Errorf("the oldest of %d is remembered, where %d may be", m.count, m.keep)
	}
}

// At the bound the oldest are forgotten, though their minute is not over.
func TestEndedRequestsAreBounded(t *testing.T) {
	m := few()
	m.flood(0, "first", 1)
	for round := range 5 {
		m.flood(Instant(round+1), fmt.Sprint(round, "-"), m.limit/4)
		if m.count > m.limit {
			t.Fatalf("%d are remembered, the bound is %d", m.count, m.limit)
		}
	}
	if m.knows("first", 0) {
		t.Error("the oldest is remembered")
	}
	for i := range 16 {
		if !m.knows("4-", m.limit/4-1-i) {
			t.Errorf("the last but %d is forgotten", i)
		}
	}
}

// The request of the last grant is remembered when the next grant takes its place, though it was forgotten meanwhile.
func TestForgottenRequestOfTheLastGrant(t *testing.T) {
	m := few()
	s := New("r", Image{}, m, NewSessions(1))
	ask := func(at time.Duration, e Event) messages.Status {
		o := s.Step(Time{Instant: Instant(at)}, e)
		return o.Answers[0].Reply.GetStatus()
	}
	acquire := func(id string) Event {
		return Acquire{Request: &messages.AcquireRequest{Owner: "ann", TtlMs: 60_000, RequestId: id}}
	}
	ask(time.Second, acquire("first"))
	ask(2*time.Second, Release{Request: &messages.ReleaseRequest{Owner: "ann"}})
	m.flood(Instant(time.Hour), "one ", m.keep)
	m.flood(Instant(2*time.Hour), "two ", m.keep)
	if _, known := m.find(keyOf("r", caller{owner: "ann"}, "first")); known {
		t.Fatal("the request is not forgotten: the test is vacuous")
	}
	if got := ask(3*time.Hour, acquire("second")); got != messages.Status_GRANTED {
		t.Fatalf("the next request got %v", got)
	}
	if got := ask(3*time.Hour, acquire("first")); got != messages.Status_RELEASED {
		t.Errorf("a late copy of the first request got %v, want RELEASED", got)
	}
}

// What ended at an instant since which everything is remembered is remembered itself, and later than that nothing has
// been forgotten.
func TestRemembersSince(t *testing.T) {
	m := few()
	if m.remembersSince(0) || m.remembersSince(Never) {
		t.Error("an empty memory remembers")
	}
	const rounds = 40
	forgotten := 0
	for round := range rounds {
		m.flood(Instant(round+1), fmt.Sprint(round, "-"), m.limit/generations/4+7)
		for r := range round + 1 {
			knows := m.knows(fmt.Sprint(r, "-"), 0)
			if m.remembersSince(Instant(r+1)) && !knows {
				t.Fatalf("round %d: what ended in round %d is not remembered", round, r)
			}
			if !knows {
				forgotten++
			}
		}
		if round > 0 && !m.remembersSince(Instant(round+1)) {
			t.Fatalf("round %d: the last one is not sure to be remembered", round)
		}
		if m.remembersSince(0) {
			t.Fatal("0 stands for what it never received")
		}
	}
	if forgotten == 0 {
		t.Error("nothing was forgotten: the test is vacuous")
	}
}

func TestSharersOfALeaseAreBounded(t *testing.T) {
	m := few()
	g := &journal.Grant{Resource: "r", Owner: "ann", Token: 1}
	for i := range 2 * maxSharers {
		m.share(g, &messages.AcquireRequest{Owner: "ann", RequestId: fmt.Sprint(i)})
	}
	m.End(0, g, messages.Event_RELEASED)
	if m.count != maxSharers || len(m.sharers) != 0 {
		t.Errorf("%d are remembered, and %d leases are still shared; want %d and none", m.count, len(m.sharers),
			maxSharers)
	}
	if _, ok := m.find(keyOf("r", caller{owner: "ann"}, fmt.Sprint(2*maxSharers-1))); !ok {
		t.Error("the latest is forgotten")
	}
}
