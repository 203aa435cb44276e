package bench

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/messages"
)

// held is how many resources are held at once.
const held = 1_000_000

// settleFor is how long a server gets to rest after the load.
const settleFor = 20 * time.Second

// BenchmarkMillion holds a million resources and says what that costs: memory, processor time while
// nothing happens but time passing, and the time to open them all again after SIGKILL. Run it with
// -benchtime=1x; it takes some minutes.
func BenchmarkMillion(b *testing.B) {
	dir := b.TempDir()
	binary := build(b, dir)
	data := filepath.Join(dir, "data")
	for b.Loop() {
		p := start(b, binary, data)
		began := time.Now()
		fill(b, p.url)
		b.ReportMetric(held/time.Since(began).Seconds(), "acquires/s")
		b.ReportMetric(float64(p.resident())/1e6, "MB-under-load")
		<-time.After(settleFor)
		before, since := p.cpu(), time.Now()
		<-time.After(idleFor)
		b.ReportMetric(100*(p.cpu()-before).Seconds()/time.Since(since).Seconds(), "%core")
		b.ReportMetric(float64(p.resident())/1e6, "MB")

		if err := syscall.Kill(p.pid, syscall.SIGKILL); err != nil {
			b.Fatal(err)
		}
		p.wait()
		began = time.Now()
		p = start(b, binary, data)
		nc, err := nats.Connect(p.url)
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
		b.ReportMetric(float64(p.resident())/1e6, "MB-reopened")
	}
	_ = os.RemoveAll(data)
}

// fill acquires all resources, over a number of connections.
func fill(b *testing.B, url string) {
	b.Helper()
	ncs := make([]*nats.Conn, connections)
	for i := range ncs {
		nc, err := nats.Connect(url)
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(nc.Close)
		ncs[i] = nc
	}
	var next atomic.Int64
	var failure atomic.Pointer[error]
	var group sync.WaitGroup
	for c := range 2 * clients {
		group.Go(func() {
			for failure.Load() == nil {
				i := int(next.Add(1)) - 1
				if i >= held {
					return
				}
				err := ask(b.Context(), ncs[c%connections], messages.OpAcquire, name(i),
					&messages.AcquireRequest{Owner: fmt.Sprint("client-", c), TtlMs: 86_400_000}, messages.Status_GRANTED)
				if err != nil {
					failure.Store(&err)
				}
			}
		})
	}
	group.Wait()
	if err := failure.Load(); err != nil {
		b.Fatal(*err)
	}
}
