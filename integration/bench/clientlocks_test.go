package bench

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/holdfast-io/holdfast/clients/holdfast"
	"github.com/holdfast-io/holdfast/integration/stand"
)

const (
	// acquirers is how many goroutines acquire the locks of a client.
	acquirers = 512
	// manyLocks is from how many on the TTL is longer, so that the first renewals do not come beside the requests to
	// acquire.
	manyLocks = 500_000
	manyTTL   = 3 * time.Minute
)

// BenchmarkClientLocks has one client hold so many locks and reports what that costs when they are in sessions, and, of
// 100 000, when each is renewed by itself. Run it with -benchtime=1x; HOLDFAST_LOCKS sets another number of locks.
func BenchmarkClientLocks(b *testing.B) {
	locks := 100_000
	if n, err := strconv.Atoi(os.Getenv("HOLDFAST_LOCKS")); err == nil {
		locks = n
	}
	b.Run(fmt.Sprintf("sessions/%d", locks), func(b *testing.B) { holdLocks(b, locks) })
	if locks <= 100_000 {
		b.Run(fmt.Sprintf("single/%d", locks), func(b *testing.B) { holdLocks(b, locks, holdfast.PerLockRenewal()) })
	}
}

func holdLocks(b *testing.B, n int, opts ...holdfast.Option) {
	b.Helper()
	ttl := holdfast.DefaultTTL
	if n >= manyLocks {
		ttl = manyTTL
	}
	for b.Loop() {
		m := stand.StartAlone(b)
		c, err := holdfast.New(stand.Dial(b, m.URL),
			append(opts, holdfast.Timeout(5*time.Minute), holdfast.Defaults(holdfast.TTL(ttl)))...)
		if err != nil {
			b.Fatal(err)
		}
		memory := liveBytes()
		begun := time.Now()
		all := make([]*holdfast.Lock, n)
		if err := inParallel(acquirers, n, func(i int) (err error) {
			all[i], err = c.Acquire(b.Context(), name(i))
			return err
		}); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(n)/time.Since(begun).Seconds(), "acquires/s")
		<-time.After(ttl) // after two renewals of each all are in sessions
		b.ReportMetric(float64(liveBytes()-memory)/float64(n), "B/lock")
		client, node, since := selfCPU(b), m.CPU(), time.Now()
		<-time.After(time.Minute)
		took := time.Since(since).Seconds()
		b.ReportMetric(100*(selfCPU(b)-client).Seconds()/took, "%core-client")
		b.ReportMetric(100*(m.CPU()-node).Seconds()/took, "%core-node")
		for _, l := range all {
			if !l.Valid() {
				b.Fatalf("%v is lost: %v", l, context.Cause(l.Context()))
			}
		}
		begun = time.Now()
		if err := c.Close(b.Context()); err != nil {
			b.Error(err)
		}
		b.ReportMetric(time.Since(begun).Seconds(), "s-to-close")
		m.Stop()
	}
}

// liveBytes is what is in use of the heap.
func liveBytes() int64 {
	runtime.GC()
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	return int64(s.HeapAlloc)
}

// selfCPU is the processor time of this process.
func selfCPU(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
