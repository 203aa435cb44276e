package bench

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-io/holdfast/actors"
	"github.com/holdfast-io/holdfast/integration/stand"
	"github.com/holdfast-io/holdfast/messages"
)

// BenchmarkCompactionPause says what a compaction costs those who lock meanwhile: 100 000 resources
// are held, 16 clients lock and unlock others, and the node compacts all the time, or never. It
// reports how long they wait, in turns.
func BenchmarkCompactionPause(b *testing.B) {
	const filled = 100_000
	tunings := map[string]actors.Tuning{
		"never":  {CompactCommits: 1 << 40, CompactBytes: 1 << 40},
		"always": {CompactCommits: 500, History: 100},
	}
	stands := map[string]*stand.Stand{}
	for name, tuning := range tunings {
		stands[name] = stand.Start(b, stand.Config{Tuning: tuning})
		fillStand(b, stands[name], filled)
	}
	waits := map[string]*latencies{"never": {}, "always": {}}
	for b.Loop() {
		for name, s := range stands {
			ncs := connect(s)
			waits[name].load(b, func(client int) locker { return &serviceLock{nc: ncs[client], owner: fmt.Sprint(client)} })
		}
	}
	for name, l := range waits {
		b.ReportMetric(l.percentile(50), "ms-p50-"+name)
		b.ReportMetric(l.percentile(99), "ms-p99-"+name)
		b.ReportMetric(l.most(), "ms-max-"+name)
	}
}

// latencies are waits in milliseconds.
type latencies struct {
	mu sync.Mutex
	series
}

// load lets 16 clients lock and unlock for a round.
func (l *latencies) load(b *testing.B, client func(int) locker) {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.Context(), round)
	defer cancel()
	var group sync.WaitGroup
	for c := range connections {
		group.Go(func() {
			k := client(c)
			for i := 0; ctx.Err() == nil; i++ {
				start := time.Now()
				err := k.lock(b.Context(), -1-c)
				l.note(time.Since(start))
				if err == nil {
					err = k.unlock(b.Context(), -1-c)
				}
				if err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	group.Wait()
}

func (l *latencies) note(d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.add(1e3 * d.Seconds())
}

func fillStand(b *testing.B, s *stand.Stand, n int) {
	b.Helper()
	ncs := connect(s)
	var group sync.WaitGroup
	for c := range clients {
		group.Go(func() {
			for i := c; i < n; i += clients {
				err := ask(b.Context(), ncs[c%connections], messages.OpAcquire, name(i),
					&messages.AcquireRequest{Owner: "filler", TtlMs: 86_400_000}, messages.Status_GRANTED)
				if err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	group.Wait()
}
