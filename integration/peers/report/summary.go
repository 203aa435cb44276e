package report

import (
	"fmt"
	"strconv"

	"github.com/holdfast-io/holdfast/integration/peers/peer"
)

// summary returns what a reader wants to know first; nothing if there are no pairs of Holdfast.
func (r *Report) summary() []section {
	t := overview(r.Compared)
	if len(t) == 1 {
		return nil
	}
	return []section{{title: "The pairs of lock and unlock of Holdfast. × etcd is its rate divided by that of etcd.",
		table: t}}
}

// overview returns a line for each case of pairs that Holdfast ran.
func overview(rows []*Row) table {
	t := table{{"nodes", "RTT ms", "clients", "pairs a second", "p50 ms", "× etcd", "× redis", "× kv", "× nats",
		"Go client × rueidis"}}
	for _, r := range rows {
		if r.Workload != peer.Pairs || r.Peer != "holdfast" || len(r.Samples) == 0 {
			continue
		}
		line := []string{strconv.Itoa(r.Nodes), known(1e3 * r.Delay.Seconds()), strconv.Itoa(r.Clients),
			number(r.Median(Rate)), number(1e3 * r.Median(P50))}
		for _, name := range []string{"etcd", "redis", "kv", "nats"} {
			line = append(line, times(rows, r, name))
		}
		overGo := "-"
		if client := find(rows, r.Case, "holdfast-go"); client != nil {
			overGo = times(rows, client, "redis-rueidis")
		}
		t = append(t, append(line, overGo))
	}
	for _, name := range []string{"RTT ms", "× etcd", "× redis", "× kv", "× nats", "Go client × rueidis"} {
		t = t.without(name)
	}
	return t
}

// times returns how many times the rate of another peer that of the row is.
func times(rows []*Row, r *Row, name string) string {
	if other := find(rows, r.Case, name); other != nil {
		return known(r.Over(other, Rate))
	}
	return "-"
}

// rest returns a sentence about the first deployment that was left alone; empty if there is none.
func (r *Report) rest() string {
	for _, row := range r.Shards {
		if row.Rest.Resident > 0 {
			return fmt.Sprintf("At rest after its load, with the number of shards %d, a node uses %s MB and %s %% of a "+
				"processor; it opens in %s s.\n", row.Shards, number(row.Rest.megabytes()), number(100*row.Rest.Busy),
				number(row.Rest.Opening.Seconds()))
		}
	}
	return ""
}
