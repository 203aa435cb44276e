package bench

import (
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/cmd/holdfast/reshard"
	"github.com/holdfast-io/holdfast/integration/stand"
	"github.com/holdfast-io/holdfast/messages"
)

// BenchmarkReshard gives a node 4 shards in the place of 1, and 1 again, while it has 10 000 or a million leases and a
// load of clients goes on. It reports how long requests have waited, the longest call, and the time of the whole change:
// the worst of both. A call that fails, fails it. Run it with -benchtime=1x.
func BenchmarkReshard(b *testing.B) {
	for _, resources := range []int{10_000, held} {
		b.Run(fmt.Sprint(resources), func(b *testing.B) {
			for b.Loop() {
				m := stand.StartAlone(b, "--shards", "1", "--max-held", fmt.Sprint(2*held))
				fill(b, m.URL, resources)
				nc := stand.Dial(b, m.URL)
				var waited, longestCall, took series
				for _, shards := range []uint32{4, 1} {
					r := changeUnderLoad(b, nc, m.URL, shards)
					waited.add(r.waited)
					longestCall.add(r.longest)
					took.add(r.took)
				}
				b.ReportMetric(waited.most(), "ms-waited")
				b.ReportMetric(longestCall.most(), "ms-longest-call")
				b.ReportMetric(took.most(), "ms-in-all")
				m.Stop()
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}

// changed is a change of the number of shards, in milliseconds.
type changed struct{ waited, longest, took float64 }

// changeUnderLoad changes the number of shards in the midst of a load.
func changeUnderLoad(b *testing.B, nc *nats.Conn, url string, shards uint32) changed {
	b.Helper()
	load := startSteady(b, []string{url})
	<-time.After(quietFor) // connections are new, and so are the clients
	began := time.Now()
	r, err := reshard.Run(b.Context(), reshard.Config{Conn: nc, Prefix: messages.DefaultPrefix, Shards: shards})
	took := time.Since(began)
	<-time.After(quietFor / 2)
	calls := load.stop()
	if err != nil {
		b.Fatal(err)
	}
	for _, c := range calls {
		if c.err != nil {
			b.Errorf("%s of %s after %v: %v", c.op, c.resource, c.took(), c.err)
		}
	}
	slowest := longest(calls, func(c call) bool { return c.end.After(began) })
	b.Logf("%d shards instead of %d: requests waited for %v; %s of %s took %.0f ms; all in %v", r.Is.Count, r.Was.Count,
		r.Waited, slowest.op, slowest.resource, slowest.ms(), took)
	return changed{waited: inMillis(r.Waited), longest: slowest.ms(), took: inMillis(took)}
}
