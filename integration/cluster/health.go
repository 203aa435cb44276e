//go:build linux

package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/clients/holdfast"
)

// recovery is how long a cluster may take to become healthy when nothing is wrong any more.
const recovery = 60 * time.Second

// WaitHealthy returns when all is as it should be: every node runs, knows the others and takes part, every
// stream has a leader and all its replicas are current, and each shard has one owner, in the eyes of every node. It
// waits for a minute at most, and not at all ([ErrEnded]) for a process that has ended by itself.
func (c *Cluster) WaitHealthy(ctx context.Context) error {
	var ended error
	err := eventually(ctx, recovery, func(ctx context.Context) error {
		err := c.isHealthy(ctx)
		if errors.Is(err, ErrEnded) {
			ended = err
			return nil
		}
		return err
	})
	if err := errors.Join(err, ended); err != nil {
		return fmt.Errorf("the cluster is not healthy: %w", err)
	}
	return nil
}

func (c *Cluster) isHealthy(ctx context.Context) error {
	for _, n := range c.all() {
		if _, err := n.running(); err != nil {
			return err
		}
	}
	if err := c.replicates(ctx); err != nil {
		return err
	}
	return each(c.servers(), func(_ int, n *node) error {
		return c.askNode(ctx, n, func(ctx context.Context, nc *nats.Conn) error {
			if err := c.isKnown(nc); err != nil {
				return err
			}
			return c.isOwned(ctx, nc)
		})
	})
}

// isKnown says which other nodes the server does not know.
func (c *Cluster) isKnown(nc *nats.Conn) error {
	known := nc.Servers()
	for _, n := range c.servers() {
		if !slices.ContainsFunc(known, func(url string) bool { return strings.HasSuffix(url, "//"+n.address()) }) {
			return fmt.Errorf("it does not know %s, only %q", n.name, known)
		}
	}
	return nil
}

// replicates says which stream has no leader, or a replica that is not current.
func (c *Cluster) replicates(ctx context.Context) error {
	return c.ask(ctx, func(ctx context.Context, nc *nats.Conn) error {
		all, err := streams(ctx, nc)
		if err != nil {
			return err
		}
		if len(all) == 0 {
			return errors.New("there are no streams yet")
		}
		for _, info := range all {
			if info.Config.Replicas != c.cfg.Replicas {
				return fmt.Errorf("%s has %d replicas and not %d", info.Config.Name, info.Config.Replicas, c.cfg.Replicas)
			}
			if c.cfg.Replicas == 1 {
				continue
			}
			if info.Cluster == nil || info.Cluster.Leader == "" || len(info.Cluster.Replicas) != c.cfg.Replicas-1 {
				return fmt.Errorf("%s has no leader, or not all replicas", info.Config.Name)
			}
			for _, r := range info.Cluster.Replicas {
				if !r.Current || r.Offline {
					return fmt.Errorf("%s on %s is not current: %d behind, offline %v", info.Config.Name, r.Name, r.Lag,
						r.Offline)
				}
			}
		}
		return nil
	})
}

// isOwned says which node does not take part, and which shard has no owner or more than one.
func (c *Cluster) isOwned(ctx context.Context, nc *nats.Conn) error {
	client, err := holdfast.New(nc)
	if err != nil {
		return err
	}
	defer func() { _ = client.Close(ctx) }()
	info, err := client.Info(ctx)
	if err != nil {
		return err
	}
	var there []string
	owners := make([][]string, info.Shards)
	for _, n := range info.Nodes {
		there = append(there, n.Name)
		for _, shard := range n.Shards {
			if shard >= info.Shards {
				return fmt.Errorf("%s owns shard %d of %d", n.Name, shard, info.Shards)
			}
			owners[shard] = append(owners[shard], n.Name)
		}
	}
	var want []string
	for _, n := range c.all() {
		if n.service {
			want = append(want, n.name)
		}
	}
	slices.Sort(want)
	if slices.Sort(there); !slices.Equal(there, want) {
		return fmt.Errorf("the nodes are %q, it says %q", want, there)
	}
	for shard, by := range owners {
		if len(by) != 1 {
			return fmt.Errorf("shard %d is owned by %q", shard, by)
		}
	}
	return nil
}
