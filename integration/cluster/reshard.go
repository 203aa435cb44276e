//go:build linux

package cluster

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/jetstream"
	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/journal"
)

// reshard runs the command that changes the number of shards. Healing waits until it has ended, and until a change that it
// left under way is given up.
func reshard(ctx context.Context, c *Cluster, f Fault, _ []*node) (heal, error) {
	before, err := c.settled(ctx)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoEvidence, err)
	}
	running, kill := context.WithCancel(context.WithoutCancel(ctx))
	if f.Delay > 0 {
		running, kill = context.WithTimeout(context.WithoutCancel(ctx), f.Delay)
	}
	done := make(chan error, 1)
	go func() { done <- command(running, built, "reshard", fmt.Sprint(f.Shards), "--server", c.urls()) }()
	return func(healing context.Context) (string, error) {
		defer kill()
		var failed error
		select {
		case failed = <-done:
		case <-healing.Done():
			kill()
			return "", errors.Join(healing.Err(), <-done)
		}
		after, err := c.settled(healing)
		if err != nil {
			return "", errors.Join(err, failed)
		}
		return resharded(before, after, failed)
	}, nil
}

// resharded says what became of a change, whose command has failed or not.
func resharded(before, after *journal.Register, failed error) (string, error) {
	is, begun := after.InUse(), after.GetBegun()
	switch {
	case begun == before.GetBegun():
		return "", fmt.Errorf("%w: no change was begun: %w", ErrNoEvidence, failed)
	case is.Generation == begun:
		return fmt.Sprintf("generation %d with %d shards is in use", begun, is.Count), nil
	case failed == nil:
		return "", fmt.Errorf("the command has succeeded, and the change to generation %d was given up", begun)
	}
	return fmt.Sprintf("the change to generation %d was given up: %v", begun, failed), nil
}

// settled returns the register of the generations of shards when no change is under way.
func (c *Cluster) settled(ctx context.Context) (r *journal.Register, err error) {
	err = eventually(ctx, recovery, func(ctx context.Context) error {
		return c.ask(ctx, func(ctx context.Context, nc *nats.Conn) error {
			d, err := jetstream.OpenDeployment(ctx, nc, jetstream.DeploymentConfig{Prefix: messages.DefaultPrefix, Existing: true})
			if err == nil {
				r, _, err = d.Register().Read(ctx)
			}
			if err == nil && r.GetReshard() != nil {
				err = fmt.Errorf("a change to generation %d is under way", r.Next().Generation)
			}
			return err
		})
	})
	return r, err
}
