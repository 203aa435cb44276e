package lease_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/holdfast-io/holdfast/clients/holdfast/internal/lease"
)

// A lease whose attempts are lost twice in a row is kept, and each is due behind the last one and before
// the lease is over. An undisturbed lease is renewed after a third of its TTL, and not much earlier.
func TestRenewalKeepsTheLease(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ttl := time.Duration(rapid.IntRange(100, 86_400_000).Draw(t, "ttl")) * time.Millisecond
		origin := time.Unix(1000, 0)
		now := origin.Add(time.Duration(rapid.IntRange(0, 1000).Draw(t, "begins")) * time.Millisecond)
		r := lease.NewRenewal(lease.New(now, ttl, ttl), now, origin)
		for id := uint64(1); id < 100; id++ {
			if rests := r.Due().Sub(now); r.Attempts() == 0 && (rests > ttl/3 || rests < ttl/3*15/16-ttl/128) {
				t.Fatalf("renewed after %v of %v", rests, ttl)
			}
			if r.Due().Before(now) || !r.Due().Before(r.Until()) {
				t.Fatalf("due %v from now, lost %v from now", r.Due().Sub(now), r.Until().Sub(now))
			}
			now = r.Due()
			r.Sent(id, now, nil)
			if r.Attempts() > 2 || rapid.Bool().Draw(t, "answered") {
				r.Granted(id, ttl, 0)
			}
		}
	})
}

// A caller that waits for an answer is served sooner, and never later.
func TestHastenedRenewal(t *testing.T) {
	now := time.Unix(1000, 0)
	at := func(d time.Duration) time.Time { return now.Add(d) }
	pause := func(n int) time.Duration { return time.Duration(n+1) * time.Second }
	r := lease.NewRenewal(lease.New(now, time.Hour, time.Hour), now, now)
	for id, want := range []time.Time{at(time.Second), at(2 * time.Second), at(2 * time.Second)} {
		r.Sent(uint64(id+1), now, pause)
		if !r.Due().Equal(want) {
			t.Errorf("attempt %d: the next is due at %v, want %v", id, r.Due(), want)
		}
	}
	for n, want := range []time.Duration{time.Second, time.Second} {
		r.Hasten(now, pause)
		if !r.Due().Equal(at(want)) {
			t.Errorf("hastened %d times: due at %v, want %v", n+1, r.Due(), at(want))
		}
	}
	r.Granted(3, time.Hour, 0)
	if r.Due().Before(at(10*time.Minute)) || r.Attempts() != 0 {
		t.Errorf("due at %v after a grant, and %d attempts", r.Due(), r.Attempts())
	}
}
