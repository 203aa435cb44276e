package bench

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	natsjs "github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-io/holdfast/integration/stand"
	"github.com/holdfast-io/holdfast/messages"
)

// waiters are the clients that want the hot resource.
const waiters = 64

// BenchmarkHandOver hands one resource round: 64 clients wait for it, and each holder gives it back
// and queues again. Every hand-over is synced before it is answered, so there is one append for
// each, and no more of them than bare publishes by a single client one after the other: those are
// measured in turns, as what the disk allows. It checks that tokens are granted in strict order.
func BenchmarkHandOver(b *testing.B) {
	s := stand.Start(b, stand.Config{})
	ncs := connect(s)
	ctx, cancel := context.WithCancel(b.Context())
	defer cancel()
	var last atomic.Uint64
	var left atomic.Int64
	var group sync.WaitGroup
	errs := make(chan error, waiters)
	left.Store(1 << 62)
	for w := range waiters {
		nc, owner := ncs[w%connections], fmt.Sprint(w)
		group.Go(func() {
			for ctx.Err() == nil && left.Add(-1) >= 0 {
				reply, err := exchange(ctx, nc, messages.OpAcquire, "hot",
					&messages.AcquireRequest{Owner: owner, TtlMs: 60_000, WaitMs: 60_000})
				if err == nil && reply.GetStatus() != messages.Status_GRANTED {
					err = fmt.Errorf("acquire: %v", reply)
				}
				if err == nil {
					token := reply.GetLease().GetToken()
					if before := last.Swap(token); token != before+1 {
						err = fmt.Errorf("token %d follows %d", token, before)
					}
				}
				if err == nil {
					err = ask(ctx, nc, messages.OpRelease, "hot", &messages.ReleaseRequest{Owner: owner},
						messages.Status_RELEASED)
				}
				if err != nil && ctx.Err() == nil {
					errs <- err
					return
				}
			}
		})
	}
	var rates, bare series
	for b.Loop() {
		before, start := last.Load(), time.Now()
		<-time.After(round)
		rates.add(float64(last.Load()-before) / time.Since(start).Seconds())
	}
	left.Store(0)
	group.Wait()
	for range rates {
		bare.add(publishes(b, ncs[0]))
	}
	select {
	case err := <-errs:
		b.Fatal(err)
	default:
	}
	b.ReportMetric(rates.median(), "handovers/s")
	b.ReportMetric(bare.median(), "publishes/s")
	b.ReportMetric(rates.median()/bare.median(), "x-publish")
}

// publishes returns how many synced messages a second one client publishes, one after the other.
func publishes(b *testing.B, nc *nats.Conn) float64 {
	b.Helper()
	js, err := natsjs.New(nc)
	if err != nil {
		b.Fatal(err)
	}
	if _, err := js.CreateOrUpdateStream(b.Context(), natsjs.StreamConfig{Name: "BARE", Subjects: []string{"bare"}}); err != nil {
		b.Fatal(err)
	}
	start, n := time.Now(), 0
	for ; time.Since(start) < round; n++ {
		if _, err := js.Publish(b.Context(), "bare", make([]byte, 200)); err != nil {
			b.Fatal(err)
		}
	}
	return float64(n) / time.Since(start).Seconds()
}
