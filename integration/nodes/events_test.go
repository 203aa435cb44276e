package nodes

import (
	"strconv"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/actors/node"
	"github.com/holdfast-io/holdfast/integration/stand"
	"github.com/holdfast-io/holdfast/messages"
)

// Events that have no subscriber are not published. Those behind them are.
func TestEventsWithoutSubscribers(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	unwatched, watched := "0", "1"
	for i := 2; messages.ShardOf(watched, shards) != messages.ShardOf(unwatched, shards); i++ {
		watched = strconv.Itoa(i)
	}
	subject := messages.DefaultPrefix.Event(watched)
	var events *nats.Conn
	f.start("n1", func(c *node.Config) {
		events = c.Events
		c.Interest = func(asked string) bool { return asked == subject }
	})
	nc := f.connect()
	sub, err := nc.SubscribeSync(messages.DefaultPrefix.Event(">"))
	if err == nil {
		err = nc.Flush()
	}
	if err != nil {
		t.Fatal(err)
	}
	c := stand.Client(t, nc)
	for _, resource := range []string{unwatched, watched} {
		lock, err := c.Acquire(t.Context(), resource)
		if err == nil {
			err = lock.Release(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		m := stand.Value(sub.NextMsg(patience))(t)
		if m.Subject != subject {
			t.Errorf("an event on %s was published", m.Subject)
		}
	}
	if n := events.Stats().OutMsgs; n != 2 {
		t.Errorf("%d messages were published, want 2", n)
	}
}
