package lease_test

import (
	"fmt"
	"strconv"
	"testing"

	"github.com/holdfast-io/holdfast/actors/lease"
	"github.com/holdfast-io/holdfast/messages"
)

// BenchmarkStep is one lock and unlock: of a resource without a queue, and of one that goes
// from owner to owner, each of which asks for it again after its release.
func BenchmarkStep(b *testing.B) {
	b.Run("acquire+release", func(b *testing.B) {
		s := newState(lease.Image{})
		acquire, release := lockAndUnlock(0)
		now := timeAt(0)
		b.ReportAllocs()
		for n := 0; b.Loop(); n++ {
			now.Instant++
			s.Step(now, renamed(acquire, n))
			s.Step(now, release)
		}
	})
	for _, waiting := range []int{64, 10_000} {
		b.Run(fmt.Sprintf("handover/waiting=%d", waiting), func(b *testing.B) { benchmarkHandOver(b, waiting) })
	}
}

func benchmarkHandOver(b *testing.B, waiting int) {
	b.Helper()
	s := newState(lease.Image{})
	now := timeAt(0)
	acquires, releases := make([]lease.Event, waiting+1), make([]lease.Event, waiting+1)
	for i := range acquires {
		acquires[i], releases[i] = lockAndUnlock(i)
		s.Step(now, acquires[i])
	}
	b.ReportAllocs()
	for n := 0; b.Loop(); n++ {
		i := n % len(acquires)
		now.Instant++
		s.Step(now, releases[i])
		s.Step(now, renamed(acquires[i], n))
	}
	if s.Waiting() != waiting {
		b.Fatalf("%d wait, not %d", s.Waiting(), waiting)
	}
}

// renamed is the acquire as a new request: the old one has ended.
func renamed(acquire lease.Event, n int) lease.Event {
	acquire.(lease.Acquire).Request.RequestId = "01JB2Y8K3M6N" + strconv.Itoa(n)
	return acquire
}

// lockAndUnlock are the requests of client number i, whose wait does not end.
func lockAndUnlock(i int) (acquire, release lease.Event) {
	owner, id := fmt.Sprintf("host-7/%05d", i), fmt.Sprintf("01JB2Y8K3M6N%014d", i)
	from := messages.ReplyTo{Subject: "_INBOX." + id}
	return lease.Acquire{From: from, MaxWaiting: 1 << 20, Request: &messages.AcquireRequest{
			Owner: owner, TtlMs: 30_000, WaitMs: messages.MaxWaitMillis, RequestId: id,
		}},
		lease.Release{From: from, Request: &messages.ReleaseRequest{Owner: owner}}
}
