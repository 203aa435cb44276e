//go:build linux

package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// Which frames a cut is about.

func touches(nodes []string) func(from, to string) bool {
	return func(from, to string) bool { return from == nodes[0] || to == nodes[0] }
}

func touchesNodes(nodes []string) func(from, to string) bool {
	touch := touches(nodes)
	return func(from, to string) bool { return touch(from, to) && from != outside && to != outside }
}

func touchesClients(nodes []string) func(from, to string) bool {
	return between([]string{nodes[0], outside})
}

func between(nodes []string) func(from, to string) bool {
	return func(from, to string) bool { return slices.Contains(nodes, from) && slices.Contains(nodes, to) }
}

func leadsTo(nodes []string) func(from, to string) bool {
	return func(_, to string) bool { return to == nodes[0] }
}

func leadsFrom(nodes []string) func(from, to string) bool {
	return func(from, _ string) bool { return from == nodes[0] }
}

// cut loses all frames of a kind.
func cut(covers func(nodes []string) func(from, to string) bool) func(context.Context, *Cluster, Fault, []*node) (heal,
	error) {
	return func(_ context.Context, c *Cluster, f Fault, _ []*node) (heal, error) {
		return c.apply(&rule{covers: covers(f.Nodes), lose: 1}), nil
	}
}

// disturb does to a node's frames what the fault says.
func disturb(_ context.Context, c *Cluster, f Fault, _ []*node) (heal, error) {
	r := &rule{covers: touches(f.Nodes), delay: f.Delay, jitter: f.Jitter}
	switch f.Kind {
	case KindLose:
		r.lose = f.Rate
	case KindDuplicate:
		r.duplicate = f.Rate
	case KindReset:
		r.reset = f.Rate
	}
	if f.Rate < 0 || f.Rate > 1 || f.Delay < 0 || f.Jitter < 0 || f.Jitter > f.Delay {
		return nil, errors.New("a rate is a part of 1, a delay is positive and jitter at most as much")
	}
	return c.apply(r), nil
}

// apply lets a rule hold until it is healed.
func (c *Cluster) apply(r *rule) heal {
	n := c.world.(*isolated).network
	n.add(r)
	return func(context.Context) (string, error) {
		n.remove(r)
		for _, e := range []struct {
			count int64
			verb  string
		}{{r.lost.Load(), "lost"}, {r.duplicated.Load(), "duplicated"}, {r.resets.Load(), "made resets"},
			{r.delayed.Load(), "delayed"}} {
			if e.count > 0 {
				return fmt.Sprintf("%d frames %s", e.count, e.verb), nil
			}
		}
		return "", fmt.Errorf("%w: no frame came by", ErrNoEvidence)
	}
}
