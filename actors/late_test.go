package actors_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-io/holdfast/actors"
	"github.com/holdfast-io/holdfast/actors/lease"
	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/journal"
)

// byID is an acquire with a request id.
func byID(owner, id string) lease.Acquire {
	a := acquire(owner, time.Minute)
	a.Request.RequestId = id
	return a
}

// endGrants leaves n grants behind that were released, by the ids x1, x2 and so on.
func (w *world) endGrants(resource string, n int) {
	w.Helper()
	for i := 1; i <= n; i++ {
		w.want(messages.Status_GRANTED, uint64(i), resource, byID("a", fmt.Sprint("x", i)))
		w.want(messages.Status_RELEASED, 0, resource, release("a"))
	}
}

// wantLate checks that late copies of the grants are answered how these have ended, and take nothing.
func (w *world) wantLate(resource string, tokens ...uint64) {
	w.Helper()
	for _, token := range tokens {
		w.want(messages.Status_RELEASED, token, resource, byID("a", fmt.Sprint("x", token)))
	}
	if r := w.ask(resource, get()); r.GetStatus() == messages.Status_HELD {
		w.Errorf("a late copy holds %s: %v", resource, r)
	}
}

func TestLateCopyTakesNothing(t *testing.T) {
	inWorld(t, actors.Tuning{}, func(w *world) {
		w.endGrants("r", 20)
		w.wantLate("r", 1, 4, 5, 19, 20)
		w.want(messages.Status_GRANTED, 21, "r", byID("b", "x1"))
		w.want(messages.Status_RELEASED, 1, "r", byID("a", "x1"))
	})
}

// A resource that has lost its actor has not lost its memory.
func TestLateCopyAfterPassivation(t *testing.T) {
	inWorld(t, actors.Tuning{IdleAfter: time.Second}, func(w *world) {
		w.endGrants("r", 3)
		w.want(messages.Status_NOT_HELD, 0, "r", lease.Release{
			Request: &messages.ReleaseRequest{Owner: "a", RequestId: "gone"}})
		w.pass(30 * time.Second)
		if n := w.actors(); n != 0 {
			w.Fatalf("%d resources have an actor: the test is vacuous", n)
		}
		w.wantLate("r", 1, 2, 3)
		w.want(messages.Status_CANCELLED, 0, "r", byID("a", "gone"))
	})
}

// The next owner of the shard knows the last grant, from the commits as from a page.
func TestLateCopyAfterAChangeOfOwner(t *testing.T) {
	for _, compact := range []int{0, 1} {
		inWorld(t, actors.Tuning{CompactCommits: compact, History: 1}, func(w *world) {
			w.endGrants("free", 3)
			short := byID("a", "x")
			short.Request.TtlMs = 1000
			w.want(messages.Status_GRANTED, 1, "expired", short)
			w.want(messages.Status_GRANTED, 1, "held", short)
			w.pass(time.Second)
			w.want(messages.Status_GRANTED, 2, "held", byID("a", "y"))
			w.reopen()
			w.wantLate("free", 3)
			w.want(messages.Status_EXPIRED, 1, "expired", byID("a", "x"))
			w.want(messages.Status_GRANTED, 2, "held", byID("a", "y"))
			w.want(messages.Status_RELEASED, 0, "held", release("a"))
			w.want(messages.Status_RELEASED, 2, "held", byID("a", "y"))
		})
	}
}

// Wall clocks differ from node to node, and jump: neither makes a record older than it is.
func TestLateCopyAfterAChangeOfOwnerWithAnotherClock(t *testing.T) {
	for _, compact := range []int{0, 1} {
		for _, ahead := range []time.Duration{-1000 * time.Hour, 61 * time.Second, 1000 * time.Hour} {
			inWorld(t, actors.Tuning{CompactCommits: compact, History: 1}, func(w *world) {
				w.endGrants("before", 3)
				w.clock.ahead.Add(ahead.Milliseconds())
				w.endGrants("after", 2)
				w.pass(30 * time.Second) // some passes of the sweeper
				w.endGrants("young", 1)
				w.clock.ahead.Add(ahead.Milliseconds())
				w.reopen()
				w.wantLate("before", 3)
				w.wantLate("after", 2)
				w.wantLate("young", 1)
				w.pass(30 * time.Second)
				w.reopen()
				w.wantLate("young", 1)
			})
		}
	}
}

// What was never stored is not remembered: who was answered UNAVAILABLE may ask again by the same id.
func TestLostAppendIsNotRemembered(t *testing.T) {
	inWorld(t, actors.Tuning{}, func(w *world) {
		w.endGrants("r", 1)
		letGo := w.hold()
		inboxes := []string{w.send("r", byID("a", "y")), w.send("r", release("a"))}
		synctest.Wait()
		letGo(journal.ErrConflict)
		for _, inbox := range inboxes {
			w.check(w.answer(inbox), messages.Status_UNAVAILABLE, 0)
		}
		w.pass(2 * time.Second)
		w.want(messages.Status_GRANTED, 2, "r", byID("a", "y"))
		w.want(messages.Status_RELEASED, 0, "r", release("a"))
		w.want(messages.Status_RELEASED, 2, "r", byID("a", "y"))
	})
}

func TestLateCopyAfterAPanic(t *testing.T) {
	inWorld(t, actors.Tuning{}, func(w *world) {
		w.endGrants("r", 3)
		w.want(messages.Status_GRANTED, 4, "r", byID("a", "held"))
		e := ephemeral(time.Minute)
		e.Request.RequestId = "x"
		w.want(messages.Status_GRANTED, 1, "e", e)
		for _, resource := range []string{"r", "e"} {
			w.clock.panicAfter(0)
			if r := w.ask(resource, get()); r != nil {
				w.Fatalf("got %v of a panic", r)
			}
		}
		w.want(messages.Status_GRANTED, 4, "r", byID("a", "held"))
		w.want(messages.Status_RELEASED, 1, "r", byID("a", "x1"))
		w.want(messages.Status_EXPIRED, 1, "e", e)
	})
}

func TestLateCopyOfAnEphemeralLease(t *testing.T) {
	inWorld(t, actors.Tuning{IdleAfter: time.Second}, func(w *world) {
		e := ephemeral(time.Minute)
		e.Request.RequestId = "x"
		w.want(messages.Status_GRANTED, 1, "r", e)
		w.want(messages.Status_RELEASED, 0, "r", release("a"))
		w.pass(10 * time.Second)
		w.want(messages.Status_RELEASED, 1, "r", e)
	})
}

// What is said of a resource whose last lease was ephemeral, and has ended, is proved: another owner may
// have granted it since.
func TestDeposedOwnerOfAnEphemeralLeaseThatEnded(t *testing.T) {
	for _, e := range []lease.Event{get(), release("a"), extend("a", time.Minute), byID("b", "x")} {
		inWorld(t, actors.Tuning{}, func(w *world) {
			w.want(messages.Status_GRANTED, 1, "r", ephemeral(time.Second))
			w.pass(time.Second)
			before := w.journal.Appends()
			if r := w.ask("r", e); r == nil {
				w.Fatal("no answer")
			}
			if n := w.journal.Appends() - before; n != 1 {
				w.Errorf("%T: %d appends, want one that proves it", e, n)
			}
		})
	}
}
