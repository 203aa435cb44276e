package tenants

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/actors/node"
	"github.com/holdfast-io/holdfast/cmd/holdfast/server"
	"github.com/holdfast-io/holdfast/integration/stand"
	"github.com/holdfast-io/holdfast/jetstream/embedded"
	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/porttest"
)

// In a cluster of two servers, tenants stay apart whichever server a client uses and whichever node owns a shard, and
// events reach subscribers on the other server.
func TestCluster(t *testing.T) {
	t.Parallel()
	routes := porttest.Free(t, 2)
	servers := make([]*service, 2)
	type result struct {
		at      int
		running *server.Server
		err     error
	}
	started := make(chan result)
	for i := range servers {
		config := accounts(false) + fmt.Sprintf(
			"cluster { name: c, listen: %q, routes: [\"nats://%s\", \"nats://%s\"] }\n", routes[i], routes[0],
			routes[1])
		cfg := server.Config{
			Config: node.Config{
				Name: fmt.Sprint("n", i+1), Shards: 4, Log: slog.New(slog.DiscardHandler),
				Tenants: map[string]node.TenantLimits{first: {}, second: {}},
			},
			Login:    []nats.Option{nats.UserInfo("node", "n")},
			Embedded: embedded.Config{ConfigFile: stand.NATSConfig(t, config)},
		}
		go func() {
			running, err := server.Start(t.Context(), cfg)
			started <- result{i, running, err}
		}()
	}
	for range servers {
		r := <-started
		if r.err != nil {
			t.Fatal(r.err)
		}
		servers[r.at] = &service{t, r.running}
	}
	t.Cleanup(func() {
		for _, s := range servers { // the last one has no quorum for the transfers of its leaderships
			_ = s.Stop()
		}
	})
	stand.Eventually(t, "each node owns a shard", func() bool {
		nodes := servers[0].operator("").info().GetNodes()
		return len(nodes) == 2 && len(nodes[0].GetShards()) == 2 && len(nodes[1].GetShards()) == 2
	})
	var clients []*client
	for _, s := range servers {
		clients = append(clients, s.as(first), s.as(second))
	}
	events, err := clients[2].SubscribeSync("holdfast.event.>")
	if err == nil {
		err = clients[2].Flush()
	}
	if err != nil {
		t.Fatal(err)
	}
	const names = 8
	for i := range names {
		key := fmt.Sprint("k", i)
		for at, tenant := range []int{0, 1} {
			clients[tenant].acquire(key, fmt.Sprint("o", at))
		}
		for at, c := range clients {
			if l := c.want(messages.Status_HELD, messages.OpGet, key, "").GetLease(); l.GetOwner() != fmt.Sprint("o", at%2) || l.GetToken() != 1 {
				t.Errorf("%s: got %v, want the lease of its tenant", key, l)
			}
		}
	}
	for range names {
		m, err := events.NextMsg(patience)
		if err != nil {
			t.Fatal(err)
		}
		clients[2].wantHidden(m)
		if !strings.Contains(string(m.Data), `"owner":"o0"`) || !strings.HasPrefix(m.Subject, "holdfast.event.k") {
			t.Errorf("got %s on %s", m.Data, m.Subject)
		}
	}
	if n := len(servers[1].operator("").pages(messages.AllTenants)); n != 2*names {
		t.Errorf("a listing has %d leases, want %d", n, 2*names)
	}
}
