package page

import (
	"context"
	"fmt"
	"net/url"
	"slices"
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
	// Tops and Pulse are nil if they could not be read, and NoTops and noPulse say why.
	Tops            []top
	Pulse           *pulse
	NoTops, noPulse string
	// Changed is what changed in the last minutes, the newest first: leases that were lost, and nodes and shards, which
	// this node has noted since it was started.
	Changed []happening
	since   time.Time
}

// happening is a loss of a lease, or with a Text a change of nodes or shards.
type happening struct {
	change
	Text string
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
	o.NoTops, o.noPulse = unread("What is contended", failures[2]), unread("What was lost", failures[1])
	o.Health = healthOf(s)
	o.Nodes = nodesOf(s, d.chronicle.lost(), o.here)
	o.Total = totalOf(o.Nodes)
	o.change(d.chronicle, time.Now())
	return nil
}

// unread says that something could not be read; empty: it could.
func unread(what string, err error) string {
	if err == nil {
		return ""
	}
	return what + " is not known: " + err.Error() + "."
}

// change merges what was lost with what changed about the nodes.
func (o *overview) change(c *chronicle, now time.Time) {
	o.Changed, o.since = nil, c.begun
	for _, n := range c.newest(recently(now), maxLosses) {
		o.Changed = append(o.Changed, happening{change{ID: fmt.Sprint("node ", n.ID), At: n.At, Kind: n.Kind}, n.Text})
	}
	if o.Pulse != nil {
		for _, l := range o.Pulse.Losses {
			o.Changed = append(o.Changed, happening{change: l})
		}
	}
	slices.SortStableFunc(o.Changed, func(a, b happening) int { return b.At.Compare(a.At) })
}

// Reach says how far back the changes go, and what is left out.
func (o *overview) Reach() string {
	losses := o.noPulse
	switch p := o.Pulse; {
	case p == nil:
	case p.Window == 0:
		losses = "The journals did not answer in time, so losses are not shown."
	case p.Some, p.Lost > len(p.Losses):
		losses = fmt.Sprintf("The newest losses of %s.", duration(p.Window))
	case len(p.Losses) == 0:
		losses = fmt.Sprintf("No lease was lost in %s.", duration(p.Window))
	default:
		losses = fmt.Sprintf("All losses of %s.", duration(p.Window))
	}
	return losses + " Nodes and shards as this node has seen them since " + stamp(o.since) + "."
}

// Summary says how well it is, in a sentence.
func (o *overview) Summary() string { return o.Health.Sentence() }

// Running returns how many nodes run.
func (o *overview) Running() int { return running(o.Nodes) }

// Table returns the nodes for their table, whose heads lead to the view of the cluster.
func (o *overview) Table() nodeTable {
	return nodeTable{Nodes: o.Nodes, Total: o.Total, Order: order{path: "cluster", param: "nodes"}}
}
