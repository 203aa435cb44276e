package page

import (
	"context"
	"net/url"
	"sync"
	"time"

	"github.com/holdfast-io/holdfast/cmd/holdfast/doctor"
)

// overview is the view that says whether the deployment is well, what is contended, what has changed, and what each node
// does. It is read from what all windows share.
type overview struct {
	here string

	Health health
	Nodes  []nodeRow
	Total  nodeRow
	// Tops and Pulse are nil if they could not be read, and Unread says why.
	Tops   []top
	Pulse  *pulse
	Unread []string
	// Notes are what changed about the nodes, and Since when this node began to note that.
	Notes []note
	Since time.Time
}

func openOverview(p *Page, _ url.Values) (view, error) { return &overview{here: p.cfg.Name}, nil }

func (o *overview) load(ctx context.Context, d *deployment) error {
	var s *doctor.Survey
	var failures [3]error
	var reading sync.WaitGroup
	reading.Go(func() { s, failures[0] = d.state.get(ctx) })
	reading.Go(func() { o.Pulse, failures[1] = d.pulse.get(ctx) })
	reading.Go(func() { o.Tops, failures[2] = d.contended.get(ctx) })
	reading.Wait()
	if failures[0] != nil {
		return failures[0]
	}
	o.Unread = nil
	for i, what := range []string{"What has changed", "What is contended"} {
		if err := failures[i+1]; err != nil {
			o.Unread = append(o.Unread, what+" is not known: "+err.Error()+".")
		}
	}
	o.Health = healthOf(s)
	o.Nodes = nodesOf(s, d.chronicle.lost(), o.here)
	o.Total = totalOf(o.Nodes)
	o.Notes, o.Since = d.chronicle.newest(recently(time.Now()), maxLosses), d.chronicle.begun
	return nil
}

// Summary says how well it is, in a sentence.
func (o *overview) Summary() string { return o.Health.Sentence() }

// Running returns how many nodes run.
func (o *overview) Running() int { return running(o.Nodes) }

// Table returns the nodes for their table, whose heads lead to the view of the cluster.
func (o *overview) Table() nodeTable {
	return nodeTable{Nodes: o.Nodes, Total: o.Total, Order: order{path: "cluster", param: "nodes"}}
}
