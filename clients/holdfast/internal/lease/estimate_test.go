package lease_test

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/holdfast-io/holdfast/clients/holdfast/internal/lease"
	"github.com/holdfast-io/holdfast/messages"
)

// attempt is a request for more time on its way to the service, or its answer on the way back.
type attempt struct {
	id, order uint64
	sent      time.Time
	ttl       time.Duration
	// remaining is that of the answer.
	remaining time.Duration
}

// While the holder considers the lease held, the service has not ended it, whichever attempts arrive, are
// lost, or overtake one another: however late, if the service compares their order.
func TestNeverLaterThanTheService(t *testing.T) {
	for name, ordered := range map[string]bool{"Ordered": true, "Unordered": false} {
		t.Run(name, func(t *testing.T) {
			for range 40 { // what it looks for is rare
				rapid.Check(t, func(t *rapid.T) { neverLater(t, ordered) })
			}
		})
	}
}

func neverLater(t *rapid.T, ordered bool) {
	const longest = 30 * time.Second
	ttls := rapid.SampledFrom([]time.Duration{100 * time.Millisecond, time.Second, 3 * time.Second, longest})
	ttl := ttls.Draw(t, "ttl")
	now := time.Unix(1000, 0)
	e := lease.New(now, ttl, ttl)
	deadline := now.Add(ttl) // the service's
	var last, highest uint64
	if ordered {
		highest = rapid.SampledFrom([]uint64{0, 7, lease.MaxOrder - 2}).Draw(t, "order")
		e.Above(highest)
	}
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
			if e.Order() < lease.MaxOrder && rapid.Bool().Draw(t, "another TTL") {
				e.Ask(ttls.Draw(t, "ttl"))
				e.Change()
			}
			last++
			under = append(under, attempt{id: last, order: e.Order(), sent: now, ttl: e.Asked()})
			e.Sent(last, now)
		},
		"Arrive": func(t *rapid.T) {
			a := take(t, &under, which.Draw(t, "attempt"))
			late := !ordered && now.Sub(a.sent) >= a.ttl-lease.Margin(a.ttl) // Estimate assumes that it never arrives
			if late || !now.Before(deadline) {
				return
			}
			if a.order >= highest {
				highest, deadline = a.order, now.Add(a.ttl)
			}
			a.remaining, a.order = deadline.Sub(now), highest
			answers = append(answers, a)
		},
		"Answer": func(t *rapid.T) {
			a := take(t, &answers, which.Draw(t, "answer"))
			e.Granted(a.id, a.remaining, a.order)
		},
		"AnotherClient": func(*rapid.T) {
			if ordered && highest < lease.MaxOrder && now.Before(deadline) {
				highest, deadline = highest+1, now.Add(longest)
			}
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
}

// A short extension that was never answered does not end a longer lease behind it, once that was decided. An answer to
// an earlier attempt may show that, too.
func TestOrderedAttempts(t *testing.T) {
	const shorter, longer = 3 * time.Second, 30 * time.Second
	begun := time.Unix(1000, 0)
	at := func(d time.Duration) time.Time { return begun.Add(d) }
	expect := func(e *lease.Estimate, want time.Time) {
		t.Helper()
		if !e.Until().Equal(want) {
			t.Errorf("until %v, want %v", e.Until().Sub(begun), want.Sub(begun))
		}
	}
	for name, answered := range map[string]struct {
		id    uint64
		after time.Duration
	}{"TheLater": {2, 2 * time.Second}, "TheEarlier": {1, time.Second}} {
		t.Run(name, func(t *testing.T) {
			e := lease.New(begun, longer, longer)
			e.Above(0)
			e.Ask(shorter)
			e.Sent(1, at(time.Second))
			e.Ask(longer)
			e.Change()
			e.Sent(2, at(2*time.Second))
			expect(&e, at(time.Second+shorter-lease.Margin(shorter)))
			e.Granted(answered.id, longer, 2)
			expect(&e, at(answered.after+longer-lease.Margin(longer)))
			if e.IsOpenBefore(2) {
				t.Error("the short one may yet be decided")
			}
			e.Granted(3-answered.id, longer, 2) // which may be later
			expect(&e, at(2*time.Second+longer-lease.Margin(longer)))
		})
	}
}

