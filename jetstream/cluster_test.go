package jetstream_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/clients/fence/fencetest/ports"
	"github.com/holdfast-io/holdfast/jetstream"
	"github.com/holdfast-io/holdfast/messages/journal"
)

// cluster is three servers that replicate.
type cluster struct {
	servers []*jetstream.Server
	conns   []*nats.Conn
}

// mustCluster starts one; store adds to what the servers say of their JetStream.
func mustCluster(t *testing.T, store ...string) *cluster {
	t.Helper()
	routes := ports.Free(t, 3)
	c := &cluster{}
	for i, route := range routes {
		c.servers = append(c.servers, mustStartFile(t, fmt.Sprintf(`
			server_name: n%d
			listen: "127.0.0.1:-1"
			jetstream { store_dir: "$DIR", sync_interval: always, %s }
			cluster { name: c, listen: %q, routes: ["nats://%s"] }`, i, strings.Join(store, ", "), route, strings.Join(routes, `", "nats://`))))
	}
	for _, s := range c.servers {
		c.conns = append(c.conns, mustConnect(t, s))
	}
	return c
}

// leader returns which server leads the bucket, -1 for none.
func (c *cluster) leader(t *testing.T) int {
	t.Helper()
	for _, nc := range c.conns {
		stream, err := mustJetStream(t, nc).Stream(testContext(t), streamName)
		if err == nil && stream.CachedInfo().Cluster.Leader != "" {
			return int(stream.CachedInfo().Cluster.Leader[1] - '0')
		}
	}
	return -1
}

func (c *cluster) stepDown(t *testing.T, nc *nats.Conn) {
	t.Helper()
	if _, err := nc.Request("$JS.API.STREAM.LEADER.STEPDOWN."+streamName, nil, patience); err != nil {
		t.Errorf("step down: %v", err)
	}
}

func TestCluster(t *testing.T) {
	t.Parallel()
	c := mustCluster(t)
	// At once: the cluster has not even elected anybody.
	d, err := jetstream.OpenDeployment(testContext(t), c.conns[0], jetstream.DeploymentConfig{Prefix: prefix, Shards: 2, Replicas: 3, Log: quiet()})
	if err != nil {
		t.Fatal(err)
	}
	if cfg := mustConfig(t, c.conns[0], bucketName); cfg.Replicas != 3 {
		t.Fatalf("%d replicas", cfg.Replicas)
	}
	b := d.Bucket(0)
	last := uint64(0)
	next := func(b *jetstream.Bucket, epoch uint64) {
		t.Helper()
		mustAppend(t, b, last, commit(epoch, last+1, 100))
		last++
	}

	// A reader lives on any replica, also on one that has not heard of the newest record yet.
	for i := range 60 {
		next(b, 1)
		got := mustReplay(t, mustOpen(t, c.conns[i%3], 0).Bucket(0), 0)
		if got.last != last || uint64(len(got.records)) != last {
			t.Fatalf("%d are confirmed, and a replay finds %d up to %d", last, len(got.records), got.last)
		}
	}
	for i := range 200 {
		if i%50 == 25 {
			c.stepDown(t, c.conns[1])
		}
		next(b, 1)
	}
	other := mustOpen(t, c.conns[1], 0).Bucket(0)
	next(other, 2)
	wantError(t, b.Append(testContext(t), last-1, commit(1, last, 100)), journal.ErrConflict, "epoch 2")

	// The leader stops, as for a rolling restart, and the writer goes on elsewhere.
	leader := c.leader(t)
	if leader < 0 {
		t.Fatal("no leader")
	}
	writer := mustOpen(t, c.conns[(leader+1)%3], 0).Bucket(0)
	c.servers[leader].Shutdown()
	for range 50 {
		next(writer, 3)
	}
	got := mustReplay(t, mustOpen(t, c.conns[(leader+2)%3], 0).Bucket(0), 0)
	for i, r := range got.records {
		if r.GetCommit().GetNumber() != uint64(i)+1 || got.positions[i] != uint64(i)+1 {
			t.Errorf("%s stands at %d as number %d", r.Describe(), got.positions[i], i+1)
		}
	}
	if uint64(len(got.records)) != last {
		t.Errorf("%d of %d are left", len(got.records), last)
	}
}
