//go:build linux

package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// Config is what may differ between clusters. The zero value is three nodes with three replicas.
type Config struct {
	// Nodes is how many there are at first, n1 and so on; 0: three. A single one is no member of a cluster.
	Nodes int
	// LockNodes is how many more there are, l1 and so on, that use the NATS of the others.
	LockNodes int
	// Replicas is how many servers keep each shard; 0: three, or as many as there are nodes.
	Replicas int
	// Shards is their number; 0: the service's default.
	Shards int
	// Args are more flags of serve, for every node.
	Args []string
	// Seed is for what the network draws.
	Seed uint64
	// Loopback leaves out networks and disks, as it is without root.
	Loopback bool
}

// withDefaults says what the zeros mean.
func (c Config) withDefaults() Config {
	c.Nodes = cmp.Or(c.Nodes, 3)
	c.Replicas = cmp.Or(c.Replicas, min(3, c.Nodes))
	c.Loopback = c.Loopback || os.Geteuid() != 0
	return c
}

// Cluster is some nodes and the world that they live in. Its methods may be called from many goroutines.
type Cluster struct {
	tb    testing.TB
	cfg   Config
	place *place
	world

	mu     sync.Mutex
	nodes  []*node
	made   map[string]int // so far, by the letter of their names
	active map[*Injected]struct{}
}

// Start starts a cluster, which ends with the test. It does not wait until it is healthy.
func Start(tb testing.TB, cfg Config) *Cluster {
	tb.Helper()
	cfg = cfg.withDefaults()
	if built == "" {
		tb.Fatal("there is no binary: call cluster.Main in TestMain")
	}
	c := &Cluster{tb: tb, cfg: cfg, made: map[string]int{}, active: map[*Injected]struct{}{}}
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
	for range c.cfg.Nodes {
		if _, err := c.newNode(ctx, serverNode); err != nil {
			return err
		}
	}
	for range c.cfg.LockNodes {
		if _, err := c.newNode(ctx, lockNode); err != nil {
			return err
		}
	}
	return each(c.members(), func(_ int, n *node) error { return n.start(ctx) })
}

// The letters that names begin with.
const (
	serverNode = "n"
	lockNode   = "l"
)

// newNode makes a node that is not started yet.
func (c *Cluster) newNode(ctx context.Context, letter string) (*node, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.made[letter]++
	n := &node{
		name: fmt.Sprint(letter, c.made[letter]), server: letter == serverNode,
		output: &output{}, hurt: make(chan struct{}, 1),
	}
	n.dir = filepath.Join(c.place.dir, n.name)
	n.command = func() []string { return c.command(n) }
	if !n.server {
		n.await = func(ctx context.Context) error { return c.awaitNATS(ctx, n) }
	}
	if err := makeDir(n.dir); err != nil {
		return nil, err
	}
	if err := c.settle(ctx, n, c.made[serverNode]+c.made[lockNode]); err != nil {
		return nil, err
	}
	c.nodes = append(c.nodes, n)
	return n, nil
}

// awaitNATS returns when a node without a server reaches one, as it would not start before.
func (c *Cluster) awaitNATS(ctx context.Context, n *node) error {
	return eventually(ctx, patience, func(context.Context) error {
		var errs error
		for _, server := range c.servers() {
			err := n.thread.inside(func() error {
				conn, err := net.DialTimeout("tcp4", server.address(), time.Second)
				if err == nil {
					err = conn.Close()
				}
				return err
			})
			if err == nil {
				return nil
			}
			errs = errors.Join(errs, err)
		}
		return errs
	})
}

// command returns how the node is started: among those that there are just now.
func (c *Cluster) command(n *node) []string {
	args := []string{built, "serve", "--name", n.name, "--replicas", fmt.Sprint(c.cfg.Replicas)}
	if c.cfg.Shards != 0 {
		args = append(args, "--shards", fmt.Sprint(c.cfg.Shards))
	}
	if !n.server {
		args = append(args, "--nats", c.URLs())
		return append(args, c.cfg.Args...)
	}
	args = append(args, "--listen", n.address(), "--data", n.data(), "--allow-remote")
	if c.cfg.Nodes > 1 {
		var routes []string
		for _, other := range c.servers() {
			routes = append(routes, other.host+":6222")
		}
		args = append(args, "--cluster-listen", n.host+":6222", "--routes", strings.Join(routes, ","))
	}
	return append(args, c.cfg.Args...)
}

// members returns all nodes, also those that are down.
func (c *Cluster) members() []*node {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.nodes)
}

// servers returns those with a NATS server.
func (c *Cluster) servers() []*node {
	return slices.DeleteFunc(c.members(), func(n *node) bool { return !n.server })
}

// Nodes returns the names of all nodes with a NATS server, also of those that are down.
func (c *Cluster) Nodes() []string { return names(c.servers()) }

// LockNodes returns the names of all nodes without one.
func (c *Cluster) LockNodes() []string {
	return names(slices.DeleteFunc(c.members(), func(n *node) bool { return n.server }))
}

func names(nodes []*node) []string {
	var all []string
	for _, n := range nodes {
		all = append(all, n.name)
	}
	return all
}

func (c *Cluster) node(name string) (*node, error) {
	for _, n := range c.members() {
		if n.name == name {
			return n, nil
		}
	}
	return nil, fmt.Errorf("there is no node %q; there are %q", name, names(c.members()))
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
	for _, n := range c.members() {
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
		for _, n := range c.members() {
			c.tb.Logf("the last that %s has said:\n%s", n.name, n.output.tail(100))
		}
	}
}
