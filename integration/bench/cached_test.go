package bench

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/holdfast-io/holdfast/clients/holdfast"
	"github.com/holdfast-io/holdfast/integration/stand"
)

// caching returns a client whose locks are cached, on a node of its own.
func caching(b *testing.B) *holdfast.Client {
	b.Helper()
	c, err := holdfast.New(stand.Dial(b, stand.StartAlone(b).URL),
		holdfast.Timeout(5*time.Minute), holdfast.Defaults(holdfast.Cached(time.Hour)))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = c.Close(b.Context()) })
	return c
}

// BenchmarkCached has one goroutine lock and unlock one resource whose lease its client caches.
func BenchmarkCached(b *testing.B) {
	c := caching(b)
	times := hdrhistogram.New(1, int64(time.Minute), 3)
	pair := func() {
		l, err := c.Acquire(b.Context(), name(0))
		if err == nil {
			err = l.Release(b.Context())
		}
		if err != nil {
			b.Fatal(err)
		}
	}
	pair()
	b.ReportAllocs()
	for b.Loop() {
		begun := time.Now()
		pair()
		_ = times.RecordValue(int64(time.Since(begun)))
	}
	b.ReportMetric(float64(times.ValueAtQuantile(50)), "p50-ns")
	b.ReportMetric(float64(times.ValueAtQuantile(99)), "p99-ns")
}

// BenchmarkCachedParallel has 64 goroutines of one client lock and unlock 10 000 resources at random, whose leases it
// caches. Run it with -benchtime=5x: an iteration is a round of two seconds.
func BenchmarkCachedParallel(b *testing.B) {
	const goroutines = 64
	c := caching(b)
	if err := inParallel(acquirers, resources, func(i int) error { return useOnce(b, c, i) }); err != nil {
		b.Fatal(err)
	}
	names := make([]string, resources)
	for i := range names {
		names[i] = name(i)
	}
	var rounds series
	for b.Loop() {
		var done atomic.Int64
		var group sync.WaitGroup
		begun := time.Now()
		for range goroutines {
			group.Go(func() {
				n := int64(0)
				for ; n%64 > 0 || time.Since(begun) < round; n++ {
					l, err := c.Acquire(b.Context(), names[rand.IntN(resources)])
					if err == nil {
						err = l.Release(b.Context())
					}
					if err != nil {
						b.Error(err)
						return
					}
				}
				done.Add(n)
			})
		}
		group.Wait()
		rounds.add(float64(done.Load()) / time.Since(begun).Seconds())
	}
	b.ReportMetric(rounds.median(), "pairs/s")
}

// BenchmarkCachedMemory has one client cache 100 000 leases that nothing uses, and reports what one of them takes. Run
// it with -benchtime=1x.
func BenchmarkCachedMemory(b *testing.B) {
	const leases = 100_000
	for b.Loop() {
		c := caching(b)
		memory := liveBytes()
		if err := inParallel(acquirers, leases, func(i int) error { return useOnce(b, c, i) }); err != nil {
			b.Fatal(err)
		}
		<-time.After(holdfast.DefaultTTL) // after a renewal of each all are in sessions
		b.ReportMetric(float64(liveBytes()-memory)/leases, "B/lease")
		if n := c.CacheStats().Leases; n != leases {
			b.Errorf("%d leases are cached", n)
		}
		begun := time.Now()
		if err := c.Close(b.Context()); err != nil {
			b.Error(err)
		}
		b.ReportMetric(time.Since(begun).Seconds(), "s-to-close")
	}
}

// useOnce locks and unlocks a resource.
func useOnce(b *testing.B, c *holdfast.Client, resource int) error {
	b.Helper()
	l, err := c.Acquire(b.Context(), name(resource))
	if err != nil {
		return err
	}
	return l.Release(b.Context())
}
