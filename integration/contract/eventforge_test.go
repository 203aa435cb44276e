package contract

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	natsjs "github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-io/holdfast/integration/stand"
	"github.com/holdfast-io/holdfast/messages"
)

// forge publishes events of a resource as a client could that may publish there, under the ids that come next.
func forge(t *testing.T, nc *nats.Conn, resource string, after messages.EventID) {
	t.Helper()
	for i := range 10 {
		m := nats.NewMsg("holdfast.event." + resource)
		m.Header.Set("Nats-Msg-Id", fmt.Sprintf("%d.%d.0", after.Shard, after.Position+uint64(i)+1))
		m.Data = []byte("forged")
		stand.Must(t, nc.PublishMsg(m))
	}
	stand.Must(t, nc.Flush())
}

// Plain subscribers receive what a forger publishes. The stream has the real events and no other, and subscribers
// receive those, too.
func TestForgedEvents(t *testing.T) {
	s := stand.Start(t, stand.Config{Shards: 1, Retention: time.Hour})
	c := &client{t, s.Connect()}
	w := watch(t, s.Connect(), "holdfast.event.>")
	c.want(messages.Status_GRANTED, 1, "holdfast.acquire.orders.1", `{"owner":"a","ttl_ms":60000}`)
	first := w.next()
	forge(t, s.Connect(), "orders.1", first.ID())
	forge(t, s.Connect(), "orders.2", first.ID())
	for range 20 {
		if m, err := w.sub.NextMsg(patience); err != nil || string(m.Data) != "forged" {
			t.Fatalf("got %v, %v, want what was forged", m, err)
		}
	}
	c.want(messages.Status_RELEASED, 0, "holdfast.release.orders.1", `{"owner":"a"}`)
	c.want(messages.Status_GRANTED, 1, "holdfast.acquire.orders.2", `{"owner":"a","ttl_ms":60000}`)
	want := []*messages.Event{first, w.next(), w.next()}
	c.until("all events are published", func() bool {
		stats := string(c.send(&nats.Msg{Subject: "$SRV.STATS.holdfast"}).Data)
		return strings.Contains(stats, `"events":3,"events_behind":0,"events_lost":0`)
	})

	js := stand.Value(natsjs.New(c.nc))(t)
	stream := stand.Value(js.Stream(t.Context(), "HOLDFAST_EVENTS"))(t)
	if n := stream.CachedInfo().State.Msgs; n != uint64(len(want)) {
		t.Errorf("the stream has %d messages, want %d", n, len(want))
	}
	for i, e := range want {
		m := stand.Value(stream.GetMsg(t.Context(), uint64(i)+1))(t)
		if got := mustReadEvent(t, m.Subject, m.Header, m.Data); got.ID() != e.ID() {
			t.Errorf("message %d is %v, want %v", i+1, got, e)
		}
	}
}
