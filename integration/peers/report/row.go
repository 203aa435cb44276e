// Package report shows the measurements: as tables on a terminal and in Markdown, and as charts in SVG.
package report

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/holdfast-io/holdfast/cmd/holdfast/bench/load"
	"github.com/holdfast-io/holdfast/integration/peers/network"
	"github.com/holdfast-io/holdfast/integration/peers/peer"
)

// Case is what was measured of each peer, in turns.
type Case struct {
	Nodes int
	// Delay is the round trip between any two hosts; 0: all are on one loopback.
	Delay    time.Duration
	Workload peer.Workload
	Clients  int
	// Resources is the number of resources of the load, Shards that of Holdfast; 0: its default.
	Resources, Shards int
	// Connections is the number of clients if each has a connection of its own and the load is small; 0: the clients
	// share some connections, and the load is as large as can be.
	Connections int
}

// Row is what was measured of one peer in a case.
type Row struct {
	Case
	Peer string
	// Samples has one for each round.
	Samples []Sample
	// Latencies are those of all rounds, of [Operation].
	Latencies *load.Latencies
	// Rest is what the deployment uses without a load.
	Rest Rest
	// Err is why there are no further samples; nil if there are all.
	Err error
}

// Rest is what a deployment uses without a load. A figure of 0 is not known.
type Rest struct {
	// Resident is the memory of its processes in bytes, Busy their processor time in each second, in seconds.
	Resident int64
	Busy     float64
	// Opening is the time from the start of its process until each shard has granted a lock.
	Opening time.Duration
}

func (r Rest) megabytes() float64 { return float64(r.Resident) / 1e6 }

// Sample is what was measured in one round.
type Sample struct {
	// Rate is in operations a second: pairs, hand-overs or extensions.
	Rate float64
	// P50, P99 and P999 are quantiles of the latency of acquire; of extend where that is measured.
	P50, P99, P999 time.Duration
	// CPU is the processor time of all servers for each operation; 0: not known.
	CPU time.Duration
	// Switch is the processor time of the switch between the hosts in each second, in seconds; 0 without one.
	Switch float64
}

// The figures of a sample, for [Row.Median] and [Row.Over].
var (
	Rate   = func(s Sample) float64 { return s.Rate }
	P50    = func(s Sample) float64 { return s.P50.Seconds() }
	P99    = func(s Sample) float64 { return s.P99.Seconds() }
	P999   = func(s Sample) float64 { return s.P999.Seconds() }
	CPU    = func(s Sample) float64 { return s.CPU.Seconds() }
	Switch = func(s Sample) float64 { return s.Switch }
)

// Median returns the median of a figure over the rounds, 0 if there are none.
func (r *Row) Median(figure func(Sample) float64) float64 {
	var values []float64
	for _, s := range r.Samples {
		values = append(values, figure(s))
	}
	return median(values)
}

// Over returns the median of the ratios of a figure, round by round: how many times that of another row it is. It is 0
// if there are none.
func (r *Row) Over(other *Row, figure func(Sample) float64) float64 {
	var ratios []float64
	for i := range min(len(r.Samples), len(other.Samples)) {
		if below := figure(other.Samples[i]); below > 0 {
			ratios = append(ratios, figure(r.Samples[i])/below)
		}
	}
	return median(ratios)
}

func median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	slices.Sort(values)
	middle := len(values) / 2
	if len(values)%2 == 1 {
		return values[middle]
	}
	return (values[middle-1] + values[middle]) / 2
}

// Report is a whole run.
type Report struct {
	// Machine says where it ran, Command how, and Versions what, one peer in each.
	Machine, Command string
	Versions         []string
	// Networks are those that had a delay.
	Networks []Network
	// Compared are the rows of all peers, Shards those of Holdfast with different numbers of shards, Resources those
	// with different numbers of resources, and Connections those with different numbers of clients that have a
	// connection each.
	Compared, Shards, Resources, Connections []*Row
}

// Network is a network of so many nodes, and what its delay was in fact.
type Network struct {
	Nodes  int
	Delay  time.Duration
	Echoes network.Echoes
}

func (n Network) String() string {
	e := n.Echoes
	return fmt.Sprintf("%s, %v: echoes took %v (median), %v (p99), %v at most; %d lost", count(n.Nodes),
		n.Delay, e.P50.Round(time.Microsecond), e.P99.Round(time.Microsecond), e.Max.Round(time.Microsecond),
		e.Lost)
}

// sharded begins the name of Holdfast with another number of shards than its default.
const sharded = "holdfast-shards-"

// Sharded returns the name of a Holdfast with so many shards.
func Sharded(shards int) string { return sharded + strconv.Itoa(shards) }

// find returns the row of a peer in a case, nil if there is none with samples.
func find(rows []*Row, c Case, name string) *Row {
	for _, r := range rows {
		if r.Case == c && r.Peer == name && len(r.Samples) > 0 {
			return r
		}
	}
	return nil
}
