//go:build linux

package cluster_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/holdfast-io/holdfast/clients/holdfast"
	"github.com/holdfast-io/holdfast/integration/cluster"
)

const (
	// diskFault is how long a disk is full or does not sync.
	diskFault = 8 * time.Second
	// diskRecovery is how long it takes at most until every shard grants again. README promises it.
	diskRecovery = 30 * time.Second
	// names are enough to meet every shard.
	names = 32
)

// mustGrant fails the test unless resources of every shard can be acquired.
func mustGrant(t *testing.T, c *cluster.Cluster, after string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), diskRecovery)
	defer cancel()
	for _, name := range c.Nodes() {
		nc, err := c.ConnectTo(name)
		if err != nil {
			t.Fatal(err)
		}
		client, err := holdfast.New(nc)
		if err != nil {
			t.Fatal(err)
		}
		for i := range names {
			if _, err := client.Acquire(ctx, fmt.Sprintf("after/%s/%s/%d", after, name, i)); err != nil {
				t.Fatalf("after %s, by way of %s: %v", after, name, err)
			}
		}
		if err := client.Close(ctx); err != nil {
			t.Error(err)
		}
	}
}

// A node whose disk was full, or did not sync, stores again by itself. If it did not, the same fault of a
// second node would leave no shard a majority.
func TestDisksRecover(t *testing.T) {
	needRoot(t)
	t.Parallel()
	for _, nodes := range []int{3, 1} {
		t.Run(fmt.Sprint(nodes, "nodes"), func(t *testing.T) {
			t.Parallel()
			c := cluster.Start(t, cluster.Config{Nodes: nodes})
			mustHealthy(t, c)
			load(t, c)
			hit := c.Nodes()[:min(2, nodes)]
			for _, fault := range []func(string) cluster.Fault{cluster.DiskFull, cluster.FsyncFail} {
				for _, name := range hit {
					proofs, err := c.During(t.Context(), diskFault, fault(name))
					if err != nil {
						t.Fatal(err)
					}
					t.Log(proofs)
					mustGrant(t, c, string(proofs[0].Fault.Kind)+"-"+name)
					mustHealthy(t, c)
				}
			}
		})
	}
}
