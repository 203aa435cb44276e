package watch_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/clients/holdfast"
	"github.com/holdfast-io/holdfast/integration/linear"
	"github.com/holdfast-io/holdfast/integration/stand"
)

// names are what the load locks: few enough that its workers meet, in several shards, levels and
// alphabets.
var names = func() (all []string) {
	for i := range 12 {
		all = append(all, fmt.Sprintf("hot.%d", i), fmt.Sprintf("cold.deep.%d", i), fmt.Sprintf("näme %d:*", i))
	}
	return all
}()

// startLoad starts clients, each with a connection of its own, that lock at random through whatever happens to the
// service, until the load is stopped. Some leases are ephemeral: they reserve tokens, and make no events.
func startLoad(t *testing.T, url string, clients int) *linear.Load {
	t.Helper()
	l := stand.Value(linear.StartLoad(t.Context(), linear.LoadConfig{
		Connect:   func(int) (*nats.Conn, error) { return stand.Dial(t, url), nil },
		Resources: names, Ephemeral: 4, Shared: true, Blocks: true, Hot: 3, Clients: clients, Seed: 17,
		TTLs: []time.Duration{100 * time.Millisecond, 400 * time.Millisecond}, Pause: 2 * time.Millisecond,
	}))(t)
	t.Cleanup(func() { l.Stop() })
	return l
}

// client returns a client that ends with the test.
func client(t *testing.T, url string, opts ...holdfast.Option) *holdfast.Client {
	t.Helper()
	return stand.Client(t, stand.Dial(t, url), opts...)
}
