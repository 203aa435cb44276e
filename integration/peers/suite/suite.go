// Package suite runs the benchmark: it starts the services and measures them in turns, so that what disturbs the
// machine for longer than a round disturbs all of them.
package suite

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/holdfast-io/holdfast/integration/peers/peer"
	"github.com/holdfast-io/holdfast/integration/peers/report"
)

// Peers are the names of all peers, in the order of the report.
var Peers = []string{"holdfast", "holdfast-go", "etcd", "redis", "redis-rueidis", "kv", "nats", "publish", "fsync"}

// AgainstName is the name of an older Holdfast in the report.
const AgainstName = "against"

// Config says what is measured. There are no defaults.
type Config struct {
	// Peers are some of [Peers].
	Peers     []string
	Workloads []peer.Workload
	// Clients and Nodes are numbers of clients and of nodes: 1 or 3.
	Clients, Nodes []int
	// Rounds is how often each peer is measured, For how long, and Warm how long the load runs before that.
	Rounds    int
	Warm, For time.Duration
	// Resources is the number of resources of the pairs, Connections that of the connections of each peer.
	Resources, Connections int
	// SweepShards and SweepResources are numbers with which Holdfast alone is measured, with the most clients.
	SweepShards, SweepResources []int
	// Against is a commit of an older Holdfast; empty: none.
	Against string
	// Dir is the directory in which the data is stored, in a directory of its own that is removed.
	Dir string
	// Log is told what is measured at the moment.
	Log io.Writer
}

// run is a run of a suite.
type run struct {
	Config
	programs  peer.Programs
	holdfasts []peer.Holdfast
	report    *report.Report
	errs      []error
}

// Run measures everything. It returns what was measured, also with an error, which names the peers that failed.
func Run(ctx context.Context, c Config) (*report.Report, error) {
	r := &run{Config: c, report: &report.Report{Machine: machine(c.Dir)}}
	dir, err := os.MkdirTemp(c.Dir, "holdfast-peers-")
	if err != nil {
		return r.report, err
	}
	defer func() { _ = os.RemoveAll(dir) }() // a rest does no harm
	r.Dir = dir
	if err := r.build(ctx); err != nil {
		return r.report, err
	}
	for _, nodes := range c.Nodes {
		if err := r.compare(ctx, nodes); err != nil {
			return r.report, errors.Join(append(r.errs, err)...)
		}
	}
	if err := r.sweep(ctx); err != nil {
		r.errs = append(r.errs, err)
	}
	return r.report, errors.Join(r.errs...)
}

// compare measures all peers on so many nodes.
func (r *run) compare(ctx context.Context, nodes int) error {
	all, stop, err := r.deploy(ctx, nodes)
	defer stop()
	if err != nil {
		return err
	}
	for _, w := range r.Workloads {
		for _, clients := range r.Clients {
			c := report.Case{Nodes: nodes, Workload: w, Clients: clients, Resources: r.Resources}
			some := slices.DeleteFunc(slices.Clone(all), func(p *competitor) bool { return !p.Runs(w, clients) })
			rows := make([]*report.Row, len(some))
			for i, p := range some {
				rows[i] = &report.Row{Case: c, Peer: p.Name}
			}
			r.report.Compared = append(r.report.Compared, rows...)
			if err := r.rounds(ctx, some, rows); err != nil {
				return err
			}
		}
	}
	return nil
}

// rounds measures the rows, each of the peer at the same place, in turns. Each round begins with another peer.
func (r *run) rounds(ctx context.Context, peers []*competitor, rows []*report.Row) error {
	for round := range r.Rounds {
		for i := range peers {
			i = (i + round) % len(peers)
			row := rows[i]
			if row.Err != nil {
				continue
			}
			r.logf("%s, round %d of %d: %s", described(row.Case), round+1, r.Rounds, row.Peer)
			row.Err = peers[i].measure(ctx, row, r.Warm, r.For)
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if row.Err != nil {
				r.errs = append(r.errs, fmt.Errorf("%s, %s: %w", row.Peer, described(row.Case), row.Err))
			}
		}
	}
	return nil
}

// sweep measures Holdfast on one node with different settings.
func (r *run) sweep(ctx context.Context) error {
	for _, shards := range r.SweepShards {
		c := report.Case{Nodes: 1, Workload: peer.Pairs, Clients: slices.Max(r.Clients), Resources: r.Resources, Shards: shards}
		r.report.Shards = append(r.report.Shards, r.rowsOf(c)...)
	}
	if err := r.variants(ctx, r.report.Shards); err != nil {
		return err
	}
	for _, resources := range r.SweepResources {
		c := report.Case{Nodes: 1, Workload: peer.Pairs, Clients: slices.Max(r.Clients), Resources: resources}
		r.report.Resources = append(r.report.Resources, r.rowsOf(c)...)
	}
	return r.variants(ctx, r.report.Resources)
}

// rowsOf returns a row of the case for each Holdfast.
func (r *run) rowsOf(c report.Case) (rows []*report.Row) {
	for _, h := range r.holdfasts {
		rows = append(rows, &report.Row{Case: c, Peer: h.Name})
	}
	return rows
}

// variants measures the rows, each with a deployment of its own. All of them run at the same time.
func (r *run) variants(ctx context.Context, rows []*report.Row) error {
	var all []*competitor
	for i, row := range rows {
		h := r.holdfasts[i%len(r.holdfasts)]
		h.Shards, h.Remembered = row.Shards, peer.RememberedFor(row.Resources)
		env, err := r.environment(1)
		if err != nil {
			return err
		}
		d, err := h.Start(ctx, env)
		defer d.Stop() //nolint:revive // they run at the same time
		if err != nil {
			return err
		}
		p := &competitor{d.Peers[0], newWitness(row.Resources + 1)}
		all = append(all, p)
		r.logf("%s, %s: lock each resource once", described(row.Case), row.Peer)
		if err := p.fill(ctx, row.Case); err != nil {
			return err
		}
	}
	return r.rounds(ctx, all, rows)
}

func (r *run) logf(format string, args ...any) {
	_, _ = fmt.Fprintf(r.Log, format+"\n", args...)
}

// described returns a case in words.
func described(c report.Case) string {
	text := fmt.Sprintf("%s, %s, %s", count(c.Nodes, "node"), c.Workload, count(c.Clients, "client"))
	if c.Workload == peer.Pairs {
		text += fmt.Sprintf(", %d resources", c.Resources)
	}
	if c.Shards > 0 {
		text += ", " + count(c.Shards, "shard")
	}
	return text
}

func count(n int, what string) string {
	if n == 1 {
		return "one " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
