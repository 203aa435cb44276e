package report

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/holdfast-io/holdfast/integration/peers/peer"
)

// Plot is a chart and the name of its file.
type Plot struct {
	File  string
	Chart *Chart
}

// Plots returns the charts for which there are measurements.
func (r *Report) Plots() []Plot {
	var plots []Plot
	add := func(file string, c *Chart) {
		c.Lines = slices.DeleteFunc(c.Lines, func(l Line) bool { return len(l.Points) < 2 })
		if len(c.Lines) > 0 {
			plots = append(plots, Plot{file + ".svg", c})
		}
	}
	for _, nodes := range []int{1, 3} {
		add(fmt.Sprintf("rate-%d", nodes), rateChart(r.Compared, nodes))
		add(fmt.Sprintf("latency-%d", nodes), latencyChart(r.Compared, nodes))
	}
	for _, s := range []struct {
		name string
		rows []*Row
		of   func(*Row) float64
	}{
		{"shards", r.Shards, func(r *Row) float64 { return float64(r.Shards) }},
		{"resources", r.Resources, func(r *Row) float64 { return float64(r.Resources) }},
		{"connections", r.Connections, func(r *Row) float64 { return float64(r.Connections) }},
	} {
		for _, g := range growths {
			add(s.name+g.suffix, &Chart{Title: g.title + " with the number of " + s.name, X: s.name, Y: g.axis,
				Lines: lines(s.rows, s.of, g.figure)})
		}
	}
	return plots
}

// growths are the figures that are plotted against a setting.
var growths = []struct {
	suffix, title, axis string
	figure              func(*Row) float64
}{
	{"", "Cost of a pair", "processor time of the server for a pair, µs",
		func(r *Row) float64 { return 1e6 * r.Median(CPU) }},
	{"-memory", "Memory at rest", "memory of the server, MB", func(r *Row) float64 { return r.Rest.megabytes() }},
	{"-rest", "Processor time at rest", "processor time of the server, ms a second",
		func(r *Row) float64 { return 1e3 * r.Rest.Busy }},
	{"-opening", "Time to open", "from the start of the server to a lock in each shard, s",
		func(r *Row) float64 { return r.Rest.Opening.Seconds() }},
}

func rateChart(rows []*Row, nodes int) *Chart {
	return &Chart{
		Title: "Lock and unlock, " + count(nodes), X: "clients", Y: "pairs a second",
		Lines: lines(pairs(rows, nodes), func(r *Row) float64 { return float64(r.Clients) },
			func(r *Row) float64 { return r.Median(Rate) }),
	}
}

func count(nodes int) string {
	if nodes == 1 {
		return "one node"
	}
	return fmt.Sprintf("%d nodes", nodes)
}

func pairs(rows []*Row, nodes int) []*Row {
	return slices.DeleteFunc(slices.Clone(rows), func(r *Row) bool {
		return r.Nodes != nodes || r.Delay > 0 || r.Workload != peer.Pairs
	})
}

// lines returns a line for each peer, without points at 0, which no logarithmic axis has.
func lines(rows []*Row, x, y func(*Row) float64) (all []Line) {
	for _, r := range rows {
		p := Point{x(r), y(r)}
		if len(r.Samples) == 0 || p.X <= 0 || p.Y <= 0 {
			continue
		}
		i := slices.IndexFunc(all, func(l Line) bool { return l.Name == r.Peer })
		if i < 0 {
			i, all = len(all), append(all, Line{Name: r.Peer})
		}
		all[i].Points = append(all[i].Points, p)
	}
	for _, l := range all {
		slices.SortFunc(l.Points, func(a, b Point) int { return cmp.Compare(a.X, b.X) })
	}
	return all
}

// distributionClients is the number of clients whose latencies are plotted; the nearest measured one is taken.
const distributionClients = 64

// latencyChart shows how long the slowest acquires take: one in 10, in 100 and so on.
func latencyChart(rows []*Row, nodes int) *Chart {
	rows = pairs(rows, nodes)
	clients := 0
	for _, r := range rows {
		if clients == 0 || distance(r.Clients) < distance(clients) {
			clients = r.Clients
		}
	}
	c := &Chart{
		Title: fmt.Sprintf("Latency of acquire, %s, %d clients", count(nodes), clients), X: "quantile", Y: "ms",
		Ticks: []Tick{{2, "50 %"}, {10, "90 %"}, {100, "99 %"}, {1000, "99.9 %"}, {10_000, "99.99 %"}},
	}
	for _, r := range rows {
		if r.Clients == clients && len(r.Samples) > 0 {
			c.Lines = append(c.Lines, Line{r.Peer, distribution(r)})
		}
	}
	return c
}

func distance(clients int) int { return max(clients-distributionClients, distributionClients-clients) }

// distribution has a point for each tenth of a power of ten up to 99.99 %, as far as there are enough latencies.
func distribution(r *Row) (points []Point) {
	for at := 2.0; at <= 10_000 && at <= float64(r.Latencies.Count()); at *= 1.2589 {
		if ms := 1e3 * r.Latencies.Quantile(1-1/at).Seconds(); ms > 0 {
			points = append(points, Point{at, ms})
		}
	}
	return points
}
