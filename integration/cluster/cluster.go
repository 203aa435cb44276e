//go:build linux

package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
)

// Config is what may differ between clusters. The zero value is three nodes.
type Config struct {
	// Nodes is how many there are, n1 and so on; 0: three. A single one is no member of a cluster.
	Nodes int
	// Replicas is how many servers keep each shard; 0: three, or one of a single node.
	Replicas int
	// External runs a nats-server for each node, n1 and so on, and the node itself beside them, h1 and so on.
	External bool
	// Former is a binary of another version, for n1 alone; empty: all have the same.
	Former string
	// Delay is that of every frame, all the time; 0: none. It takes networks.
	Delay time.Duration
	// Shards is their number; 0: 4, so that the nodes share them.
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
	c.Shards = cmp.Or(c.Shards, 4)
	c.Replicas = cmp.Or(c.Replicas, min(3, c.Nodes))
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

	mu     sync.Mutex
	nodes  []*node // also those that have left
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
	if c.cfg.Delay > 0 {
		if err := c.can(networks); err != nil {
			return err
		}
		always := func(_, _ string) bool { return true }
		c.world.(*isolated).add(&rule{covers: always, delay: c.cfg.Delay})
	}
	if c.cfg.External {
		if err := build(c.natsServer(), "github.com/nats-io/nats-server/v2"); err != nil {
			return err
		}
	}
	for i := range c.cfg.Nodes {
		if _, err := c.addNode(ctx, fmt.Sprint("n", i+1), true, !c.cfg.External); err != nil {
			return err
		}
	}
	for i := range c.cfg.Nodes {
		if !c.cfg.External {
			break
		}
		if _, err := c.addNode(ctx, fmt.Sprint("h", i+1), false, true); err != nil {
			return err
		}
	}
	return each(c.all(), func(_ int, n *node) error { return n.start() })
}

// addNode makes a node, which is not started yet.
func (c *Cluster) addNode(ctx context.Context, name string, server, service bool) (*node, error) {
	n := &node{name: name, server: server, service: service, output: &output{}, hurt: make(chan struct{}, 1)}
	n.dir = filepath.Join(c.place.dir, n.name)
	n.command = func() []string { return c.command(n) }
	if err := makeDir(n.dir); err != nil {
		return nil, err
	}
	c.mu.Lock()
	number := len(c.nodes) + 1
	c.mu.Unlock()
	if err := errors.Join(c.settle(ctx, n, number), n.prepareServer()); err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.nodes = append(c.nodes, n)
	return n, nil
}

// all returns the nodes that have not left.
func (c *Cluster) all() (all []*node) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, n := range c.nodes {
		if !n.left {
			all = append(all, n)
		}
	}
	return all
}

// servers returns those that are servers of NATS, which clients connect to.
func (c *Cluster) servers() []*node {
	return slices.DeleteFunc(c.all(), func(n *node) bool { return !n.server })
}

// urls returns where the servers of NATS are.
func (c *Cluster) urls() string {
	var urls []string
	for _, n := range c.servers() {
		urls = append(urls, "nats://"+n.address())
	}
	return strings.Join(urls, ",")
}

// routes returns where the servers of NATS reach one another.
func (c *Cluster) routes() string {
	var routes []string
	for _, n := range c.servers() {
		routes = append(routes, n.route())
	}
	return strings.Join(routes, ",")
}

// command returns how the node is started.
func (c *Cluster) command(n *node) []string {
	if !n.service {
		return c.serverCommand(n)
	}
	args := []string{built, "serve", "--name", n.name, "--replicas", fmt.Sprint(c.cfg.Replicas),
		"--shards", fmt.Sprint(c.cfg.Shards)}
	if c.cfg.Former != "" && n.name == "n1" {
		args[0] = c.cfg.Former
	}
	if n.server {
		args = append(args, "--listen", n.address(), "--data", n.data(), "--allow-remote")
	} else {
		args = append(args, "--server", c.urls())
	}
	if n.server && c.cfg.Nodes > 1 {
		args = append(args, "--cluster-listen", n.route(), "--routes", c.routes())
	}
	return append(args, c.cfg.Args...)
}

// Nodes returns the names of all nodes, also of those that are down.
func (c *Cluster) Nodes() []string {
	var all []string
	for _, n := range c.all() {
		all = append(all, n.name)
	}
	return all
}

// Storing returns the names of those that store anything: the servers of NATS.
func (c *Cluster) Storing() []string {
	var all []string
	for _, n := range c.servers() {
		all = append(all, n.name)
	}
	return all
}

func (c *Cluster) node(name string) (*node, error) {
	for _, n := range c.all() {
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
