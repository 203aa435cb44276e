package node

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/actors"
	"github.com/holdfast-io/holdfast/actors/lease"
)

// report is the message by which NATS says that a subject has no responders.
func report(reply string) *nats.Msg {
	return &nats.Msg{Subject: reply, Header: nats.Header{"Status": {"503"}}}
}

// grantsIn returns the grants that a message reports, which is not of a probe.
func grantsIn(u *undeliverable, m *nats.Msg) []grant {
	grants, probe := u.parse(m)
	if probe != nil {
		panic(fmt.Sprintf("%s is of probe %v", m.Subject, probe))
	}
	return grants
}

func TestUndeliverableProbe(t *testing.T) {
	u := newUndeliverable(&nats.Conn{})
	want := actors.Probe{Shard: 12, Session: lease.KeyOfSession("0123456789abcdef"), Number: 1<<40 + 7}
	reply := u.probe(want)
	if grants, got := u.parse(report(reply)); grants != nil || got == nil || *got != want {
		t.Errorf("got %v and grants %v, want %v", got, grants, want)
	}
	for _, forged := range []*nats.Msg{
		{Subject: reply}, report(strings.Replace(reply, "~12.", "~11.", 1)),
		report(strings.Replace(reply, ".~12.", ".12.", 1)),
	} {
		if grants, got := u.parse(forged); grants != nil || got != nil {
			t.Errorf("%s: got %v and grants %v", forged.Subject, got, grants)
		}
	}
}

func TestUndeliverableGrant(t *testing.T) {
	u := newUndeliverable(&nats.Conn{})
	want := grant{"", "orders.42", 5}
	reply := u.one(want)
	for range 2 { // nothing is kept of a single grant
		if got := grantsIn(u, report(reply)); !slices.Equal(got, []grant{want}) {
			t.Errorf("got %v, want %v", got, want)
		}
	}
	want = grant{"ORDERS", "orders.42", 5}
	reply = u.one(want)
	if got := grantsIn(u, report(reply)); !slices.Equal(got, []grant{want}) || strings.Contains(reply, "ORDERS") {
		t.Errorf("got %v of %s, want %v, and no tenant in the subject", got, reply, want)
	}
}

func TestUndeliverableBatch(t *testing.T) {
	u := newUndeliverable(&nats.Conn{})
	first, second := []grant{{"", "a", 1}, {"B", "b.c", 2}}, []grant{{"", "d", 3}}
	replies := []string{u.many(first), u.many(second)}
	for i, want := range [][]grant{first, second} {
		if got := grantsIn(u, report(replies[i])); !slices.Equal(got, want) {
			t.Errorf("message %d: got %v, want %v", i, got, want)
		}
		if got := grantsIn(u, report(replies[i])); got != nil {
			t.Errorf("message %d: got %v again", i, got)
		}
	}
	if reply := u.many(nil); reply != "" {
		t.Errorf("a message without grants has the reply subject %q", reply)
	}
}

// Only NATS can report, and only what the node has sent.
func TestForgedReports(t *testing.T) {
	u, other := newUndeliverable(&nats.Conn{}), newUndeliverable(&nats.Conn{})
	grants := []grant{{"", "a", 1}}
	one, many := u.one(grants[0]), u.many(grants)
	other.many(grants)
	levels := strings.Split(many, ".")
	code, number := levels[len(levels)-2], levels[len(levels)-1]
	otherCode := strings.Split(other.many(grants), ".")[len(levels)-2]
	base := strings.TrimSuffix(u.inbox.prefix, ".")
	oneLevels := strings.Split(one, ".")
	for _, forged := range []*nats.Msg{
		{Subject: many},
		{Subject: many, Header: nats.Header{"Status": {"200"}}},
		report(base), report(base + "."), report(base + ".x"), report(base + "." + code), report(""),
		report(base + "." + code + ".2"),
		report(base + "." + code + ".1.a"),
		report(base + "." + otherCode + "." + number),
		report(base + "." + strings.Repeat("0", len(code)) + "." + number),
		report(base + ".." + number),
		report(base + "." + oneLevels[len(oneLevels)-3] + ".1"), // the code of a grant is not that of a batch
		report(base + "." + oneLevels[len(oneLevels)-3] + ".2.a"),
		report(base + "." + oneLevels[len(oneLevels)-3] + ".1.b"),
		report(strings.Replace(many, base, strings.TrimSuffix(other.inbox.prefix, "."), 1)),
	} {
		if got := grantsIn(u, forged); got != nil {
			t.Errorf("%s: got %v", forged.Subject, got)
		}
	}
	if got := grantsIn(u, report(many)); !slices.Equal(got, grants) {
		t.Errorf("the forged reports took the grants: got %v, want %v", got, grants)
	}
}

// The grants of a message are kept while no more than a number of others are sent, and then forgotten: they are not
// mistaken for those of the message that has taken their place.
func TestForgottenBatches(t *testing.T) {
	u := newUndeliverable(&nats.Conn{})
	var replies []string
	for i := range 2*keptBatches + 10 {
		replies = append(replies, u.many([]grant{{"", fmt.Sprint("r", i), 1}}))
	}
	for i, reply := range replies {
		got, kept := grantsIn(u, report(reply)), i >= len(replies)-keptBatches
		switch {
		case !kept && got != nil:
			t.Fatalf("message %d of %d: got %v, want none", i, len(replies), got)
		case kept && !slices.Equal(got, []grant{{"", fmt.Sprint("r", i), 1}}):
			t.Fatalf("message %d of %d: got %v", i, len(replies), got)
		}
	}
}