// An order above its own is that of another client. What it says is taken over, and the next attempt is above it.
func TestOrderOfAnotherClient(t *testing.T) {
	const ttl = 30 * time.Second
	begun := time.Unix(1000, 0)
	for order, want := range map[uint64]uint64{5: 6, lease.MaxOrder: lease.MaxOrder} {
		e := lease.New(begun, ttl, ttl)
		e.Above(0)
		e.Sent(1, begun)
		e.Granted(1, time.Second, order)
		if until := begun.Add(time.Second - lease.Margin(ttl)); !e.Until().Equal(until) || e.Order() != want {
			t.Errorf("until %v with order %d, want %v and %d", e.Until(), e.Order(), until, want)
		}
	}
	if lease.MaxOrder != messages.MaxOrder {
		t.Errorf("the highest order is %d, that of the contract %d", lease.MaxOrder, messages.MaxOrder)
	}
}

// A lease of a day has room for a clock that goes wrong by a thousandth.
func TestMargin(t *testing.T) {
	for ttl, want := range map[time.Duration]time.Duration{
		100 * time.Millisecond: 15 * time.Millisecond,
		4 * time.Second:        500 * time.Millisecond,
		30 * time.Second:       time.Second,
		24 * time.Hour:         86400 * time.Millisecond,
	} {
		if got := lease.Margin(ttl); got != want {
			t.Errorf("of %v: %v, want %v", ttl, got, want)
		}
	}
	e := lease.New(time.Unix(1000, 0), 24*time.Hour, time.Second)
	if want := time.Unix(1000, 0).Add(24*time.Hour - lease.Margin(24*time.Hour)); !e.Until().Equal(want) {
		t.Errorf("a reentrant grant counts until %v, want %v", e.Until(), want)
	}
}

// A repetition that was not needed may arrive behind a request for a longer lease, and cut that short.
func TestRepetitionBehindLongerLease(t *testing.T) {
	begun := time.Unix(1000, 0)
	at := func(d time.Duration) time.Time { return begun.Add(d) }
	e := lease.New(begun, 3*time.Second, 3*time.Second)
	e.Sent(1, at(1000*time.Millisecond))
	e.Sent(2, at(1500*time.Millisecond))
	if _, settled, _ := e.Granted(2, 3*time.Second, 0); !slices.Equal(settled, []uint64{1, 2}) || e.HasOpen(0) {
		t.Errorf("settled %v, open %v", settled, e.HasOpen(0))
	}
	e.Ask(30 * time.Second)
	e.Sent(3, at(2000*time.Millisecond))
	e.Granted(3, 30*time.Second, 0)
	if want := at(5*time.Second - lease.Margin(3*time.Second)); !e.Until().Equal(want) {
		t.Errorf("until %v, want %v", e.Until().Sub(begun), want.Sub(begun))
	}
	e.Sent(4, at(4*time.Second)) // too late for the first
	e.Granted(4, 30*time.Second, 0)
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
	e.Granted(1, shorter, 0)
	e.Granted(2, longer, 0)
	if want := at(2*time.Second + shorter - lease.Margin(shorter)); !e.Until().Equal(want) {
		t.Errorf("until %v, want %v", e.Until().Sub(begun), want.Sub(begun))
	}
	e.Sent(3, at(3*time.Second)) // behind both answers
	e.Granted(3, longer, 0)
	if want := at(3*time.Second + longer - lease.Margin(longer)); !e.Until().Equal(want) {
		t.Errorf("until %v, want %v", e.Until().Sub(begun), want.Sub(begun))
	}
}
