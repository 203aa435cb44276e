//go:build linux

package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/nats-io/nats.go"
)

// Config is what may differ between clusters. The zero value is three nodes. Up to three servers keep each shard.
type Config struct {
	// Nodes is how many there are, n1 and so on; 0: three. A single one is no member of a cluster.
	Nodes int
	// Shards is their number; 0: the service's default.
	Shards int
	// Args are more flags of serve, for every node.
	Args []string
	// Login is that of the cluster's own questions, and the default of clients, to the account of the nodes; nil: there
	// are no logins.
	Login nats.Option
	// Seed is for what the network draws.
	Seed uint64
	// Loopback leaves out networks and disks, as it is without root.
	Loopback bool
}

// withDefaults says what the zeros mean.
func (c Config) withDefaults() Config {
	c.Nodes = cmp.Or(c.Nodes, 3)
	c.Loopback = c.Loopback || os.Geteuid() != 0
	return c
}

// login returns the options that log in.
func (c Config) login() []nats.Option {
	if c.Login == nil {
		return nil
	}
	return []nats.Option{c.Login}
}

// Cluster is some nodes and the world that they live in. Its methods may be called from many goroutines.
type Cluster struct {
	tb    testing.TB
	cfg   Config
	place *place
	world
	nodes []*node

	mu     sync.Mutex
	active map[*Injected]struct{}
}

// Start starts a cluster, which ends with the test. It does not wait until it is healthy.
func Start(tb testing.TB, cfg Config) *Cluster {
	tb.Helper()
	cfg = cfg.withDefaults()
	if built == "" {
		tb.Fatal("there is no binary: call cluster.Main in TestMain")
	}
	c := &Cluster{tb: tb, cfg: cfg, active: map[*Injected]struct{}{}}
	tb.Cleanup(c.close)
	if err := c.start(tb.Context()); err != nil {
		tb.Fatal(err)
	}
	return c
}

func (c *Cluster) start(ctx context.Context) (err error) {
	if c.place, err = newPlace(); err != nil {
		return err
	}
	if c.world, err = newWorld(c.cfg); err != nil {
		return err
	}
	for i := range c.cfg.Nodes {
		if err := c.addNode(ctx, i+1); err != nil {
			return err
		}
	}
	return each(c.nodes, func(_ int, n *node) error { return n.start() })
}

// addNode makes node number i, which is not started yet.
func (c *Cluster) addNode(ctx context.Context, i int) error {
	n := &node{name: fmt.Sprint("n", i), output: &output{}, hurt: make(chan struct{}, 1)}
	n.dir = filepath.Join(c.place.dir, n.name)
	n.command = func() []string { return c.command(n) }
	if err := makeDir(n.dir); err != nil {
		return err
	}
	if err := c.settle(ctx, n, i); err != nil {
		return err
	}
	c.nodes = append(c.nodes, n)
	return nil
}

// replicas is how many servers keep each shard.
func (c *Cluster) replicas() int { return min(3, c.cfg.Nodes) }

// command returns how the node is started.
func (c *Cluster) command(n *node) []string {
	args := []string{built, "serve", "--name", n.name, "--replicas", fmt.Sprint(c.replicas())}
	if c.cfg.Shards != 0 {
		args = append(args, "--shards", fmt.Sprint(c.cfg.Shards))
	}
	args = append(args, "--listen", n.address(), "--data", n.data(), "--allow-remote")
	if c.cfg.Nodes > 1 {
		var routes []string
		for _, other := range c.nodes {
			routes = append(routes, other.host+":6222")
		}
		args = append(args, "--cluster-listen", n.host+":6222", "--routes", strings.Join(routes, ","))
	}
	return append(args, c.cfg.Args...)
}

// Nodes returns the names of all nodes, also of those that are down.
func (c *Cluster) Nodes() []string {
	var all []string
	for _, n := range c.nodes {
		all = append(all, n.name)
	}
	return all
}

func (c *Cluster) node(name string) (*node, error) {
	for _, n := range c.nodes {
		if n.name == name {
			return n, nil
		}
	}
	return nil, fmt.Errorf("there is no node %q; there are %q", name, c.Nodes())
}

// Host returns the address of a node, without a port.
func (c *Cluster) Host(name string) (string, error) {
	n, err := c.node(name)
	if err != nil {
		return "", err
	}
	return n.host, nil
}

// Log returns the last of what a node has said.
func (c *Cluster) Log(name string) string {
	n, err := c.node(name)
	if err != nil {
		return err.Error()
	}
	return n.output.String()
}

// close ends everything, and fails the test if a node has panicked.
func (c *Cluster) close() {
	c.tb.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.tb.Context()), patience)
	defer cancel()
	c.healAll(ctx)
	var err error
	for _, n := range c.nodes {
		err = errors.Join(err, n.close(ctx))
		if alarm := n.output.alarm(); alarm != "" {
			c.tb.Errorf("%s has said %q", n.name, alarm)
		}
	}
	if c.world != nil {
		c.world.close()
	}
	if c.place != nil {
		err = errors.Join(err, c.place.remove())
	}
	if err != nil {
		c.tb.Errorf("the end of the cluster: %v", err)
	}
	if c.tb.Failed() {
		for _, n := range c.nodes {
			c.tb.Logf("the last that %s has said:\n%s", n.name, n.output.tail(100))
		}
	}
}
