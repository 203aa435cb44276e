package nodeotel_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/holdfast-io/holdfast/clients/holdfast"
	"github.com/holdfast-io/holdfast/clients/holdfast/holdfastotel"
	"github.com/holdfast-io/holdfast/cmd/holdfast/otel/nodeotel"
	"github.com/holdfast-io/holdfast/integration/stand"
	"github.com/holdfast-io/holdfast/messages"
)

// discard is an exporter for what is made to be measured.
type discard struct{}

func (discard) ExportSpans(context.Context, []sdktrace.ReadOnlySpan) error { return nil }
func (discard) Shutdown(context.Context) error                             { return nil }

// measure is what a round has found: pairs in a second, and processor time for a pair of client, node and NATS
// together.
type measure struct{ rate, cost float64 }

// BenchmarkTraces compares pairs of acquire and release of a client with traces with those of one without, in turns:
// with the hook alone, and with a share of the calls sampled. The spans are dropped when they have been made. It
// reports the ratios of the pairs in a second and of the processor time for each. Run it with -benchtime=10x: an
// iteration is a round of each.
func BenchmarkTraces(b *testing.B) {
	shares := []float64{0, .01, 1}
	clients := []func() measure{pairsOf(b, stand.Config{})}
	for _, share := range shares {
		p := sdktrace.NewTracerProvider(sdktrace.WithBatcher(discard{}),
			sdktrace.WithSampler(sdktrace.ParentBased(sdktrace.TraceIDRatioBased(share))))
		b.Cleanup(func() { _ = p.Shutdown(context.WithoutCancel(b.Context())) })
		clients = append(clients, pairsOf(b, stand.Config{Tracer: nodeotel.New(p, messages.DefaultPrefix)},
			holdfastotel.Trace(holdfastotel.Provider(p))))
	}
	rates, costs := make([][]float64, len(clients)), make([][]float64, len(clients))
	for turn := 0; b.Loop(); turn++ {
		found := make([]measure, len(clients))
		for i := range clients { // another one is the first in each turn
			n := (i + turn) % len(clients)
			found[n] = clients[n]()
		}
		for i, m := range found {
			rates[i], costs[i] = append(rates[i], m.rate/found[0].rate), append(costs[i], m.cost/found[0].cost)
		}
	}
	for i, share := range shares {
		for what, ratios := range map[string][]float64{"rate": rates[i+1], "cpu": costs[i+1]} {
			slices.Sort(ratios)
			b.ReportMetric(ratios[len(ratios)/2], fmt.Sprintf("x-%s-%v%%", what, 100*share))
			b.Logf("sampled %v%%: %s from %.2f to %.2f", 100*share, what, ratios[0], ratios[len(ratios)-1])
		}
	}
}

// pairsOf starts a node and a client, and returns what has 64 goroutines acquire and release for two seconds.
func pairsOf(b *testing.B, cfg stand.Config, opts ...holdfast.Option) func() measure {
	b.Helper()
	c := stand.Start(b, cfg).Client(opts...)
	return func() measure {
		ctx, cancel := context.WithTimeout(b.Context(), 2*time.Second)
		defer cancel()
		var done atomic.Int64
		var group sync.WaitGroup
		begun, used := time.Now(), processorTime(b)
		for g := range 64 {
			group.Go(func() {
				for i := 0; ctx.Err() == nil; i++ {
					l, err := c.Acquire(b.Context(), fmt.Sprint(g, ".", i%100))
					if err == nil {
						err = l.Release(b.Context())
					}
					if err != nil {
						b.Error(err)
						return
					}
					done.Add(1)
				}
			})
		}
		group.Wait()
		pairs := float64(done.Load())
		return measure{pairs / time.Since(begun).Seconds(), float64(processorTime(b)-used) / pairs}
	}
}

// processorTime is that of this process.
func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
