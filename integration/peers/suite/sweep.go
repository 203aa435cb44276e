package suite

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/holdfast-io/holdfast/integration/peers/peer"
	"github.com/holdfast-io/holdfast/integration/peers/report"
)

// sweep measures Holdfast on one node with different settings.
func (r *run) sweep(ctx context.Context) error {
	most := slices.Max(r.Clients)
	for _, shards := range r.SweepShards {
		c := report.Case{Nodes: 1, Workload: peer.Pairs, Clients: most, Resources: r.Resources, Shards: shards}
		r.report.Shards = append(r.report.Shards, r.rowsOf(c)...)
	}
	for _, resources := range r.SweepResources {
		c := report.Case{Nodes: 1, Workload: peer.Pairs, Clients: most, Resources: resources}
		r.report.Resources = append(r.report.Resources, r.rowsOf(c)...)
	}
	for _, connections := range r.SweepConnections {
		c := report.Case{Nodes: 1, Workload: peer.Pairs, Clients: connections, Resources: max(r.Resources, connections),
			Connections: connections}
		r.report.Connections = append(r.report.Connections, r.rowsOf(c)...)
	}
	for _, rows := range [][]*report.Row{r.report.Shards, r.report.Resources, r.report.Connections} {
		if err := r.variants(ctx, rows); err != nil {
			return err
		}
	}
	return nil
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
		if row.Connections > 0 {
			env.Connections = row.Connections
		}
		d, err := h.Start(ctx, env)
		defer d.Stop() //nolint:revive // they run at the same time
		if err != nil {
			return err
		}
		w := newWitness(row.Resources + 1)
		all = append(all, &competitor{d.Peers[0], w})
		r.logf("%s, %s: lock each resource once", described(row.Case), row.Peer)
		filler := &competitor{d.Peers[0], w}
		if row.Connections == 0 {
			filler.Peer = d.Peers[1] // the Go client bundles requests, so it takes less time
		}
		if err := filler.fill(ctx, row.Case); err != nil {
			return err
		}
	}
	if err := r.rounds(ctx, all, rows); err != nil || len(all) == 0 {
		return err
	}
	if err := r.rest(ctx, all, rows); err != nil {
		return err
	}
	return r.reopen(ctx, all, rows)
}

// rest measures what the deployments use without a load, all at the same time.
func (r *run) rest(ctx context.Context, all []*competitor, rows []*report.Row) error {
	r.logf("at rest")
	if err := pause(ctx, r.Rest); err != nil {
		return err
	}
	before := make([]time.Duration, len(all))
	for i, p := range all {
		before[i], _ = p.Deployment.CPU() // not known here is not known below either
	}
	begun := time.Now()
	if err := pause(ctx, r.For); err != nil {
		return err
	}
	took := time.Since(begun)
	for i, p := range all {
		if used, ok := p.Deployment.CPU(); ok {
			rows[i].Rest.Busy = float64(used-before[i]) / float64(took)
		}
		if bytes, ok := p.Deployment.Resident(); ok {
			rows[i].Rest.Resident = bytes
		}
	}
	return nil
}

func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// reopen measures how long the deployments take to open, one after the other.
func (r *run) reopen(ctx context.Context, all []*competitor, rows []*report.Row) error {
	var errs []error
	for i, p := range all {
		r.logf("%s, %s: restart", described(rows[i].Case), rows[i].Peer)
		took, err := p.Deployment.Reopen(ctx)
		rows[i].Rest.Opening = took
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}
