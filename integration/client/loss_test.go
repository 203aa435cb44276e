package client_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfast-io/holdfast/clients/holdfast"
)

// lossesAtOnce is how many leases are lost side by side.
const lossesAtOnce = 10

// However long a lease is and whenever its holder is cut off, the holder does not take the lock for its
// own any more when the service grants it to another holder. That its context has ended by then as well
// is a matter of how soon a timer is served, which [BenchmarkLossSignal] counts.
func TestLossIsKnownInTime(t *testing.T) {
	loseMany(t, 60)
}

// BenchmarkLossSignal counts the losses that were signalled before the service granted the lock to
// another holder, of all rounds: run it with -benchtime=1000x, on a machine that has nothing else to do.
func BenchmarkLossSignal(b *testing.B) {
	late := loseMany(b, b.N)
	b.ReportMetric(100*float64(b.N-late)/float64(b.N), "%in-time")
	b.ReportMetric(float64(late), "late")
}

// loseMany returns how many were signalled late.
func loseMany(tb testing.TB, runs int) int {
	tb.Helper()
	rival := newClient(tb, url)
	seriesNano := time.Now().UnixNano()
	var next, late atomic.Int64
	var group sync.WaitGroup
	for range lossesAtOnce {
		group.Go(func() {
			for i := next.Add(1); i <= int64(runs); i = next.Add(1) {
				if !loseOne(tb, rival, fmt.Sprintf("%s/%d/%d", tb.Name(), seriesNano, i)) {
					late.Add(1)
				}
			}
		})
	}
	group.Wait()
	return int(late.Load())
}

// loseOne loses a lease at a random moment and reports whether that was signalled in time. The rival,
// whose connection is unimpaired, sees when the service takes it for over.
func loseOne(tb testing.TB, rival *holdfast.Client, resource string) (inTime bool) {
	tb.Helper()
	// A busy machine takes up to 200 ms for a grant, and a client refuses grants that are nearly over.
	ttl := 500*time.Millisecond + rand.N(900*time.Millisecond)
	p := newProxy(tb, url)
	c := newClient(tb, p.url(), holdfast.Timeout(10*time.Millisecond))
	l := mustAcquire(tb, c, resource, holdfast.TTL(ttl))
	waiting := acquiring(testContext(tb), rival, resource)
	cut := time.AfterFunc(rand.N(2*ttl), p.blackhole)
	defer cut.Stop()
	next := mustGrant(tb, waiting)
	if l.Valid() {
		tb.Errorf("TTL %v: %v is valid beside %v", ttl, l, next)
	}
	select {
	case <-l.Lost():
		inTime = true
	default:
		granted, deadline := time.Now(), l.Deadline()
		await(tb, "the lock is lost at all", l.Lost())
		tb.Logf("TTL %v: %v was told %v behind its deadline and %v behind the grant of %v",
			ttl, l, time.Since(deadline), time.Since(granted), next)
	}
	mustRelease(tb, next)
	return inTime
}
