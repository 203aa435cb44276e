//go:build linux

package cluster

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// rolling restarts one node after the other, as an upgrade does. Healing waits until all are through.
func rolling(ctx context.Context, c *Cluster, _ Fault, hit []*node) (heal, error) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var pids []int
	done := make(chan error, 1)
	go func() {
		var err error
		pids, err = c.roll(ctx, hit)
		done <- err
	}()
	return func(healing context.Context) (string, error) {
		defer cancel()
		select {
		case err := <-done:
			return goneAll(pids, err)
		case <-healing.Done():
			cancel()
			return "", errors.Join(healing.Err(), <-done)
		}
	}, nil
}

func (c *Cluster) roll(ctx context.Context, nodes []*node) (pids []int, err error) {
	for _, n := range nodes {
		pid, err := n.end(ctx, unix.SIGTERM)
		if err := errors.Join(err, n.restart(ctx)); err != nil {
			return pids, err
		}
		pids = append(pids, pid)
		if err := c.WaitHealthy(ctx); err != nil {
			return pids, fmt.Errorf("after the restart of %s: %w", n.name, err)
		}
	}
	return pids, nil
}
