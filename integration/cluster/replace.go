//go:build linux

package cluster

import (
	"context"
	"fmt"

	"golang.org/x/sys/unix"
)

// replace lets a node join, and one leave that is killed.
func replace(ctx context.Context, c *Cluster, _ Fault, hit []*node) (heal, error) {
	leaving := hit[0]
	c.mu.Lock()
	name := fmt.Sprint("n", len(c.nodes)+1)
	c.mu.Unlock()
	joining, err := c.addNode(ctx, name, true, true)
	if err != nil {
		return nil, err
	}
	if err := joining.start(); err != nil {
		return nil, err
	}
	if err := c.WaitHealthy(ctx); err != nil {
		return nil, fmt.Errorf("after %s joined: %w", joining.name, err)
	}
	pid, err := leaving.end(ctx, unix.SIGKILL)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) (string, error) {
		c.mu.Lock()
		leaving.left = true
		c.mu.Unlock()
		if err := c.removeMember(ctx, leaving.name); err != nil {
			return "", err
		}
		evidence, err := goneAll([]int{pid}, c.WaitHealthy(ctx))
		return fmt.Sprintf("%s; %s is there, %s is no member any more", evidence, joining.name, leaving.name), err
	}, nil
}

// removeMember removes a node that is down from the cluster, as its operator does.
func (c *Cluster) removeMember(ctx context.Context, name string) error {
	// The member is away for the others only after some seconds.
	return eventually(ctx, recovery, func(ctx context.Context) error {
		return command(ctx, built, "members", "remove", name, "--routes", c.routes())
	})
}
