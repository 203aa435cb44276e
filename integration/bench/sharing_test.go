package bench

import (
	"context"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/integration/stand"
	"github.com/holdfast-io/holdfast/messages"
)

const (
	// readers want one resource at once, with the limit unlimited.
	readers   = 64
	unlimited = math.MaxUint32
	// exclusive is the limit of a writer.
	exclusive = 0
	// most is how many leases of one resource may be held at once.
	most = 1000
	// lonePairs are the pairs of one client in a round.
	lonePairs = 200
	// queuePatience bounds the wait for a queue to form.
	queuePatience = 10 * time.Second
)

// BenchmarkSharing measures shared leases of one resource. Run it with -benchtime=5x: an iteration is a round.
func BenchmarkSharing(b *testing.B) {
	b.Run("hot", benchmarkHotReaders)
	b.Run("holders=1000", benchmarkManyHolders)
	b.Run("handover", benchmarkReadersAndWriter)
}

// benchmarkHotReaders compares pairs of 64 readers of one resource with those of 64 writers, in turns.
func benchmarkHotReaders(b *testing.B) {
	s := stand.Start(b, stand.Config{})
	ncs := connect(s)
	var shared, alone series
	for b.Loop() {
		shared.add(pairs(b, readers, hot(ncs, "hot", unlimited)))
		alone.add(pairs(b, readers, hot(ncs, "hot", exclusive)))
	}
	b.ReportMetric(shared.median(), "shared-pairs/s")
	b.ReportMetric(alone.median(), "exclusive-pairs/s")
	b.ReportMetric(shared.over(alone), "x-exclusive")
	b.ReportMetric(0, "ns/op")
}

// benchmarkManyHolders acquires as many shared leases of one resource as may be held, 64 at a time, and releases them.
// Meanwhile one client locks and unlocks beside the others, in turns with a client of another resource that is alone.
func benchmarkManyHolders(b *testing.B) {
	s := stand.Start(b, stand.Config{})
	ncs := connect(s)
	crowd, loner := hot(ncs, "crowd", unlimited), hot(ncs, "loner", unlimited)
	var acquire, release, beside, alone series
	for b.Loop() {
		acquire.add(elapsed(b, func() error {
			return inParallel(readers, most, func(i int) error { return crowd(i).lock(b.Context(), 0) })
		}))
		if err := crowd(0).unlock(b.Context(), 0); err != nil {
			b.Fatal(err)
		}
		beside.add(elapsed(b, func() error { return alternate(b.Context(), crowd(0)) }) / lonePairs)
		alone.add(elapsed(b, func() error { return alternate(b.Context(), loner(0)) }) / lonePairs)
		if err := crowd(0).lock(b.Context(), 0); err != nil {
			b.Fatal(err)
		}
		release.add(elapsed(b, func() error {
			return inParallel(readers, most, func(i int) error { return crowd(i).unlock(b.Context(), 0) })
		}))
	}
	b.ReportMetric(1e3*acquire.median(), "ms/1000-acquires")
	b.ReportMetric(1e3*release.median(), "ms/1000-releases")
	b.ReportMetric(1e6*beside.median(), "µs/pair-beside-999")
	b.ReportMetric(1e6*alone.median(), "µs/pair-alone")
	b.ReportMetric(beside.over(alone), "x-alone")
	b.ReportMetric(0, "ns/op")
}

