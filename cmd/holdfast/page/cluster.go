package page

import (
	"cmp"
	"context"
	"errors"
	"net/url"
	"strings"
	"time"

	"github.com/holdfast-io/holdfast/actors"
	"github.com/holdfast-io/holdfast/jetstream"
)

// cluster is the view of the nodes and of their shards.
type cluster struct {
	here string
	// ByNode and ByShard are how the tables are sorted.
	ByNode, ByShard order

	Nodes []nodeRow
	Total nodeRow
	Rows  []shardRow
}

// shardRow is a shard as the view shows it.
type shardRow struct {
	Number uint32
	// Owner is empty if no node announces the shard.
	Owner string
	// Bucket says which server leads the bucket and how the replicas are; empty: not known. Ill: it is not as it should be.
	Bucket string
	Ill    bool
	// Here: this node has it, and the rest is known.
	Here                                       bool
	Epoch                                      uint64
	State                                      string
	Leases, HeldBack, Waiting, Queue, Sessions int
}

// censusTimeout bounds how long a busy shard is waited for, whose figures are missing then.
const censusTimeout = 2 * time.Second

var byNode = map[string]func(a, b nodeRow) int{
	"state":   func(a, b nodeRow) int { return trueFirst(a.Ill, b.Ill) },
	"name":    func(a, b nodeRow) int { return strings.Compare(a.Name, b.Name) },
	"owns":    func(a, b nodeRow) int { return cmp.Compare(a.Owns, b.Owns) },
	"held":    func(a, b nodeRow) int { return cmp.Compare(a.Held, b.Held) },
	"waiting": func(a, b nodeRow) int { return cmp.Compare(a.Waiting, b.Waiting) },
	"pending": func(a, b nodeRow) int { return cmp.Compare(a.Pending, b.Pending) },
}

var byShard = map[string]func(a, b shardRow) int{
	"shard":    func(a, b shardRow) int { return cmp.Compare(a.Number, b.Number) },
	"owner":    func(a, b shardRow) int { return strings.Compare(a.Owner, b.Owner) },
	"leases":   func(a, b shardRow) int { return cmp.Compare(a.Leases, b.Leases) },
	"heldback": func(a, b shardRow) int { return cmp.Compare(a.HeldBack, b.HeldBack) },
	"waiting":  func(a, b shardRow) int { return cmp.Compare(a.Waiting, b.Waiting) },
	"queue":    func(a, b shardRow) int { return cmp.Compare(a.Queue, b.Queue) },
	"sessions": func(a, b shardRow) int { return cmp.Compare(a.Sessions, b.Sessions) },
}

var errNoNode = errors.New("no node answers")

func openCluster(p *Page, query url.Values) (view, error) {
	c := &cluster{here: p.cfg.Name}
	var err, other error
	c.ByNode, err = openOrder("cluster", "nodes", query, "state", "name", "owns", "held", "waiting", "pending")
	c.ByShard, other = openOrder("cluster", "shards", query, "shard", "owner", "leases", "heldback", "waiting", "queue",
		"sessions")
	return c, cmp.Or(err, other)
}

func (c *cluster) load(ctx context.Context, d *deployment) error {
	s, err := d.state.get(ctx)
	if err != nil {
		return err
	}
	if s.Info == nil {
		return errNoNode
	}
	c.Nodes = nodesOf(s, d.chronicle.lost(), c.here)
	c.Total = totalOf(c.Nodes)
	sorted(c.Nodes, c.ByNode, byNode)
	c.Rows = make([]shardRow, s.Info.GetShards())
	for i := range c.Rows {
		c.Rows[i].Number = uint32(i)
	}
	row := func(shard uint32, use func(*shardRow)) {
		if int(shard) < len(c.Rows) {
			use(&c.Rows[shard])
		}
	}
	for _, n := range s.Info.GetNodes() {
		for _, shard := range n.GetShards() {
			row(shard, func(r *shardRow) { r.Owner = n.GetName() })
		}
	}
	for _, b := range s.Buckets {
		row(b.Shard, func(r *shardRow) { r.Bucket, r.Ill = bucketOf(b) })
	}
	ctx, cancel := context.WithTimeout(ctx, censusTimeout)
	defer cancel()
	for shard, x := range d.node.Census(ctx) {
		row(shard, func(r *shardRow) { r.take(x) })
	}
	sorted(c.Rows, c.ByShard, byShard)
	return nil
}

// bucketOf says which server leads a bucket, and how its replicas are.
func bucketOf(b jetstream.Inspection) (text string, ill bool) {
	switch {
	case b.Err != nil:
		return "cannot be used", true
	case b.Silent != nil:
		return "no leader", true
	case len(b.Servers) == 0:
		return "1 replica", false
	}
	parts := []string{plural(len(b.Servers), "replica", "replicas") + ", " + b.Servers[0] + " leads"}
	if len(b.Away) > 0 {
		parts = append(parts, strings.Join(b.Away, ", ")+" away")
	}
	if len(b.Behind) > 0 {
		parts = append(parts, strings.Join(b.Behind, ", ")+" behind")
	}
	return strings.Join(parts, "; "), len(b.Away) > 0 || b.Incomplete
}

func (r *shardRow) take(x actors.Census) {
	r.Here, r.Epoch, r.State = true, x.Epoch, x.State.String()
	if x.Stalled {
		r.State = "stalled: JetStream confirms no commit"
	}
	r.Leases = x.Exclusive + x.Shared + x.EphemeralExclusive + x.EphemeralShared
	r.HeldBack, r.Waiting, r.Queue, r.Sessions = x.HeldBack, x.Waiting, x.LongestQueue, x.Sessions
}

// Summary says what is shown, in a sentence.
func (c *cluster) Summary() string {
	without, ill := 0, 0
	for _, r := range c.Rows {
		if r.Owner == "" {
			without++
		}
	}
	for _, n := range c.Nodes {
		if n.Ill {
			ill++
		}
	}
	text := plural(running(c.Nodes), "node runs.", "nodes run.")
	if ill > 0 {
		text += " " + plural(ill, "node is lost, away or does not answer.", "nodes are lost, away or do not answer.")
	}
	if without > 0 {
		text += " " + plural(without, "shard has no owner.", "shards have no owner.")
	}
	return text
}

// Table returns the nodes for their table.
func (c *cluster) Table() nodeTable { return nodeTable{c.Nodes, c.Total, c.ByNode} }
