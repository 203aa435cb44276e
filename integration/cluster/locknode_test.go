//go:build linux

package cluster_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/holdfast-io/holdfast/integration/cluster"
)

// Nodes without a server of their own take part, and are hurt alone.
func TestLockNodes(t *testing.T) {
	t.Parallel()
	needRoot(t)
	c := cluster.Start(t, cluster.Config{Nodes: 1, LockNodes: 2, Shards: 4})
	mustHealthy(t, c)
	if !slices.Equal(c.Nodes(), []string{"n1"}) || !slices.Equal(c.LockNodes(), []string{"l1", "l2"}) {
		t.Errorf("nodes: %q, %q", c.Nodes(), c.LockNodes())
	}
	during(t, c, cluster.Kill("l1"), cluster.Isolate("l2"))
	mustHealthy(t, c)
	if _, err := c.During(t.Context(), time.Second, cluster.PowerCut("l1")); !errors.Is(err, cluster.ErrCannot) {
		t.Errorf("what has no disk lost its power: %v", err)
	}
	if _, err := c.During(t.Context(), time.Second, cluster.Kill("l3")); err == nil {
		t.Error("what is not there was killed")
	}
}
