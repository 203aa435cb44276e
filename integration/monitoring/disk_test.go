//go:build linux

package monitoring_test

import (
	"os"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-io/holdfast/integration/cluster"
)

// fullDisk fills the disk of one of three nodes.
func fullDisk(t *testing.T) (targets []string, steps []func()) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("this test fills a disk; run it as root")
	}
	c := cluster.Start(t, cluster.Config{Args: []string{"--http", "0.0.0.0:8422", "--http-insecure"}})
	if err := c.WaitHealthy(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, name := range c.Nodes() {
		host, err := c.Host(name)
		if err != nil {
			t.Fatal(err)
		}
		targets = append(targets, host+":8422")
	}
	nc, err := c.Connect()
	if err != nil {
		t.Fatal(err)
	}
	fill := sync.OnceFunc(func() {
		if _, err := c.Inject(t.Context(), cluster.KindDiskFull.On("n3")); err != nil {
			t.Fatal(err)
		}
	})
	return targets, []func(){func() {
		fill()
		acquire(t, nc)
	}}
}

// slowDisk delays each fsync of a node.
func slowDisk(t *testing.T) (targets []string, steps []func()) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("this test slows a disk; run it as root")
	}
	c := cluster.Start(t, cluster.Config{Nodes: 1, Args: []string{"--http", "0.0.0.0:8422", "--http-insecure"}})
	if err := c.WaitHealthy(t.Context()); err != nil {
		t.Fatal(err)
	}
	host, err := c.Host("n1")
	if err != nil {
		t.Fatal(err)
	}
	nc, err := c.Connect()
	if err != nil {
		t.Fatal(err)
	}
	slow := sync.OnceFunc(func() {
		if _, err := c.Inject(t.Context(), cluster.KindFsyncSlow.On("n1").By(1500*time.Millisecond, 0)); err != nil {
			t.Fatal(err)
		}
	})
	return []string{host + ":8422"}, []func(){func() {
		slow()
		acquire(t, nc)
	}}
}
