package watch_test

import (
	"errors"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-io/holdfast/clients/holdfast"
	"github.com/holdfast-io/holdfast/integration/stand"
)

// An account has a bound on the readers of a journal. Beyond it nothing can be watched, locks go on, and the place of a
// reader that ends is free.
func TestReadersAreBounded(t *testing.T) {
	t.Parallel()
	s := stand.Start(t, stand.Config{Shards: 1, Login: nats.UserInfo("node", "pass"), ConfigFile: stand.NATSConfig(t,
		`accounts: { A: { jetstream: { max_file: 1G, max_mem: 64M, max_consumers: 2 }, users: [ { user: node, password: pass } ] } }`)})
	nc := s.Connect(nats.UserInfo("node", "pass"))
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	create := func() (jetstream.Consumer, error) {
		return js.CreateConsumer(t.Context(), "KV_HOLDFAST_0",
			jetstream.ConsumerConfig{AckPolicy: jetstream.AckNonePolicy, InactiveThreshold: time.Hour})
	}
	var first jetstream.Consumer
	for range 2 {
		if first, err = create(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := create(); !errors.Is(err, jetstream.ErrMaximumConsumersLimit) {
		t.Fatalf("a third reader: %v", err)
	}
	c := stand.Client(t, nc)
	stand.Value(c.TryAcquire(t.Context(), "orders.1", holdfast.NoRenewal()))(t)
	stand.Must(t, js.DeleteConsumer(t.Context(), "KV_HOLDFAST_0", first.CachedInfo().Name))
	for e, err := range c.Watch(t.Context(), ">", holdfast.Since(time.Time{})) {
		if err != nil || e.Lease.Resource != "orders.1" {
			t.Errorf("got %v, %v", e, err)
		}
		break
	}
}
