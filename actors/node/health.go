package node

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/holdfast-io/holdfast/actors"
	"github.com/holdfast-io/holdfast/messages"
)

// Figures returns the counts of the node. It does not block.
func (n *Node) Figures() Figures { return n.statistics.figures() }

// Storage returns what the NATS server in this process stores on; nil: NATS is elsewhere.
func (n *Node) Storage() *Storage {
	if n.cfg.Storage == nil {
		return nil
	}
	s := n.cfg.Storage()
	return &s
}

// Shards returns the number of shards of the deployment.
func (n *Node) Shards() uint32 { return n.present.Load().Count }

// Nodes returns the nodes of the deployment that this one hears, itself included, with the shards that they own.
func (n *Node) Nodes() []*messages.Node {
	return (&discovery{cfg: n.cfg, controller: n.controller}).nodes(n.present.Load())
}

// Census asks the shards of this node, those that it opens included, for their figures, by their number. A shard that
// does not answer before ctx ends is missing.
func (n *Node) Census(ctx context.Context) map[uint32]actors.Census {
	all := make(map[uint32]actors.Census)
	var mu sync.Mutex
	_ = n.askShards(func(number uint32, s *actors.Shard) error {
		c, err := s.Census(ctx)
		if err == nil {
			mu.Lock()
			defer mu.Unlock()
			all[number] = c
		}
		return nil
	})
	return all
}

// askShards calls ask for each shard of the node at the same time, and returns all errors.
func (n *Node) askShards(ask func(number uint32, s *actors.Shard) error) error {
	shards := n.shards()
	results := make(chan error, len(shards))
	for number, s := range shards {
		go func() { results <- ask(number, s) }()
	}
	var errs []error
	for range shards {
		errs = append(errs, <-results)
	}
	return errors.Join(errs...)
}

// shards returns the shards that the node has, whatever their state.
func (n *Node) shards() map[uint32]*actors.Shard {
	if n.controller != nil {
		return n.controller.Present()
	}
	all := make(map[uint32]*actors.Shard)
	for number, r := range n.present.Load().routers {
		if s := r.Local(); s != nil {
			all[uint32(number)] = s
		}
	}
	return all
}

// Connected returns an error that names the connection if the node is not connected to NATS.
func (n *Node) Connected() error {
	for _, nc := range n.cfg.connections() {
		if !nc.IsConnected() {
			return fmt.Errorf("the connection %q is %s", nc.Opts.Name, strings.ToLower(nc.Status().String()))
		}
	}
	return nil
}

// Hears returns an error if the node does not receive its own announcements, and so none of the other nodes. A node
// that is alone announces nothing.
func (n *Node) Hears() error {
	if n.controller == nil {
		return nil
	}
	return n.controller.Hears()
}

// Ticks returns an error if the goroutine that assigns shards has not run for a while.
func (n *Node) Ticks() error {
	if n.controller == nil {
		return nil
	}
	return n.controller.Ticks()
}

// Answers returns an error if the goroutine of a shard does not answer before ctx ends.
func (n *Node) Answers(ctx context.Context) error {
	return n.askShards(func(_ uint32, s *actors.Shard) error {
		if _, err := s.Census(ctx); !errors.Is(err, actors.ErrEnded) {
			return err
		}
		return nil
	})
}

// Commits returns nil if the node could commit within the last five seconds: each shard that is open here has a proof,
// as [actors.Shard.Prove] says, before ctx ends, or the node has no shard. While it only opens shards it has no proof,
// and the error says why they are not open.
func (n *Node) Commits(ctx context.Context) error {
	shards := n.shards()
	var open int
	var opening error
	for number, s := range shards {
		switch s.State() {
		case actors.Open:
			open++
		case actors.Opening:
			opening = fmt.Errorf("shard %d %s", number, s.Reason())
		case actors.Draining, actors.Ended:
		}
	}
	if open == 0 {
		return opening
	}
	return n.askShards(func(_ uint32, s *actors.Shard) error {
		if s.State() != actors.Open {
			return nil
		}
		if err := s.Prove(ctx); !errors.Is(err, actors.ErrEnded) && s.State() <= actors.Open {
			return err
		}
		return nil // it was handed over meanwhile
	})
}
