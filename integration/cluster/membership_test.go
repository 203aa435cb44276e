//go:build linux

package cluster_test

import (
	"slices"
	"testing"

	"github.com/holdfast-io/holdfast/integration/cluster"
)

// A node is replaced by another, and the cluster goes on.
func TestMembership(t *testing.T) {
	t.Parallel()
	c := cluster.Start(t, cluster.Config{Loopback: true, Shards: 2})
	mustHealthy(t, c)
	name, err := c.Add(t.Context())
	if err != nil || name != "n4" {
		t.Fatal(name, err)
	}
	mustHealthy(t, c)
	if err := c.Retire(t.Context(), "n2"); err != nil {
		t.Fatal(err)
	}
	if got := c.Nodes(); !slices.Equal(got, []string{"n1", "n3", "n4"}) {
		t.Errorf("nodes: %q", got)
	}
	mustHealthy(t, c)
	leaders, err := c.Leaders(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for stream, leader := range leaders {
		if leader == "n2" || leader == "" {
			t.Errorf("%s is led by %q", stream, leader)
		}
	}
	if err := c.Retire(t.Context(), "n2"); err == nil {
		t.Error("retired twice")
	}
}
