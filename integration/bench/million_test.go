package bench

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/integration/stand"
	"github.com/holdfast-io/holdfast/messages"
)

// held is how many resources are held at once.
const held = 1_000_000

// settleFor is how long a server gets to rest after the load.
const settleFor = 20 * time.Second

// BenchmarkMillion holds a million resources and reports what that costs: memory, processor time of the idle node, and
// the time to open them all again after SIGKILL. Run it with -benchtime=1x; it takes some minutes.
func BenchmarkMillion(b *testing.B) {
	for b.Loop() {
		m := stand.StartAlone(b)
		began := time.Now()
		fill(b, m.URL, held)
		b.ReportMetric(held/time.Since(began).Seconds(), "acquires/s")
		b.ReportMetric(float64(m.Resident())/1e6, "MB-under-load")
		<-time.After(settleFor)
		before, since := m.CPU(), time.Now()
		<-time.After(idleFor)
		b.ReportMetric(100*(m.CPU()-before).Seconds()/time.Since(since).Seconds(), "%core")
		b.ReportMetric(float64(m.Resident())/1e6, "MB")

		m.Kill()
		began = time.Now()
		m.Restart()
		nc, err := nats.Connect(m.URL)
		if err != nil {
			b.Fatal(err)
		}
		for _, i := range []int{0, held / 2, held - 1} {
			if err := ask(b.Context(), nc, messages.OpGet, name(i), &messages.GetRequest{}, messages.Status_HELD); err != nil {
				b.Fatal(err)
			}
		}
		nc.Close()
		b.ReportMetric(time.Since(began).Seconds(), "s-to-reopen")
		b.ReportMetric(float64(m.Resident())/1e6, "MB-reopened")
		m.Stop()
	}
}

// fill acquires so many resources, over a number of connections.
func fill(b *testing.B, url string, resources int) {
	b.Helper()
	ncs := make([]*nats.Conn, connections)
	for i := range ncs {
		ncs[i] = stand.Dial(b, url)
	}
	err := inParallel(clients, resources, func(i int) error {
		return ask(b.Context(), ncs[i%connections], messages.OpAcquire, name(i),
			&messages.AcquireRequest{Owner: fmt.Sprint("client-", i%clients), TtlMs: 86_400_000},
			messages.Status_GRANTED)
	})
	if err != nil {
		b.Fatal(err)
	}
}

// inParallel calls f for every number below n, so many at once, until one fails.
func inParallel(workers, n int, f func(i int) error) error {
	var next atomic.Int64
	var failure atomic.Pointer[error]
	var group sync.WaitGroup
	for range workers {
		group.Go(func() {
			for i := int(next.Add(1)) - 1; i < n && failure.Load() == nil; i = int(next.Add(1)) - 1 {
				if err := f(i); err != nil {
					err = fmt.Errorf("%d: %w", i, err)
					failure.Store(&err)
				}
			}
		})
	}
	group.Wait()
	if err := failure.Load(); err != nil {
		return *err
	}
	return nil
}
