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
	m.keep, m.most = 256, 4096
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
	e, ok := m.find(keyOf(g.GetResource(), g.GetOwner(), g.GetRequestId()))
	return ok && e == ended{messages.Token(i + 1), messages.Event_RELEASED}
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
		m.flood(Instant(round+1), fmt.Sprint(round, "-"), m.most/4)
		if m.count > m.most {
			t.Fatalf("%d are remembered, the bound is %d", m.count, m.most)
		}
	}
	if m.knows("first", 0) {
		t.Error("the oldest is remembered")
	}
	for i := range 16 {
		if !m.knows("4-", m.most/4-1-i) {
			t.Errorf("the last but %d is forgotten", i)
		}
	}
}

func TestSharersOfALeaseAreBounded(t *testing.T) {
	m := few()
	g := &journal.Grant{Resource: "r", Owner: "ann", Token: 1}
	for i := range 2 * mostSharers {
		m.share(g, fmt.Sprint(i))
	}
	m.End(0, g, messages.Event_RELEASED)
	if m.count != mostSharers || len(m.sharers) != 0 {
		t.Errorf("%d are remembered, and %d leases are still shared; want %d and none", m.count, len(m.sharers), mostSharers)
	}
	if _, ok := m.find(keyOf("r", "ann", fmt.Sprint(2*mostSharers-1))); !ok {
		t.Error("the latest is forgotten")
	}
}
