package bench

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/cmd/holdfast/metrics"
	"github.com/holdfast-io/holdfast/integration/stand"
)

// BenchmarkMetrics compares the pairs of 64 clients on a node with metrics, which is scraped once a second, with those
// on a node without, in turns. Run it with -benchtime=15x: an iteration is a round of each.
func BenchmarkMetrics(b *testing.B) {
	const clients = 64
	m := metrics.New("bench")
	with, without := stand.Start(b, stand.Config{Observer: m}), stand.Start(b, stand.Config{})
	m.Started(with.Server.Node())
	ctx, cancel := context.WithCancel(b.Context())
	scraped := make(chan error, 1)
	go func() { scraped <- scrape(ctx, m) }()
	observed, plain := connect(with), connect(without)
	var ours, theirs series
	for turn := 0; b.Loop(); turn++ {
		both := []func(){
			func() { ours.add(pairsOver(b, clients, observed)) },
			func() { theirs.add(pairsOver(b, clients, plain)) },
		}
		both[turn%2]() // each is the first one in every second turn
		both[1-turn%2]()
	}
	cancel()
	if err := <-scraped; err != nil {
		b.Error(err)
	}
	b.ReportMetric(ours.median(), "pairs/s")
	b.ReportMetric(theirs.median(), "plain-pairs/s")
	ratios := ours.ratios(theirs)
	b.ReportMetric(ratios.median(), "x-plain")
	b.ReportMetric(ratios.least(), "x-least")
	b.ReportMetric(ratios.most(), "x-most")
}

func pairsOver(b *testing.B, clients int, ncs []*nats.Conn) float64 {
	b.Helper()
	return pairs(b, clients, func(client int) locker {
		return &serviceLock{nc: ncs[client%connections], owner: fmt.Sprint(client)}
	})
}

// scrape gathers the metrics once a second until ctx ends.
func scrape(ctx context.Context, m *metrics.Metrics) error {
	ticks := time.NewTicker(time.Second)
	defer ticks.Stop()
	for {
		select {
		case <-ticks.C:
			if _, err := m.Gatherer().Gather(); err != nil {
				return err
			}
		case <-ctx.Done():
			return nil
		}
	}
}
