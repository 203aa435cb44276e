package bench

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-io/holdfast/integration/stand"
	"github.com/holdfast-io/holdfast/jetstream/embedded"
	"github.com/holdfast-io/holdfast/messages/porttest"
)

const (
	// failoverShards is enough for each of three nodes to own some, and to lead some buckets.
	failoverShards = 6
	// quietFor is how long the load goes on before a node goes, to know what the machine does by itself.
	quietFor = 2 * time.Second
	// A node stays away for awayFor, or longElection if an election inside NATS has to end meanwhile.
	awayFor      = 3 * time.Second
	longElection = 12 * time.Second
	// settlePatience bounds the wait for a cluster to be whole again.
	settlePatience = 2 * time.Minute
)

// BenchmarkFailoverStop stops each of three nodes in turn as an operator does, with SIGTERM, and starts it
// again. An iteration is a round of the three.
func BenchmarkFailoverStop(b *testing.B) {
	m := stand.StartMembers(b, 3, "--shards", fmt.Sprint(failoverShards))
	f := &failover{B: b, nodes: m.All, servers: urls(m), leads: true, away: awayFor}
	f.run((*stand.Member).Stop)
}

// BenchmarkFailoverKilled kills each of three nodes in turn together with its NATS server.
func BenchmarkFailoverKilled(b *testing.B) {
	m := stand.StartMembers(b, 3, "--shards", fmt.Sprint(failoverShards))
	f := &failover{B: b, nodes: m.All, servers: urls(m), leads: true, away: longElection}
	f.run((*stand.Member).Kill)
}

// BenchmarkFailoverOwnerKilled kills each of three nodes in turn; the NATS servers, which are elsewhere,
// live on.
func BenchmarkFailoverOwnerKilled(b *testing.B) {
	f := beside(b)
	f.run((*stand.Member).Kill)
}

// BenchmarkFailoverOwnerStop stops each of three nodes in turn, with the NATS servers elsewhere.
func BenchmarkFailoverOwnerStop(b *testing.B) {
	f := beside(b)
	f.run((*stand.Member).Stop)
}

// failover is a cluster, and what was measured while one node after the other went.
type failover struct {
	*testing.B
	nodes []*stand.Member
	// servers are where clients find each NATS server.
	servers []string
	// leads: the servers are those of the nodes.
	leads bool
	away  time.Duration

	quiet, gone, back, rate series
}

func urls(m *stand.Members) []string { return strings.Split(m.URLs(), ",") }

// beside starts three NATS servers in this process, and three nodes that use them.
func beside(b *testing.B) *failover {
	b.Helper()
	f := &failover{B: b, away: awayFor}
	m := stand.NewMembers(b, 3)
	routes := porttest.Free(b, 3)
	for i, route := range routes {
		s, err := embedded.Start(embedded.Config{
			Name: fmt.Sprint("nats", i), Listen: "127.0.0.1:0", ClusterListen: route, Routes: routes,
			DataDir: b.TempDir(), Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
		})
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(s.Shutdown)
		f.servers = append(f.servers, s.ClientURL())
		if i == len(routes)-1 {
			if err := s.AwaitQuorum(b.Context()); err != nil {
				b.Fatal(err)
			}
		}
	}
	for _, member := range m.All {
		member.Args = []string{
			"serve", "--name", member.Name, "--server", strings.Join(f.servers, ","),
			"--replicas", "3", "--shards", fmt.Sprint(failoverShards),
		}
		member.Start()
		member.WaitReady()
	}
	f.nodes = m.All
	return f
}

// run takes each node away and brings it back, and reports the longest call of any client: before, while
// it went, and while it came back.
func (f *failover) run(end func(*stand.Member)) {
	f.Helper()
	f.settle()
	for f.Loop() {
		for _, n := range f.nodes {
			f.trial(n, end)
			if f.Failed() {
				return
			}
		}
	}
	f.ReportMetric(f.gone.most(), "ms-worst")
	f.ReportMetric(f.gone.mean(), "ms-mean")
	f.ReportMetric(f.gone.median(), "ms-median")
	f.ReportMetric(f.quiet.median(), "ms-before")
	f.ReportMetric(f.back.median(), "ms-return")
	f.ReportMetric(f.back.most(), "ms-return-worst")
	f.ReportMetric(f.rate.median(), "calls/s")
	f.ReportMetric(0, "ns/op")
}

func (f *failover) trial(n *stand.Member, end func(*stand.Member)) {
	f.Helper()
	had := f.owned(n.Name)
	load := startSteady(f, f.servers)
	<-time.After(quietFor / 2) // connections are new, and so are the clients
	before := time.Now()
	<-time.After(quietFor)
	going := time.Now()
	end(n)
	went := time.Since(going)
	<-time.After(f.away)
	returns := time.Now()
	n.Restart()
	f.settle()
	settled := time.Now()
	calls := load.stop()
	for _, c := range calls {
		if c.err != nil {
			f.Errorf("%s goes: %s of %s after %v: %v", n.Name, c.op, c.resource, c.took(), c.err)
		}
	}
	quiet := longest(calls, func(c call) bool { return c.start.After(before) && c.end.Before(going) })
	gone := longest(calls, func(c call) bool { return c.end.After(going) && c.start.Before(returns) })
	back := longest(calls, func(c call) bool { return c.start.After(returns) })
	f.quiet.add(quiet.ms())
	f.gone.add(gone.ms())
	f.back.add(back.ms())
	f.rate.add(float64(len(calls)) / settled.Sub(before).Seconds())
	f.Logf("%s with shards %v goes, in %v (load %s): before %.0f ms; %s; back after %v: %s", n.Name, had,
		went.Round(time.Millisecond), systemLoad(),
		quiet.ms(), describe(gone, going), settled.Sub(returns).Round(time.Millisecond), describe(back, returns))
}

// describe says where a call went.
func describe(c call, since time.Time) string {
	return fmt.Sprintf(
		"longest %.0f ms, %s in shard %d, begun at %+d ms through %s, ended through %s after %d reconnects",
		c.ms(), c.op, c.shard(failoverShards), c.start.Sub(since).Milliseconds(), c.at, c.afterwards, c.reconnects)
}

// systemLoad says how busy the machine is, which it is with other things as well.
func systemLoad() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	return strings.Fields(string(text))[0]
}
