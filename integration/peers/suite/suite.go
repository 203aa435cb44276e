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

	"github.com/holdfast-io/holdfast/integration/peers/network"
	"github.com/holdfast-io/holdfast/integration/peers/peer"
	"github.com/holdfast-io/holdfast/integration/peers/report"
)

// Peers are the names of all peers, in the order of the report.
var Peers = []string{"holdfast", "holdfast-go", "holdfast-keep", "holdfast-cached", "etcd", "redis", "redis-rueidis", "kv", "nats", "publish", "fsync"}

// AgainstName is the name of an older Holdfast in the report.
const AgainstName = "against"

// Config says what is measured. There are no defaults.
type Config struct {
	// Peers are some of [Peers].
	Peers     []string
	Workloads []peer.Workload
	// Clients and Nodes are numbers of clients and of nodes: 1 or 3.
	Clients, Nodes []int
	// Delays are round trips between any two hosts, the nodes and that of the clients; 0: all are processes on the
	// loopback. Others take [network.Enter].
	Delays []time.Duration
	// Sharded are numbers of shards with which Holdfast is compared as well.
	Sharded []int
	// Rounds is how often each peer is measured, For how long, and Warm how long the load runs before that.
	Rounds    int
	Warm, For time.Duration
	// Resources is the number of resources of the pairs, Connections that of the connections of each peer.
	Resources, Connections int
	// SweepShards and SweepResources are numbers with which Holdfast alone is measured, with the most clients.
	// SweepConnections are numbers of clients with a connection each, which together make a load of [modest].
	SweepShards, SweepResources, SweepConnections []int
	// Rest is how long these deployments are left alone before what they use at rest is measured.
	Rest time.Duration
	// Against is a commit of an older Holdfast; empty: none.
	Against string
	// Dir is the directory in which the data is stored, in a directory of its own that is removed.
	Dir string
	// Log receives what is measured at the moment.
	Log io.Writer
}

// run is a run of a suite.
type run struct {
	Config
	programs  peer.Programs
	holdfasts []peer.Holdfast
	network   *network.Network // of the deployments; nil: the loopback
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
	if err := network.Outside(func() error { return r.build(ctx) }); err != nil {
		return r.report, err
	}
	for _, delay := range c.Delays {
		for _, nodes := range c.Nodes {
			if err := r.connected(nodes, delay, func() error { return r.compare(ctx, nodes, delay) }); err != nil {
				return r.report, errors.Join(append(r.errs, err)...)
			}
		}
	}
	if err := r.sweep(ctx); err != nil {
		r.errs = append(r.errs, err)
	}
	return r.report, errors.Join(r.errs...)
}

// connected calls do with a network of so many nodes, and reports how exact its delay was.
func (r *run) connected(nodes int, delay time.Duration, do func() error) (err error) {
	if delay == 0 {
		return do()
	}
	if r.network, err = network.Open(nodes, delay); err != nil {
		return err
	}
	err = do()
	echoes, failed := r.network.Close()
	r.network = nil
	r.report.Networks = append(r.report.Networks, report.Network{Nodes: nodes, Delay: delay, Echoes: echoes})
	return errors.Join(err, failed)
}

// compare measures all peers on so many nodes.
func (r *run) compare(ctx context.Context, nodes int, delay time.Duration) error {
	all, stop, err := r.deploy(ctx, nodes)
	defer stop()
	if err != nil {
		return err
	}
	for _, w := range r.Workloads {
		for _, clients := range r.Clients {
			c := report.Case{Nodes: nodes, Delay: delay, Workload: w, Clients: clients, Resources: r.Resources}
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
			row.Err = peers[i].measure(ctx, row, r.Warm, r.For, r.network)
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

func (r *run) logf(format string, args ...any) {
	_, _ = fmt.Fprintf(r.Log, format+"\n", args...)
}

// described returns a case in words.
func described(c report.Case) string {
	text := fmt.Sprintf("%s, %s, %s", count(c.Nodes, "node"), c.Workload, count(c.Clients, "client"))
	if c.Workload.Locks() {
		text += fmt.Sprintf(", %d resources", c.Resources)
	}
	if c.Delay > 0 {
		text += fmt.Sprintf(", %v between hosts", c.Delay)
	}
	if c.Shards > 0 {
		text += ", " + count(c.Shards, "shard")
	}
	if c.Connections > 0 {
		text += ", a connection each"
	}
	return text
}

func count(n int, what string) string {
	if n == 1 {
		return "one " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
