package tenants

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-io/holdfast/actors/node"
	"github.com/holdfast-io/holdfast/cmd/holdfast/server"
	"github.com/holdfast-io/holdfast/integration/stand"
	"github.com/holdfast-io/holdfast/messages"
)

// The events of a tenant reach its own subscribers, and operators below its prefix. A subscription in another account
// is interest that the node sees.
func TestEvents(t *testing.T) {
	t.Parallel()
	s := start(t, node.TenantLimits{}, func(c *server.Config) { c.Retention = time.Hour })
	none, a, b := s.operator(""), s.as(first), s.as(second)
	all := map[*client]*nats.Subscription{}
	for _, c := range []*client{none, a, b} {
		sub, err := c.SubscribeSync("holdfast.event.>")
		if err == nil {
			err = c.Flush()
		}
		if err != nil {
			t.Fatal(err)
		}
		all[c] = sub
	}
	operators, err := none.SubscribeSync("holdfast.tenant.*.event.>")
	if err == nil {
		err = none.Flush()
	}
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range []*client{a, b, none} {
		c.acquire("name", fmt.Sprint("o", i))
	}
	for _, i := range []int{2, 0, 1} { // no tenant first, where events of tenants would be
		c := []*client{a, b, none}[i]
		m, err := all[c].NextMsg(patience)
		if err != nil {
			t.Fatal(err)
		}
		c.wantHidden(m)
		if text := string(m.Data); m.Subject != "holdfast.event.name" ||
			!strings.Contains(text, fmt.Sprintf(`"owner":"o%d"`, i)) || strings.Contains(text, "tenant") {
			t.Fatalf("%s got %s on %s", c.account, text, m.Subject)
		}
	}
	for range 2 {
		m, err := operators.NextMsg(patience)
		if err != nil {
			t.Fatal(err)
		}
		owner := map[string]string{"holdfast.tenant." + first + ".event.name": "o0",
			"holdfast.tenant." + second + ".event.name": "o1"}[m.Subject]
		if owner == "" || !strings.Contains(string(m.Data), owner) {
			t.Errorf("operators got %s on %s", m.Data, m.Subject)
		}
	}
	// No tenant got an event of another: the next one of each is the next of its own.
	for _, c := range []*client{a, b, none} {
		c.acquire("last", "x")
		if m, err := all[c].NextMsg(patience); err != nil || m.Subject != "holdfast.event.last" {
			t.Errorf("%s: got %v, %v, want the next event of its own", c.account, m, err)
		}
	}
	s.wantStored(map[string]string{
		"holdfast.event.name": "o2", "holdfast.event.~tenant." + first + ".name": "o0",
		"holdfast.event.~tenant." + second + ".name": "o1",
	})
}

// wantStored wants the stream of events to have an event of each owner on a subject.
func (s *service) wantStored(owners map[string]string) {
	s.Helper()
	js, err := jetstream.New(s.operator("").Conn)
	if err != nil {
		s.Fatal(err)
	}
	stream, err := js.Stream(s.Context(), messages.DefaultPrefix.EventStream())
	if err != nil {
		s.Fatal(err)
	}
	for subject, owner := range owners {
		stand.Eventually(s, subject+" is stored", func() bool {
			m, err := stream.GetLastMsgForSubject(s.Context(), subject)
			return err == nil && strings.Contains(string(m.Data), fmt.Sprintf("%q", owner))
		})
	}
}
