package access

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/clients/holdfast"
	"github.com/holdfast-io/holdfast/integration/stand"
	"github.com/holdfast-io/holdfast/messages/porttest"
)

// Nodes on an external NATS need no more than is printed: to create and fill buckets and the stream of events, to
// forward, to take shards over, to answer, and to show themselves.
func TestNodesOnExternalNATS(t *testing.T) {
	t.Parallel()
	d := deploy(t, printed(t, "deployment", "--shards", "4"), 4, 1)
	second := d.node("n2")
	c := stand.Client(t, d.connect("orders"))
	for i := range 8 {
		if _, err := c.Acquire(t.Context(), fmt.Sprint("orders.", i), holdfast.TTL(time.Hour), holdfast.NoRenewal()); err != nil {
			t.Fatal(err)
		}
	}
	operator := stand.Client(t, d.connect("operator"))
	leases := 0
	for _, err := range operator.List(t.Context(), "orders.*") {
		if err != nil {
			t.Fatal(err)
		}
		leases++
	}
	if leases != 8 {
		t.Errorf("an operator sees %d leases, want 8", leases)
	}
	stand.Eventually(t, "the second node owns shards", func() bool {
		info, err := operator.Info(t.Context())
		return err == nil && slices.ContainsFunc(info.Nodes,
			func(n holdfast.Node) bool { return n.Name == "n2" && len(n.Shards) > 0 })
	})
	if err := second.Stop(); err != nil {
		t.Error(err)
	}
	for i := range 8 {
		if state, err := operator.Get(t.Context(), fmt.Sprint("orders.", i)); err != nil || !state.Held {
			t.Errorf("orders.%d after the stop of a node: %v, %v", i, state, err)
		}
	}
	d.wantNoViolation("holdfast")
	d.wantNoViolation("operator")
}

// The same holds for a cluster with NATS in the nodes, which also moves the leadership of buckets.
func TestNodesOfACluster(t *testing.T) {
	t.Parallel()
	addresses := porttest.Free(t, 6)
	clients, routes := addresses[:3], addresses[3:]
	conf := printed(t, "deployment", "--shards", "4")
	m := stand.NewMembers(t, 3)
	for i, member := range m.All {
		file := filepath.Join(t.TempDir(), "nats.conf")
		text := fmt.Sprintf(
			"listen: %q\ncluster { name: holdfast, listen: %q, routes: [\"nats-route://%s\"] }\njetstream { "+
				"store_dir: %q, sync_interval: always }\n%s",
			clients[i], routes[i], strings.Join(routes, `", "nats-route://`), member.Data, conf)
		stand.Must(t, os.WriteFile(file, []byte(text), 0o600))
		member.Args = []string{"serve", "--nats-config", file, "--name", member.Name, "--user", "holdfast",
			"--password", password, "--replicas", "3"}
		member.Start()
	}
	for _, member := range m.All {
		member.WaitReady()
	}
	nc := stand.Dial(t, "nats://"+strings.Join(clients, ",nats://"), nats.UserInfo("orders", password),
		nats.CustomInboxPrefix("_INBOX.orders"))
	c := stand.Client(t, nc)
	for _, stopped := range m.All[:2] {
		for i := range 8 {
			lock := stand.Value(c.Acquire(t.Context(), fmt.Sprint("orders.", i)))(t)
			stand.Must(t, lock.Release(t.Context()))
		}
		stopped.Stop()
		if log := stopped.Written(); strings.Contains(log, "Violation") || strings.Contains(log, "ermission") {
			t.Errorf("a node was refused something:\n%s", log)
		}
		stopped.Restart()
	}
}
