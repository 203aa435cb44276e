//go:build linux

package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/holdfast-io/holdfast/clients/holdfast"
	"github.com/holdfast-io/holdfast/integration/cluster"
	"github.com/holdfast-io/holdfast/integration/stand"
)

const (
	// diskFault is how long a disk is full or does not sync.
	diskFault = 8 * time.Second
	// patience bounds a wait on a busy machine. A free one recovers in less than 30 s; the test logs its time.
	patience = 3 * time.Minute
	// names are enough to meet every shard.
	names = 32
)

// mustGrant fails the test unless resources of every shard can be acquired.
func mustGrant(t *testing.T, c *cluster.Cluster, after string) {
	t.Helper()
	began := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
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
			resource := fmt.Sprintf("after/%s/%s/%d", after, name, i)
			stand.Eventually(t, resource+" has an owner", func() bool {
				_, err := client.Acquire(ctx, resource)
				if isRecovering(err) {
					return false
				}
				if err != nil {
					t.Fatalf("after %s, by way of %s: %v", after, name, err)
				}
				return true
			})
		}
		if err := client.Close(ctx); err != nil {
			t.Error(err)
		}
	}
	t.Logf("after %s, every shard grants again: %v", after, time.Since(began).Round(time.Millisecond))
}

// isRecovering reports whether the error is what a first call meets while a node recovers: a shard that has had no owner
// for 10 s, or the NATS server of the node, which restarts when the disk takes data again, before the node listens on it.
func isRecovering(err error) bool {
	var refused *holdfast.Error
	return errors.As(err, &refused) &&
		slices.Contains([]holdfast.Reason{holdfast.ReasonNoOwner, holdfast.ReasonNotConnected, holdfast.ReasonNoNode},
			refused.Reason)
}

// A node whose disk was full, or did not sync, stores again by itself. If it did not, the same fault of a
// second node would leave no shard a majority.
func TestDisksRecover(t *testing.T) {
	needRoot(t)
	t.Parallel()
	for _, nodes := range []int{3, 1} {
		for _, kind := range []cluster.Kind{cluster.KindDiskFull, cluster.KindFsyncFail} {
			t.Run(fmt.Sprint(nodes, "nodes/", kind), func(t *testing.T) {
				t.Parallel()
				c := cluster.Start(t, cluster.Config{Nodes: nodes})
				mustHealthy(t, c)
				load(t, c)
				for _, name := range c.Nodes()[:min(2, nodes)] {
					proofs, err := c.During(t.Context(), diskFault, kind.On(name))
					if err != nil {
						t.Fatal(err)
					}
					t.Log(proofs)
					mustGrant(t, c, string(kind)+"-"+name)
					mustHealthy(t, c)
				}
			})
		}
	}
}
