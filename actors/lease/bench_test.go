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
	for _, waiting := range []int{64, 1_000, 10_000} {
		b.Run(fmt.Sprintf("handover/waiting=%d", waiting), func(b *testing.B) { benchmarkHandOver(b, waiting) })
	}
}

// BenchmarkShared is one lock and unlock beside others: of a reader among readers, and of a semaphore's permit that
// goes from owner to owner.
func BenchmarkShared(b *testing.B) {
	for _, holding := range []int{0, 64, 999} {
		b.Run(fmt.Sprintf("readers/holding=%d", holding), func(b *testing.B) {
			s, now := newState(lease.Image{}), timeAt(0)
			for i := range holding {
				acquire, _ := lockAndUnlock(i + 1)
				s.Step(now, withKind(acquire, kind{limit: all}))
			}
			acquire, release := lockAndUnlock(0)
			acquire = withKind(acquire, kind{limit: all})
			b.ReportAllocs()
			for n := 0; b.Loop(); n++ {
				now.Instant++
				s.Step(now, renamed(acquire, n))
				s.Step(now, release)
			}
			image := s.Image()
			if image.Holders() != holding || s.Waiting() > 0 {
				b.Fatalf("%d hold and %d wait", image.Holders(), s.Waiting())
			}
		})
	}
	b.Run("semaphore/limit=8/waiting=64", func(b *testing.B) {
		s, now := newState(lease.Image{}), timeAt(0)
		acquires, releases := make([]lease.Event, 72), make([]lease.Event, 72)
		for i := range acquires {
			acquires[i], releases[i] = lockAndUnlock(i)
			s.Step(now, withKind(acquires[i], kind{limit: 8}))
		}
		b.ReportAllocs()
		for n := 0; b.Loop(); n++ {
			i := n % len(acquires)
			now.Instant++
			s.Step(now, releases[i])
			s.Step(now, renamed(acquires[i], n))
		}
		if image := s.Image(); image.Permits() != 8 || s.Waiting() != 64 {
			b.Fatalf("%d permits are held and %d wait", image.Permits(), s.Waiting())
		}
	})
	b.Run("readers=64/writer", benchmarkReadersAndWriter)
}

// benchmarkReadersAndWriter is one hand-over from 64 readers to a writer and back: 130 steps.
func benchmarkReadersAndWriter(b *testing.B) {
	s, now := newState(lease.Image{}), timeAt(0)
	const readers = 64
	acquires, releases := make([]lease.Event, readers), make([]lease.Event, readers)
	for i := range acquires {
		acquires[i], releases[i] = lockAndUnlock(i + 1)
		s.Step(now, withKind(acquires[i], kind{limit: all}))
	}
	write, unlock := lockAndUnlock(0)
	b.ReportAllocs()
	for n := 0; b.Loop(); n++ {
		now.Instant++
		s.Step(now, renamed(write, n))
		for i := range acquires {
			s.Step(now, releases[i])
			s.Step(now, renamed(acquires[i], n))
		}
		s.Step(now, unlock)
	}
	if image := s.Image(); image.Holders() != readers || s.Waiting() > 0 {
		b.Fatalf("%d hold and %d wait", image.Holders(), s.Waiting())
	}
}

// withKind is the acquire for a lease of this kind.
func withKind(acquire lease.Event, wanted kind) lease.Event {
	r := acquire.(lease.Acquire).Request
	r.Limit, r.Permits = wanted.limit, wanted.permits
	return acquire
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
