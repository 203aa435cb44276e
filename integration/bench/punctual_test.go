package bench

import (
	"fmt"
	"testing"
	"time"

	"github.com/holdfast-io/holdfast/integration/stand"
	"github.com/holdfast-io/holdfast/messages"
)

// BenchmarkPunctual says how late a node is, when it has nothing else to do: with the answer to a
// request whose wait has run out, and with handing on a resource whose lease has. An iteration is
// one of each.
func BenchmarkPunctual(b *testing.B) {
	const ttl = 150 * time.Millisecond
	s := stand.Start(b, stand.Config{})
	nc := s.Connect()
	acquire := func(resource, owner string, ttl, wait time.Duration) *messages.Reply {
		reply, err := exchange(b.Context(), nc, messages.OpAcquire, resource, &messages.AcquireRequest{
			Owner: owner, TtlMs: uint32(ttl.Milliseconds()), WaitMs: uint32(wait.Milliseconds()),
		})
		if err != nil {
			b.Fatal(err)
		}
		return reply
	}
	acquire("busy", "holder", time.Hour, 0)
	var timeouts, handovers series
	for i := 0; b.Loop(); i++ {
		start := time.Now()
		if r := acquire("busy", "waiter", ttl, ttl); r.GetStatus() != messages.Status_TIMEOUT {
			b.Fatal(r)
		}
		timeouts.add(1e3 * (time.Since(start) - ttl).Seconds())

		resource := fmt.Sprint("r", i)
		acquire(resource, "holder", ttl, 0)
		granted := time.Now() // the lease has begun a little before
		if r := acquire(resource, "waiter", ttl, time.Minute); r.GetStatus() != messages.Status_GRANTED {
			b.Fatal(r)
		}
		handovers.add(1e3 * (time.Since(granted) - ttl).Seconds())
	}
	for name, late := range map[string]series{"timeout": timeouts, "expiry": handovers} {
		b.ReportMetric(late.median(), "ms-late-"+name)
		b.ReportMetric(late.most(), "ms-late-"+name+"-max")
	}
}
