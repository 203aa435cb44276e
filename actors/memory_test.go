package actors_test

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"time"
	"weak"

	"github.com/holdfast-io/holdfast/actors"
	"github.com/holdfast-io/holdfast/actors/lease"
	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/journal"
)

// BenchmarkShardMemory is how many bytes a shard takes for each resource that is held, once its actor is
// gone, and for each request that waits.
func BenchmarkShardMemory(b *testing.B) {
	const count = 100_000
	b.Run("held", func(b *testing.B) {
		for b.Loop() {
			m := newMeasured(b)
			for i := range count {
				m.send(b, fmt.Sprintf("orders.%d", i), request(i, 0))
			}
			m.until(b, func() bool { return m.quota.Held() == count && m.hasNoActors(b) })
			m.report(b, count, "B/held")
		}
	})
	b.Run("waiting", func(b *testing.B) {
		for b.Loop() {
			m := newMeasured(b)
			for i := range count {
				m.send(b, fmt.Sprintf("orders.%d", i%100), request(i, time.Hour))
			}
			m.until(b, func() bool { return m.quota.Waiting() == count-100 })
			m.report(b, count-100, "B/waiting")
		}
	})
}

// A request that has been answered takes no memory.
func TestAnsweredRequestsAreNotKept(t *testing.T) {
	t.Parallel()
	m := newMeasured(t)
	t.Cleanup(func() { _ = m.shard.Close(context.WithoutCancel(t.Context())); m.system.Close() })
	kept := m.weaklySent(t, 10)
	m.until(t, func() bool {
		runtime.GC()
		return !slices.ContainsFunc(kept, func(r weak.Pointer[messages.AcquireRequest]) bool { return r.Value() != nil })
	})
}

// weaklySent sends requests and keeps none of them.
func (m *measured) weaklySent(tb testing.TB, n int) (sent []weak.Pointer[messages.AcquireRequest]) {
	tb.Helper()
	for i := range n {
		r := request(i, 0)
		sent = append(sent, weak.Make(r.Request))
		m.send(tb, fmt.Sprintf("orders.%d", i), r)
	}
	return sent
}

func request(i int, wait time.Duration) lease.Acquire {
	return lease.Acquire{
		From: messages.ReplyTo{Subject: fmt.Sprintf("_INBOX.01JB2Y8K3M6N.%014d", i)}, MaxWaiting: 1 << 20,
		Request: &messages.AcquireRequest{
			Owner: fmt.Sprintf("worker-%d@host", i%1000), TtlMs: 3_600_000, WaitMs: uint32(wait.Milliseconds()),
			RequestId: fmt.Sprintf("01JB2Y8K3M6N%014d", i),
		},
	}
}

// measured is a shard over a journal that keeps nothing, so that the heap holds the shard alone.
type measured struct {
	system *actors.System
	shard  *actors.Shard
	quota  *actors.Quota
	before uint64
}

func newMeasured(tb testing.TB) *measured {
	tb.Helper()
	m := &measured{before: heapAlloc(), quota: new(actors.Quota), system: actors.NewSystem(testLog(tb))}
	m.shard = m.system.StartShard(actors.ShardConfig{
		Node: "n", Journal: new(discard), Clock: actors.SystemClock(), Outbox: silence{}, Log: testLog(tb),
		Quota:  m.quota,
		Tuning: actors.Tuning{IdleAfter: 10 * time.Millisecond, MaxPending: 1 << 30, StallAfter: time.Hour},
	})
	if err := m.shard.Opened(tb.Context()); err != nil {
		tb.Fatal(err)
	}
	return m
}

func (m *measured) send(tb testing.TB, resource string, e lease.Event) {
	tb.Helper()
	if _, err := m.shard.SendAll([]actors.Request{{Resource: resource, Event: e}}); err != nil {
		tb.Fatal(err)
	}
}

func (m *measured) until(tb testing.TB, done func() bool) {
	tb.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !done() {
		select {
		case <-tick.C:
		case <-tb.Context().Done():
			tb.Fatal(tb.Context().Err())
		}
	}
}

func (m *measured) hasNoActors(b *testing.B) bool {
	b.Helper()
	c, err := m.shard.Census(b.Context())
	return err == nil && c.Actors == 0
}

func (m *measured) report(b *testing.B, count int, unit string) {
	b.Helper()
	b.ReportMetric(float64(heapAlloc()-m.before)/float64(count), unit)
	if err := m.shard.Close(b.Context()); err != nil {
		b.Fatal(err)
	}
	m.system.Close()
}

func heapAlloc() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// discard is a journal that stores nothing.
type discard struct{ last atomic.Uint64 }

// Replay implements actors.Journal.
func (d *discard) Replay(context.Context, uint64, func(uint64, *journal.Record) error) (uint64, error) {
	return d.last.Load(), nil
}

// Append implements actors.Journal.
func (d *discard) Append(context.Context, uint64, *journal.Record) error {
	d.last.Add(1)
	return nil
}

// Purge implements actors.Journal.
func (d *discard) Purge(context.Context, uint64, []string) error { return nil }

// silence is an outbox that sends nothing.
type silence struct{}

// Answer implements actors.Outbox.
func (silence) Answer(uint32, []lease.Answer) {}
