package monitoring_test

import (
	"fmt"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/integration/stand"
)

// clients make more requests than the node takes, and some without an inbox.
func clients(t *testing.T) (targets []string, steps []func()) {
	t.Helper()
	node := stand.StartAlone(t, "--max-rate", "10")
	nc := stand.Dial(t, node.URL)
	return []string{node.HTTP()}, []func(){func() {
		acquire(t, nc)
		if err := nc.Publish("holdfast.acquire.orders", []byte(`{"owner":"me","ttl_ms":1000}`)); err != nil {
			t.Error(err)
		}
	}}
}

// acquire requests some locks and does not wait for the answers.
func acquire(t *testing.T, nc *nats.Conn) {
	t.Helper()
	for i := range 12 {
		if err := nc.PublishRequest(fmt.Sprint("holdfast.acquire.orders.", i), nc.NewInbox(),
			[]byte(`{"owner":"me","ttl_ms":100}`)); err != nil {
			t.Error(err)
		}
	}
}
