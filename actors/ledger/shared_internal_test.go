package ledger

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/holdfast-io/holdfast/actors/lease"
	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/journal"
)

// keeper is a scribe whose changes are decided by the real state machines of the resources.
type keeper struct {
	*scribe
	states map[string]*lease.State
	past   *lease.EndedRequests
	clock  lease.Instant
	asked  int
}

func newKeeper(t rapidOrT) *keeper {
	k := &keeper{scribe: newScribe(t)}
	k.inUse = func(resource string) bool { return k.states[resource] != nil }
	k.begin()
	return k
}

// begin begins a term with the ledger that has been read.
func (k *keeper) begin() {
	k.states, k.past = map[string]*lease.State{}, lease.NewEndedRequests()
	k.ledger.Restart(lease.Time{Instant: k.clock, UnixMillis: k.now}, func(resource string, held *lease.Image) {
		image := k.ledger.Image(resource)
		if held.Soonest() != image.Soonest() || image.IsFree() {
			k.Fatalf("%s is woken at %d, its first lease ends at %d", resource, held.Soonest(), image.Soonest())
		}
		for l := range image.Ended() {
			if want := k.backUntil(l); l.Deadline != want {
				k.Fatalf("an ended lease holds %s back until %d, want its whole time from now: %d", resource, l.Deadline,
					want)
			}
		}
		for h := range image.Holdings() {
			if want := k.clock.Add(time.Duration(h.Grant.GetTtlMs()) * time.Millisecond); h.Deadline != want {
				k.Fatalf("a lease of %s ends at %d, want its whole time from now: %d", resource, h.Deadline, want)
			}
			if want := k.restUntil(h.Grant.GetMinHoldMs()); h.Rest != want {
				k.Fatalf("the shortest hold of %s ends at %d, want all of it from now: %d", resource, h.Rest, want)
			}
		}
	})
}

// backUntil is when a lease that has ended no longer holds its resource back, if its delay and what is left of its
// shortest hold begin now.
func (k *keeper) backUntil(l lease.Lease) lease.Instant {
	switch isLoss := l.How == messages.Event_EXPIRED || l.How == messages.Event_BROKEN; {
	case !isLoss || !l.Grant.HoldsBack():
		return k.restUntil(l.RestMs)
	case l.Grant.GetDelayMs() == 0:
		return lease.Never
	}
	return k.restUntil(max(l.RestMs, l.Grant.GetDelayMs()))
}

// restUntil is when so many milliseconds are over that begin now; 0: none.
func (k *keeper) restUntil(ms uint32) lease.Instant {
	if ms == 0 {
		return 0
	}
	return k.clock.Add(time.Duration(ms) * time.Millisecond)
}

// takeOver begins a term with what the journal has.
func (k *keeper) takeOver() {
	k.Helper()
	k.scribe.takeOver()
	k.begin()
}

// state returns the state of a resource, as an activation has it.
func (k *keeper) state(resource string) *lease.State {
	if k.states[resource] == nil {
		k.states[resource] = lease.New(resource, k.ledger.Image(resource), k.past, lease.NewSessions(1))
	}
	return k.states[resource]
}

// passivate drops the states that a shard would drop.
func (k *keeper) passivate() {
	for resource, s := range k.states {
		if s.Waiting() == 0 && len(s.Ephemeral()) == 0 {
			delete(k.states, resource)
		}
	}
}

// step lets a resource decide, and commits what it has decided.
func (k *keeper) step(resource string, e lease.Event) {
	k.Helper()
	s := k.state(resource)
	o := s.Step(lease.Time{Instant: k.clock, UnixMillis: k.now}, e)
	if len(o.Changes) > 0 {
		k.commitAt(k.clock, o.Changes)
	}
	k.ledger.SetEphemeral(resource, s.Ephemeral())
	k.check(resource, s.Image())
}

