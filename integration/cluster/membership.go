//go:build linux

package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/nats-io/nats.go"
	"golang.org/x/sys/unix"
)

// Add starts one more node, which joins the others, and returns its name. It does not wait until it is healthy.
func (c *Cluster) Add(ctx context.Context) (string, error) {
	n, err := c.newNode(ctx, serverNode)
	if err != nil {
		return "", err
	}
	return n.name, n.start(ctx)
}

// Retire takes a node away for good: its replicas move to other nodes, then it is asked to end. The cluster has
// to be healthy before, as replicas that move while others are missing can lose what was acknowledged
// (nats-server#7545), and needs one node more than replicas.
func (c *Cluster) Retire(ctx context.Context, name string) error {
	n, err := c.node(name)
	if err != nil {
		return err
	}
	if err := c.WaitHealthy(ctx); err != nil {
		return fmt.Errorf("retire %s: %w", name, err)
	}
	if err := c.moveReplicas(ctx, name); err != nil {
		return fmt.Errorf("retire %s: %w", name, err)
	}
	if _, err := n.end(ctx, unix.SIGTERM); err != nil {
		return fmt.Errorf("retire %s: %w", name, err)
	}
	c.mu.Lock()
	c.nodes = slices.DeleteFunc(c.nodes, func(other *node) bool { return other == n })
	c.mu.Unlock()
	return n.close(ctx)
}

// moveReplicas moves those of one node to others, one stream after the other.
func (c *Cluster) moveReplicas(ctx context.Context, name string) error {
	where, err := c.replicas(ctx)
	if err != nil {
		return err
	}
	peer, err := json.Marshal(map[string]string{"peer": name})
	if err != nil {
		return err
	}
	for stream, nodes := range where {
		if !slices.Contains(nodes, name) {
			continue
		}
		if err := c.request(ctx, "$JS.API.STREAM.PEER.REMOVE."+stream, peer); err != nil {
			return err
		}
		if err := eventually(ctx, recovery, func(ctx context.Context) error {
			where, err := c.replicas(ctx)
			if err == nil && slices.Contains(where[stream], name) {
				err = fmt.Errorf("%s is still kept by %q", stream, where[stream])
			}
			if err != nil {
				return err
			}
			return c.replicates(ctx)
		}); err != nil {
			return err
		}
	}
	return nil
}

// replicas returns which nodes keep each stream.
func (c *Cluster) replicas(ctx context.Context) (map[string][]string, error) {
	where := map[string][]string{}
	err := c.ask(ctx, func(ctx context.Context, nc *nats.Conn) error {
		all, err := streams(ctx, nc)
		for _, info := range all {
			if info.Cluster == nil {
				continue
			}
			nodes := []string{info.Cluster.Leader}
			for _, r := range info.Cluster.Replicas {
				nodes = append(nodes, r.Name)
			}
			where[info.Config.Name] = nodes
		}
		return err
	})
	return where, err
}
