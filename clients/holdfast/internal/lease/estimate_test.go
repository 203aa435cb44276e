package lease_test

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/holdfast-io/holdfast/clients/holdfast/internal/lease"
)

// attempt is a request for more time on its way to the service, or its answer on the way back.
type attempt struct {
	id   uint64
	sent time.Time
	ttl  time.Duration
}

// While the holder considers the lease held, the service has not ended it, whichever attempts arrive, are
// lost, or overtake one another.
func TestNeverLaterThanTheService(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ttls := rapid.SampledFrom([]time.Duration{100 * time.Millisecond, time.Second, 3 * time.Second, 30 * time.Second})
		ttl := ttls.Draw(t, "ttl")
		now := time.Unix(1000, 0)
		e := lease.New(now, ttl, ttl)
		deadline := now.Add(ttl) // the service's
		var last uint64
		var under, answers []attempt
		take := func(t *rapid.T, from *[]attempt, i int) attempt {
			if len(*from) == 0 {
				t.Skip("nothing is under way")
			}
			a := (*from)[i%len(*from)]
			*from = slices.Delete(*from, i%len(*from), i%len(*from)+1)
			return a
		}
		which := rapid.IntRange(0, 7)
		t.Repeat(map[string]func(*rapid.T){
			"Send": func(t *rapid.T) {
				if rapid.Bool().Draw(t, "another TTL") {
					e.Ask(ttls.Draw(t, "ttl"))
				}
				last++
				under = append(under, attempt{id: last, sent: now, ttl: e.Asked()})
				e.Sent(last, now)
			},
			"Arrive": func(t *rapid.T) {
				a := take(t, &under, which.Draw(t, "attempt"))
				late := now.Sub(a.sent) >= a.ttl-lease.Margin(a.ttl) // Estimate assumes that it never arrives
				if !late && now.Before(deadline) {
					deadline = now.Add(a.ttl)
					answers = append(answers, a)
				}
			},
			"Answer": func(t *rapid.T) {
				a := take(t, &answers, which.Draw(t, "answer"))
				e.Granted(a.id, a.ttl)
			},
			"LoseAnswer": func(t *rapid.T) { take(t, &answers, which.Draw(t, "answer")) },
			"Drop":       func(t *rapid.T) { e.Drop(take(t, &under, which.Draw(t, "attempt")).id) },
			"Wait": func(t *rapid.T) {
				now = now.Add(time.Duration(rapid.IntRange(1, 2000).Draw(t, "ms")) * time.Millisecond)
			},
			"": func(t *rapid.T) {
				if now.Before(e.Until()) && e.Until().After(deadline) {
					t.Errorf("the holder counts until %v, the service until %v", e.Until(), deadline)
				}
			},
		})
	})
}

// A repetition that was not needed may arrive behind a request for a longer lease, and cut that short.
func TestRepetitionBehindLongerLease(t *testing.T) {
	begun := time.Unix(1000, 0)
	at := func(d time.Duration) time.Time { return begun.Add(d) }
	e := lease.New(begun, 3*time.Second, 3*time.Second)
	e.Sent(1, at(1000*time.Millisecond))
	e.Sent(2, at(1500*time.Millisecond))
	if _, settled, _ := e.Granted(2, 3*time.Second); !slices.Equal(settled, []uint64{1, 2}) || e.HasOpen(0) {
		t.Errorf("settled %v, open %v", settled, e.HasOpen(0))
	}
	e.Ask(30 * time.Second)
	e.Sent(3, at(2000*time.Millisecond))
	e.Granted(3, 30*time.Second)
	if want := at(5*time.Second - lease.Margin(3*time.Second)); !e.Until().Equal(want) {
		t.Errorf("until %v, want %v", e.Until().Sub(begun), want.Sub(begun))
	}
	e.Sent(4, at(4*time.Second)) // too late for the first
	e.Granted(4, 30*time.Second)
	if want := at(33 * time.Second); !e.Until().Equal(want) {
		t.Errorf("until %v, want %v", e.Until().Sub(begun), want.Sub(begun))
	}
}

// A shorter lease may be granted behind a longer one that was asked for later, though its answer comes first.
func TestAnswersOvertake(t *testing.T) {
	const shorter, longer = 3 * time.Second, 30 * time.Second
	begun := time.Unix(1000, 0)
	at := func(d time.Duration) time.Time { return begun.Add(d) }
	e := lease.New(begun, longer, longer)
	e.Ask(shorter)
	e.Sent(1, at(time.Second))
	e.Ask(longer)
	e.Sent(2, at(2*time.Second))
	e.Granted(1, shorter)
	e.Granted(2, longer)
	if want := at(2*time.Second + shorter - lease.Margin(shorter)); !e.Until().Equal(want) {
		t.Errorf("until %v, want %v", e.Until().Sub(begun), want.Sub(begun))
	}
	e.Sent(3, at(3*time.Second)) // behind both answers
	e.Granted(3, longer)
	if want := at(3*time.Second + longer - lease.Margin(longer)); !e.Until().Equal(want) {
		t.Errorf("until %v, want %v", e.Until().Sub(begun), want.Sub(begun))
	}
}
