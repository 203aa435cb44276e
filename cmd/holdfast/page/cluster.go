package page

import (
	"context"
	"net/url"
	"time"

	"github.com/holdfast-io/holdfast/actors"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/cli"
)

// cluster is the view of the nodes and of their shards.
type cluster struct {
	here string

	Nodes []node
	Rows  []shardRow
}

// node is a node as the view shows it.
type node struct {
	Name, Version, Shards string
	Count                 int
	Here                  bool
}

// shardRow is a shard as the view shows it.
type shardRow struct {
	Number uint32
	// Owner is empty if no node announces the shard.
	Owner string
	// Here: this node has it, and the rest is known.
	Here                                       bool
	Epoch                                      uint64
	State                                      string
	Leases, HeldBack, Waiting, Queue, Sessions int
}

// censusTimeout bounds how long a busy shard is waited for, whose figures are missing then.
const censusTimeout = 2 * time.Second

func openCluster(p *Page, _ url.Values) (view, error) {
	return &cluster{here: p.cfg.Name}, nil
}

func (c *cluster) load(ctx context.Context, d *deployment) error {
	info, err := d.client.Info(ctx)
	if err != nil {
		return err
	}
	c.Nodes, c.Rows = nil, make([]shardRow, info.Shards)
	for i := range c.Rows {
		c.Rows[i].Number = uint32(i)
	}
	for _, n := range info.Nodes {
		c.Nodes = append(c.Nodes, node{n.Name, n.Version, cli.Slots(n.Shards), len(n.Shards), n.Name == c.here})
		for _, shard := range n.Shards {
			if int(shard) < len(c.Rows) {
				c.Rows[shard].Owner = n.Name
			}
		}
	}
	ctx, cancel := context.WithTimeout(ctx, censusTimeout)
	defer cancel()
	for shard, x := range d.node.Census(ctx) {
		if int(shard) < len(c.Rows) {
			c.Rows[shard].take(x)
		}
	}
	return nil
}

func (r *shardRow) take(x actors.Census) {
	r.Here, r.Epoch, r.State = true, x.Epoch, x.State.String()
	if x.Stalled {
		r.State = "stalled: JetStream confirms nothing"
	}
	r.Leases = x.Exclusive + x.Shared + x.EphemeralExclusive + x.EphemeralShared
	r.HeldBack, r.Waiting, r.Queue, r.Sessions = x.HeldBack, x.Waiting, x.LongestQueue, x.Sessions
}

// Summary says what is shown, in a sentence.
func (c *cluster) Summary() string {
	without := 0
	for _, r := range c.Rows {
		if r.Owner == "" {
			without++
		}
	}
	text := plural(len(c.Nodes), "node runs.", "nodes run.")
	if without > 0 {
		text += " " + plural(without, "shard has no owner.", "shards have no owner.")
	}
	return text
}