// check compares what the ledger has of a resource with what has been decided.
func (k *keeper) check(resource string, decided lease.Image) {
	k.Helper()
	var want []string
	for h := range decided.Holdings() {
		k.issued[resource] = max(k.issued[resource], uint64(h.Grant.Last()))
		if h.Grant.GetDurability() != messages.Durability_EPHEMERAL {
			want = append(want, fmt.Sprint(h.Deadline, h.Rest, inWords(h.Grant)))
		}
	}
	var got []string
	image := k.ledger.Image(resource)
	for h := range image.Holdings() {
		got = append(got, fmt.Sprint(h.Deadline, h.Rest, inWords(h.Grant)))
	}
	for l := range decided.Ended() {
		want = append(want, fmt.Sprint("lost", l.How, l.Deadline, l.Rest, l.RestMs, inWords(l.Grant)))
	}
	for l := range image.Ended() {
		got = append(got, fmt.Sprint("lost", l.How, l.Deadline, l.Rest, l.RestMs, inWords(l.Grant)))
	}
	if !slices.Equal(got, want) {
		k.Fatalf("the ledger has of %s\n%q\ndecided was\n%q", resource, got, want)
	}
	if token := uint64(image.Token()); token < k.issued[resource] {
		k.Fatalf("%s has had token %d, the ledger knows of %d", resource, k.issued[resource], token)
	}
}

// acquire asks for a shared lease of a minute.
func (k *keeper) acquire(limit, permits uint32, set ...func(*messages.AcquireRequest)) lease.Acquire {
	k.asked++
	r := &messages.AcquireRequest{
		Owner: fmt.Sprint("o", k.asked%5), TtlMs: 60_000, RequestId: fmt.Sprint(k.asked), Limit: limit,
		Permits: permits,
	}
	for _, f := range set {
		f(r)
	}
	return lease.Acquire{Request: r, MaxWaiting: 10}
}

func ephemeral(r *messages.AcquireRequest) { r.Durability = messages.Durability_EPHEMERAL }

func delayed(r *messages.AcquireRequest) { r.DelayMs = 600_000 }

func confirmed(r *messages.AcquireRequest) { r.Confirm = true }