// benchmarkReadersAndWriter hands one resource from 64 readers to a writer, and from it to 64 other readers. It
// measures from the release of the last reader to the writer's grant, and from the writer's release to the grant of all
// readers.
func benchmarkReadersAndWriter(b *testing.B) {
	s := stand.Start(b, stand.Config{})
	ncs := connect(s)
	reader, writer := hot(ncs, "handover", unlimited), hot(ncs, "handover", exclusive)(-1)
	first, second := 0, readers // the readers that hold, and those that queue
	if err := lockAll(b.Context(), reader, first); err != nil {
		b.Fatal(err)
	}
	var toWriter, toReaders series
	for b.Loop() {
		written := inBackground(func() error { return writer.lock(b.Context(), 0) })
		awaitQueue(b, ncs[0], "handover", 1)
		read := inBackground(func() error { return lockAll(b.Context(), reader, second) })
		awaitQueue(b, ncs[0], "handover", 1+readers)
		last := reader(first)
		err := inParallel(readers, readers-1, func(i int) error { return reader(first+1+i).unlock(b.Context(), 0) })
		if err != nil {
			b.Fatal(err)
		}
		toWriter.add(handOver(b, last, written))
		toReaders.add(handOver(b, writer, read))
		first, second = second, first
	}
	b.ReportMetric(1e6*toWriter.median(), "µs/to-writer")
	b.ReportMetric(1e6*toReaders.median(), "µs/to-64-readers")
	b.ReportMetric(0, "ns/op")
}

// hot returns the clients of one resource, whose leases have this limit.
func hot(ncs []*nats.Conn, key string, limit uint32) func(client int) locker {
	return func(client int) locker {
		return &hotLock{nc: ncs[(client+connections)%connections], owner: fmt.Sprint(client), key: key, limit: limit}
	}
}

// hotLock is a client of one resource, for which it waits.
type hotLock struct {
	nc         *nats.Conn
	owner, key string
	limit      uint32
}

func (l *hotLock) lock(ctx context.Context, _ int) error {
	return ask(ctx, l.nc, messages.OpAcquire, l.key,
		&messages.AcquireRequest{Owner: l.owner, TtlMs: 60_000, WaitMs: 60_000, Limit: l.limit},
		messages.Status_GRANTED)
}

func (l *hotLock) unlock(ctx context.Context, _ int) error {
	return ask(ctx, l.nc, messages.OpRelease, l.key,
		&messages.ReleaseRequest{Owner: l.owner}, messages.Status_RELEASED)
}

// lockAll locks for 64 clients at once, from this one on.
func lockAll(ctx context.Context, client func(int) locker, from int) error {
	return inParallel(readers, readers, func(i int) error { return client(from+i).lock(ctx, 0) })
}

// alternate locks and unlocks, one after the other.
func alternate(ctx context.Context, l locker) error {
	for range lonePairs {
		if err := l.lock(ctx, 0); err != nil {
			return err
		}
		if err := l.unlock(ctx, 0); err != nil {
			return err
		}
	}
	return nil
}

// outcome is when something ended, and how.
type outcome struct {
	at  time.Time
	err error
}

func inBackground(do func() error) <-chan outcome {
	done := make(chan outcome, 1)
	go func() {
		err := do()
		done <- outcome{at: time.Now(), err: err}
	}()
	return done
}

// handOver returns the seconds from the release of a holder until those that wait for it are granted.
func handOver(b *testing.B, holder locker, granted <-chan outcome) float64 {
	b.Helper()
	start := time.Now()
	if err := holder.unlock(b.Context(), 0); err != nil {
		b.Fatal(err)
	}
	o := <-granted
	if o.err != nil {
		b.Fatal(o.err)
	}
	return o.at.Sub(start).Seconds()
}

// awaitQueue waits until so many requests wait for the resource.
func awaitQueue(b *testing.B, nc *nats.Conn, key string, waiting uint32) {
	b.Helper()
	for deadline := time.Now().Add(queuePatience); ; {
		reply, err := exchange(b.Context(), nc, messages.OpGet, key, &messages.GetRequest{})
		if err != nil {
			b.Fatal(err)
		}
		if reply.GetWaiting() == waiting {
			return
		}
		if time.Now().After(deadline) {
			b.Fatalf("%d requests wait for %s, not %d: %v", reply.GetWaiting(), key, waiting, reply)
		}
	}
}

// elapsed returns how many seconds something takes.
func elapsed(b *testing.B, do func() error) float64 {
	b.Helper()
	start := time.Now()
	if err := do(); err != nil {
		b.Fatal(err)
	}
	return time.Since(start).Seconds()
}
