package bench

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/clients/holdfast"
	"github.com/holdfast-io/holdfast/integration/stand"
	"github.com/holdfast-io/holdfast/messages"
)

// BenchmarkClientPair compares Acquire and Release of the Go client with the two bare requests, whose
// payloads are ready, in turns. An iteration is one of each.
func BenchmarkClientPair(b *testing.B) {
	for name, opts := range map[string][]holdfast.AcquireOption{"persistent": nil, "ephemeral": {holdfast.Ephemeral()}} {
		b.Run(name, func(b *testing.B) {
			s := stand.Start(b, stand.Config{})
			client, bare := newClient(b, s.Connect()), newBarePair(b, s, name == "ephemeral")
			var ours, theirs series
			for i := 0; b.Loop(); i++ {
				start := time.Now()
				l, err := client.Acquire(b.Context(), name, opts...)
				if err == nil {
					err = l.Release(b.Context())
				}
				ours.add(time.Since(start).Seconds())
				if err != nil {
					b.Fatal(err)
				}
				start = time.Now()
				bare.run(b)
				theirs.add(time.Since(start).Seconds())
			}
			b.ReportMetric(1e6*ours.median(), "µs/client")
			b.ReportMetric(1e6*theirs.median(), "µs/bare")
			b.ReportMetric(ours.median()/theirs.median(), "x-bare")
		})
	}
}

func newClient(b *testing.B, nc *nats.Conn, opts ...holdfast.Option) *holdfast.Client {
	b.Helper()
	c, err := holdfast.New(nc, opts...)
	if err != nil {
		b.Fatal(err)
	}
	return c
}

// barePair is what a lock and its release take at least.
type barePair struct {
	nc       *nats.Conn
	subjects [2]string
	payloads [2][]byte
	statuses [2]messages.Status
}

func newBarePair(b *testing.B, s *stand.Stand, ephemeral bool) *barePair {
	b.Helper()
	const key = "bare"
	shard := messages.ShardOf(key, s.Deployment.Shards())
	p := &barePair{nc: s.Connect(), statuses: [2]messages.Status{messages.Status_GRANTED, messages.Status_RELEASED}}
	acquire := &messages.AcquireRequest{Owner: "bare:12345:0123456789012345678901", TtlMs: 30_000, WaitMs: 60_000}
	if ephemeral {
		acquire.Durability = messages.Durability_EPHEMERAL
	}
	var err [2]error
	p.subjects[0] = messages.DefaultPrefix.Direct(shard, messages.OpAcquire, key)
	p.payloads[0], err[0] = messages.Encode(messages.Protobuf, acquire)
	p.subjects[1] = messages.DefaultPrefix.Direct(shard, messages.OpRelease, key)
	p.payloads[1], err[1] = messages.Encode(messages.Protobuf, &messages.ReleaseRequest{Owner: acquire.GetOwner()})
	if err != [2]error{} {
		b.Fatal(err)
	}
	return p
}

func (p *barePair) run(b *testing.B) {
	b.Helper()
	for i, subject := range p.subjects {
		m, err := p.nc.Request(subject, p.payloads[i], time.Minute)
		if err != nil {
			b.Fatal(err)
		}
		var r messages.Reply
		if err := messages.DecodeReply(messages.Protobuf, m.Data, &r); err != nil || r.GetStatus() != p.statuses[i] {
			b.Fatal(&r, err)
		}
	}
}

// kept is how many locks one client holds, watchFor how long it is watched.
const (
	kept     = 100_000
	watchFor = 30 * time.Second
)

// BenchmarkClientRenewals says what it takes this process to hold many locks of the default TTL, whose
// service is another process, and what a lock takes of the heap. Run it with -benchtime=1x.
func BenchmarkClientRenewals(b *testing.B) {
	nc, err := nats.Connect(stand.StartAlone(b).URL)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(nc.Close)
	for b.Loop() {
		var inDanger atomic.Int64
		c := newClient(b, nc, holdfast.OnJeopardy(func(_ *holdfast.Lock, err error) {
			if err != nil {
				inDanger.Add(1)
			}
		}))
		before := heap()
		locks := keep(b, c)
		b.ReportMetric(float64(heap()-before)/kept, "B/lock")
		<-time.After(watchFor)
		used, renewed, since := cpu(b), nc.Stats().OutMsgs, time.Now()
		<-time.After(watchFor)
		took := time.Since(since).Seconds()
		b.ReportMetric(100*(cpu(b)-used).Seconds()/took, "%core")
		b.ReportMetric(float64(nc.Stats().OutMsgs-renewed)/took, "renewals/s")
		b.ReportMetric(float64(inDanger.Load()), "in-danger")
		for _, l := range locks {
			if !l.Valid() {
				b.Fatalf("%v: %v", l, context.Cause(l.Context()))
			}
		}
		if err := c.Close(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}

// keep takes all locks.
func keep(b *testing.B, c *holdfast.Client) []*holdfast.Lock {
	b.Helper()
	locks := make([]*holdfast.Lock, kept)
	inParallel(b, kept, func(i int) (err error) {
		locks[i], err = c.Acquire(b.Context(), name(i))
		return err
	})
	return locks
}

// inParallel calls f for every number below n, many at once.
func inParallel(b *testing.B, n int, f func(i int) error) {
	b.Helper()
	var next atomic.Int64
	var failure atomic.Pointer[error]
	var group sync.WaitGroup
	for range clients {
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
		b.Fatal(*err)
	}
}

// heap returns how many bytes are in use, after a collection.
func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// cpu returns how much processor time this process has used.
func cpu(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