// Whatever is held by several, in memory or not: the ledger has what was decided, and after a change of owner all of it
// that was recorded.
func TestSharedReplayEqualsLive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k := newKeeper(t)
		k.limit = rapid.SampledFrom([]int{1, 4, 1000}).Draw(t, "limit")
		names := rapid.SampledFrom([]string{"a", "b", "c"})
		padding := strings.Repeat("x", rapid.SampledFrom([]int{0, 0, pageWeight / 4}).Draw(t, "padding"))
		t.Repeat(map[string]func(*rapid.T){
			"acquire": func(t *rapid.T) {
				limit := rapid.SampledFrom([]uint32{0, 1, 2, 9, 9, 9, math.MaxUint32}).Draw(t, "limit")
				r := k.acquire(limit, rapid.Uint32Range(0, min(max(limit, 1), 3)).Draw(t, "permits"),
					func(r *messages.AcquireRequest) {
						r.Owner += padding
						r.WaitMs = rapid.SampledFrom([]uint32{0, 30_000}).Draw(t, "wait")
						r.Reentrant = rapid.Bool().Draw(t, "reentrant")
						if limit < 2 && !r.GetReentrant() {
							r.Tokens = rapid.SampledFrom([]uint32{0, 3, 2000}).Draw(t, "tokens")
						}
						if rapid.Bool().Draw(t, "ephemeral") {
							ephemeral(r)
							return
						}
						r.DelayMs = rapid.SampledFrom([]uint32{0, 0, 0, 30_000}).Draw(t, "delay")
						r.Confirm = rapid.SampledFrom([]bool{false, false, false, true}).Draw(t, "confirm")
						if limit < 2 {
							r.MinHoldMs = rapid.SampledFrom([]uint32{0, 0, 20_000, 70_000}).Draw(t, "hold")
						}
					})
				k.step(names.Draw(t, "resource"), r)
			},
			"readers": func(t *rapid.T) {
				resource := names.Draw(t, "resource")
				for range rapid.IntRange(2, 5).Draw(t, "n") {
					k.step(resource, k.acquire(9, 1))
				}
			},
			"release": func(t *rapid.T) {
				k.onHeld(t, names, func(g *journal.Grant) lease.Event {
					return lease.Release{Request: &messages.ReleaseRequest{Owner: g.GetOwner(), Token: g.GetToken()}}
				})
			},
			"extend": func(t *rapid.T) {
				k.onHeld(t, names, func(g *journal.Grant) lease.Event {
					limit := rapid.SampledFrom([]uint32{0, 9, math.MaxUint32}).Draw(t, "limit")
					return lease.Extend{Request: &messages.ExtendRequest{Owner: g.GetOwner(), Token: g.GetToken(),
						TtlMs: 90_000, Limit: limit}}
				})
			},
			"grow": func(t *rapid.T) {
				k.onHeld(t, names, func(g *journal.Grant) lease.Event {
					return lease.Extend{Request: &messages.ExtendRequest{Owner: g.GetOwner(), Token: g.GetToken(),
						TtlMs: 90_000, Tokens: g.GetTokens() + rapid.SampledFrom([]uint32{2, 1500}).Draw(t, "more"),
						Order: rapid.Uint64Range(0, 2).Draw(t, "order")}}
				})
			},
			"break": func(t *rapid.T) {
				k.onHeld(t, names, func(g *journal.Grant) lease.Event {
					return lease.Break{Request: &messages.BreakRequest{Token: g.GetToken(), Reason: "stuck"}}
				})
			},
			"confirm": func(t *rapid.T) {
				resource := names.Draw(t, "resource")
				image := k.state(resource).Image()
				if lost := slices.Collect(image.Ended()); len(lost) > 0 {
					l := rapid.SampledFrom(lost).Draw(t, "loss")
					k.step(resource, lease.Confirm{Request: &messages.ConfirmRequest{Token: l.Grant.GetToken()}})
				}
			},
			"time": func(t *rapid.T) {
				ms := rapid.SampledFrom([]int64{1, remember / 2, 30_000, 90_000}).Draw(t, "ms")
				k.now += ms
				k.clock = k.clock.Add(lease.Instant(ms * 1e6).Sub(0))
				for _, resource := range []string{"a", "b", "c"} {
					if k.state(resource).Wake() <= k.clock {
						k.step(resource, lease.Tick{})
					}
				}
			},
			"passivate": func(*rapid.T) { k.passivate() },
			"shrink":    func(*rapid.T) { k.shrink() },
			"page":      func(t *rapid.T) { k.page(rapid.Uint64().Draw(t, "from")) },
			"compact":   func(t *rapid.T) { k.compact(rapid.SampledFrom([]uint64{0, 1, 100}).Draw(t, "keep")) },
			"some commits": func(*rapid.T) { // so that the journal can be cut between those with leases
				for range markEvery {
					k.commit()
				}
			},
			"take over": func(*rapid.T) { k.takeOver() },
			"": func(t *rapid.T) {
				live := k.ledger
				k.checkCounts()
				k.takeOver()
				if got, want := state(k.ledger), state(live); got != want {
					t.Fatalf("replay:\n%slive:\n%s", got, want)
				}
				k.checkCounts()
				for resource, token := range k.issued {
					if image := k.ledger.Image(resource); uint64(image.Token()) < token {
						t.Fatalf("%s has had token %d, the next owner knows of %d", resource, token, image.Token())
					}
				}
			},
		})
	})
}

// onHeld does something with one of the leases of a resource, if there is one.
func (k *keeper) onHeld(t *rapid.T, names *rapid.Generator[string], event func(*journal.Grant) lease.Event) {
	resource := names.Draw(t, "resource")
	image := k.state(resource).Image()
	var held []*journal.Grant
	for h := range image.Holdings() {
		held = append(held, h.Grant)
	}
	if len(held) > 0 {
		k.step(resource, event(rapid.SampledFrom(held).Draw(t, "lease")))
	}
}
