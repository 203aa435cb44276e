//go:build linux

package cluster_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-io/holdfast/clients/holdfast"
	"github.com/holdfast-io/holdfast/integration/cluster"
	"github.com/holdfast-io/holdfast/integration/stand"
)

// A node is ready if it can commit, or has no shard and receives from the others; one that is cut off from the others
// is neither, whether it has had a shard or not.
func TestReadiness(t *testing.T) {
	needRoot(t)
	t.Parallel()
	c := cluster.Start(t, cluster.Config{Shards: 1, Args: []string{"--http", "0.0.0.0:8422", "--http-insecure"}})
	mustHealthy(t, c)
	allReady(t, c, c.Nodes())
	owner := ownerAmong(t, c, c.Nodes()...)
	cutOff(t, c, owner)
	mustHealthy(t, c)
	owner = ownerAmong(t, c, c.Nodes()...)
	for _, node := range c.Nodes() {
		if node != owner {
			cutOff(t, c, node)
			break
		}
	}
}

// A node whose disk is stuck is not ready, and still shows its metrics: they say which shard waits for the disk.
func TestStuckDiskIsSeen(t *testing.T) {
	needRoot(t)
	t.Parallel()
	c := cluster.Start(t, cluster.Config{Shards: 1, Args: []string{"--http", "0.0.0.0:8422", "--http-insecure"}})
	mustHealthy(t, c)
	allReady(t, c, c.Nodes())
	// The rule assigns the one shard of these three nodes to n3. One that started earlier may own it until n3 has been
	// there for three seconds, and would hand it over in the middle of the test.
	owner := ownerAmong(t, c, "n3")
	if _, err := c.Inject(t.Context(), cluster.KindFsyncSlow.On(owner).By(time.Minute, 0)); err != nil {
		t.Fatal(err)
	}
	stand.Eventually(t, owner+" is not ready", func() bool {
		return strings.Contains(readiness(t, c, owner), "[-]commits failed: ")
	})
	stand.Eventually(t, owner+" shows the shard that waits", func() bool {
		return strings.Contains(page(t, c, owner, "metrics"), "holdfast_shard_stalled{shard=\"0\"} 1\n")
	})
}

// A node whose disk is full shows it, and is ready, because the disks of the others confirm its commits. Two full disks
// of three leave no majority: no node with a shard is ready.
func TestFullDiskIsSeen(t *testing.T) {
	needRoot(t)
	t.Parallel()
	c := cluster.Start(t, cluster.Config{Shards: 1, Args: []string{"--http", "0.0.0.0:8422", "--http-insecure"}})
	mustHealthy(t, c)
	nodes := c.Nodes()
	allReady(t, c, nodes)
	commitOn(t, c)
	fill := func(node string) {
		if _, err := c.Inject(t.Context(), cluster.KindDiskFull.On(node)); err != nil {
			t.Fatal(err)
		}
		stand.Eventually(t, node+" shows its fault", func() bool {
			return strings.Contains(page(t, c, node, "metrics"), "holdfast_storage_fault 1\n")
		})
	}
	fill(nodes[0])
	allReady(t, c, nodes)
	fill(nodes[1])
	stand.Eventually(t, "a node is not ready", func() bool {
		return slices.ContainsFunc(nodes, func(node string) bool {
			return strings.Contains(readiness(t, c, node), "[-]commits failed: ")
		})
	})
}

// commitOn has commits made until the end of the test: without any, NATS does not find out what its disk takes.
func commitOn(t *testing.T, c *cluster.Cluster) {
	t.Helper()
	nc, err := c.Connect()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	locks, err := holdfast.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var committing sync.WaitGroup
	committing.Go(func() {
		for ctx.Err() == nil {
			if lock, err := locks.TryAcquire(ctx, "a"); err == nil {
				_ = lock.Release(ctx) // a disk that is full may have it fail
			}
		}
	})
	t.Cleanup(func() { cancel(); committing.Wait() })
}

// cutOff takes a node from the others: it becomes unready, and they become or stay ready, one of them with its shard.
// When they can reach one another again, all are ready.
func cutOff(t *testing.T, c *cluster.Cluster, node string) {
	t.Helper()
	cut, err := c.Inject(t.Context(), cluster.KindPartition.On(node))
	if err != nil {
		t.Fatal(err)
	}
	stand.Eventually(t, node+" is not ready", func() bool {
		text := readiness(t, c, node)
		return strings.Contains(text, "[+]announcements ok\n[-]commits failed: ") &&
			strings.HasSuffix(text, "readyz check failed\n")
	})
	stand.Eventually(t, node+" is alive although it is cut off",
		func() bool { return page(t, c, node, "livez") == "ok" })
	allReady(t, c, slices.DeleteFunc(c.Nodes(), func(other string) bool { return other == node }))
	if _, err := cut.Heal(t.Context()); err != nil {
		t.Error(err)
	}
	allReady(t, c, c.Nodes())
}

// allReady waits until these nodes are ready.
func allReady(t *testing.T, c *cluster.Cluster, nodes []string) {
	t.Helper()
	for _, node := range nodes {
		stand.Eventually(t, node+" is ready", func() bool { return readiness(t, c, node) == "ok" })
	}
}

// ownerAmong returns the node that owns the one shard, once it is one of these and its server also leads the bucket:
// before that the shard moves there.
func ownerAmong(t *testing.T, c *cluster.Cluster, nodes ...string) (owner string) {
	t.Helper()
	nc, err := c.Connect()
	if err != nil {
		t.Fatal(err)
	}
	client := stand.Client(t, nc)
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	stand.Eventually(t, "the owner of the shard leads its bucket", func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		info, err := client.Info(ctx)
		if err != nil {
			return false
		}
		owner = ""
		for _, n := range info.Nodes {
			if len(n.Shards) > 0 {
				owner = n.Name
			}
		}
		bucket, err := js.Stream(ctx, "KV_HOLDFAST_0")
		return err == nil && slices.Contains(nodes, owner) && bucket.CachedInfo().Cluster.Leader == owner
	})
	return owner
}

func readiness(t *testing.T, c *cluster.Cluster, node string) string {
	t.Helper()
	return page(t, c, node, "readyz")
}

// page returns what a node answers, whatever the status is.
func page(t *testing.T, c *cluster.Cluster, node, path string) string {
	t.Helper()
	host, err := c.Host(node)
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Timeout: 30 * time.Second}
	r, err := client.Get(fmt.Sprintf("http://%s:8422/%s", host, path))
	if err != nil {
		return err.Error()
	}
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return err.Error()
	}
	return string(body)
}
