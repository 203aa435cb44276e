package suite_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-io/holdfast/integration/peers/network"
	"github.com/holdfast-io/holdfast/integration/peers/peer"
	"github.com/holdfast-io/holdfast/integration/peers/report"
	"github.com/holdfast-io/holdfast/integration/peers/suite"
)

func TestMain(m *testing.M) {
	asked, err := network.SwitchIfAsked()
	entered := os.Geteuid() != 0 // then none has a delay
	if !asked {
		err = peer.EchoIfAsked()
	}
	if err == nil && !asked && !entered {
		entered, err = network.Enter()
	}
	if err != nil {
		_, _ = fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if !asked && entered {
		os.Exit(m.Run())
	}
}

// short is a run whose figures mean nothing. It fails if a service grants a resource twice, if its tokens
// do not grow, or if an operation fails.
func short(t *testing.T) suite.Config {
	t.Helper()
	return suite.Config{
		Peers: suite.Peers, Workloads: peer.Workloads, Clients: []int{1, 8}, Nodes: []int{1}, Rounds: 1,
		For: 200 * time.Millisecond, Resources: 50, Connections: 2, Delays: []time.Duration{0},
		Dir: t.TempDir(), Log: t.Output(),
	}
}

func TestOneNode(t *testing.T) {
	c := short(t)
	c.SweepShards, c.SweepResources, c.SweepConnections = []int{1, 2}, []int{20, 40}, []int{3, 60}
	r, err := suite.Run(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	want := map[peer.Workload]string{
		peer.Pairs:  "holdfast holdfast-go etcd redis redis-rueidis fsync nats kv",
		peer.Hot:    "holdfast holdfast-go etcd redis redis-rueidis kv publish",
		peer.Extend: "holdfast holdfast-go etcd redis redis-rueidis nats kv",
		peer.Keep:   "holdfast-keep etcd redis redis-rueidis kv",
		peer.Cached: "holdfast-cached etcd redis redis-rueidis kv",
	}
	for w, names := range want {
		wantRows(t, r.Compared, report.Case{Nodes: 1, Workload: w, Clients: 1, Resources: 50}, names)
		wantRows(t, r.Compared, report.Case{Nodes: 1, Workload: w, Clients: 8, Resources: 50},
			strings.Replace(names, " fsync", "", 1))
	}
	wantRows(t, r.Shards, report.Case{Nodes: 1, Workload: peer.Pairs, Clients: 8, Resources: 50, Shards: 2}, "holdfast")
	wantRows(t, r.Resources, report.Case{Nodes: 1, Workload: peer.Pairs, Clients: 8, Resources: 40}, "holdfast")
	wantRows(t, r.Connections, report.Case{Nodes: 1, Workload: peer.Pairs, Clients: 60, Resources: 60, Connections: 60},
		"holdfast")
	for _, row := range slices.Concat(r.Shards, r.Resources, r.Connections) {
		if row.Rest.Opening <= 0 {
			t.Errorf("%+v was not opened again", row.Case)
		}
		if _, err := os.Stat("/proc/self/statm"); err == nil && row.Rest.Resident <= 0 {
			t.Errorf("the memory of %+v is not known", row.Case)
		}
	}
}

func TestThreeNodes(t *testing.T) {
	c := short(t)
	c.Nodes, c.Workloads, c.Clients = []int{3}, []peer.Workload{peer.Pairs, peer.Hot}, []int{8}
	r, err := suite.Run(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	wantRows(t, r.Compared, report.Case{Nodes: 3, Workload: peer.Pairs, Clients: 8, Resources: 50},
		"holdfast holdfast-go etcd nats kv")
	wantRows(t, r.Compared, report.Case{Nodes: 3, Workload: peer.Hot, Clients: 8, Resources: 50},
		"holdfast holdfast-go etcd kv publish")
}

func TestDelay(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("network namespaces need root")
	}
	const delay, least = 20 * time.Millisecond, 19 * time.Millisecond
	c := short(t)
	c.Nodes, c.Workloads, c.Clients, c.Delays = []int{1, 3}, []peer.Workload{peer.Pairs}, []int{4}, []time.Duration{delay}
	c.Sharded = []int{1}
	r, err := suite.Run(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	for nodes, names := range map[int]string{
		1: "holdfast holdfast-go holdfast-shards-1 etcd redis redis-rueidis nats kv",
		3: "holdfast holdfast-go holdfast-shards-1 etcd nats kv",
	} {
		wantRows(t, r.Compared,
			report.Case{Nodes: nodes, Delay: delay, Workload: peer.Pairs, Clients: 4, Resources: 50}, names)
	}
	var acquires int64
	for _, row := range r.Compared {
		n := row.Latencies.Count() // of a round that met a stall of the disk: zero
		if took := row.Latencies.Quantile(0); n > 0 && took < least {
			t.Errorf("%s, %+v: an acquire took %v", row.Peer, row.Case, took)
		}
		acquires += n
	}
	if acquires == 0 {
		t.Error("no acquire was measured")
	}
	if len(r.Networks) != 2 || r.Networks[0].Echoes.P50 < least || r.Networks[1].Echoes.P50 < least {
		t.Errorf("the networks were %v", r.Networks)
	}
}

// wantRows checks that the case has rows of these peers, each with a sample: every client has locked and unlocked, or
// extended, at least once.
func wantRows(t *testing.T, rows []*report.Row, c report.Case, names string) {
	t.Helper()
	var got []string
	for _, r := range rows {
		if r.Case != c {
			continue
		}
		got = append(got, r.Peer)
		if len(r.Samples) != 1 {
			t.Errorf("%s, %+v: %d samples", r.Peer, c, len(r.Samples))
		}
	}
	if want := strings.Fields(names); !slices.Equal(got, want) {
		t.Errorf("%+v: %q, want %q", c, got, want)
	}
}
