//go:build linux

package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// streams returns what JetStream says of every stream: the buckets, and the one of the events if there is.
func streams(ctx context.Context, nc *nats.Conn) ([]*jetstream.StreamInfo, error) {
	js, err := jetstream.New(nc)
	if err != nil {
		return nil, err
	}
	var all []*jetstream.StreamInfo
	list := js.ListStreams(ctx)
	for info := range list.Info() {
		all = append(all, info)
	}
	return all, list.Err()
}

// leaders returns which node's server leads each stream; "" where none does.
func (c *Cluster) leaders(ctx context.Context) (map[string]string, error) {
	leaders := map[string]string{}
	err := c.ask(ctx, func(ctx context.Context, nc *nats.Conn) error {
		all, err := streams(ctx, nc)
		for _, info := range all {
			leaders[info.Config.Name] = ""
			if info.Cluster != nil {
				leaders[info.Config.Name] = info.Cluster.Leader
			}
		}
		return err
	})
	return leaders, err
}

// stepDown lets the leader of a stream step down.
func (c *Cluster) stepDown(ctx context.Context, stream string) error {
	return c.ask(ctx, func(ctx context.Context, nc *nats.Conn) error {
		msg, err := nc.RequestWithContext(ctx, "$JS.API.STREAM.LEADER.STEPDOWN."+stream, nil)
		if err != nil {
			return fmt.Errorf("%s: %w", stream, err)
		}
		var answer struct{ Success bool }
		if err := json.Unmarshal(msg.Data, &answer); err != nil {
			return fmt.Errorf("%s: %w", stream, err)
		}
		if !answer.Success {
			return fmt.Errorf("the leader of %s does not step down: %s", stream, msg.Data)
		}
		return nil
	})
}

// askTimeout is how long one node may take to answer.
const askTimeout = 3 * time.Second

// ask asks one node after the other until one answers.
func (c *Cluster) ask(ctx context.Context, question func(context.Context, *nats.Conn) error) error {
	var errs error
	for _, n := range c.servers() {
		err := c.askNode(ctx, n, question)
		if err == nil {
			return nil
		}
		errs = errors.Join(errs, err)
	}
	return errs
}

func (c *Cluster) askNode(ctx context.Context, n *node, question func(context.Context, *nats.Conn) error) error {
	if _, err := n.running(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	nc, err := nats.Connect("nats://"+n.address(),
		append(c.cfg.login(), nats.NoReconnect(), nats.Timeout(askTimeout))...)
	if err == nil {
		defer nc.Close()
		err = question(ctx, nc)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", n.name, err)
	}
	return nil
}

// moveLeaders asks each leader once. Healing has nothing to do.
func moveLeaders(ctx context.Context, c *Cluster, _ Fault, _ []*node) (heal, error) {
	before, err := c.leaders(ctx)
	for stream := range before {
		err = errors.Join(err, c.stepDown(ctx, stream))
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoEvidence, err)
	}
	moved := 0
	failed := eventually(ctx, patience, func(ctx context.Context) error {
		after, err := c.leaders(ctx)
		moved = 0
		for stream, leader := range after {
			if leader != "" && leader != before[stream] {
				moved++
			}
		}
		if err == nil && moved == 0 {
			err = fmt.Errorf("%w: every stream has the leader that it had", ErrNoEvidence)
		}
		return err
	})
	return func(context.Context) (string, error) {
		return fmt.Sprintf("%d of %d streams have another leader", moved, len(before)), failed
	}, nil
}
