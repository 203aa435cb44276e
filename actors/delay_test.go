package actors_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-io/holdfast/actors"
	"github.com/holdfast-io/holdfast/actors/lease"
	"github.com/holdfast-io/holdfast/messages"
)

// delayed is an acquire by a of a lease of a second that holds its resource back if it is lost.
func delayed(delay time.Duration) lease.Acquire {
	a := acquire("a", time.Second)
	a.Request.DelayMs = uint32(delay.Milliseconds())
	return a
}

// confirmed is the same of a lease whose loss has to be confirmed.
func confirmed() lease.Acquire {
	a := acquire("a", time.Second)
	a.Request.Confirm = true
	return a
}

// resting is the same of a lease with a shortest hold.
func resting(hold time.Duration) lease.Acquire {
	a := acquire("a", time.Second)
	a.Request.MinHoldMs = uint32(hold.Milliseconds())
	return a
}

func confirm(token uint64) lease.Confirm {
	return lease.Confirm{Request: &messages.ConfirmRequest{Token: token, By: "agent", How: "killed"}}
}

func breakIt(token uint64) lease.Break {
	return lease.Break{Request: &messages.BreakRequest{Token: token}}
}

// wantLeft checks that a resource is held back for this time; 0: until the loss is confirmed.
func (w *world) wantLeft(resource string, left time.Duration) {
	w.Helper()
	r := w.ask(resource, get())
	w.check(r, messages.Status_HELD_BACK, 1)
	if got := time.Duration(r.GetLeftMs()) * time.Millisecond; got != left {
		w.Errorf("held back for %v, want %v", got, left)
	}
}

// What waits is granted in the commit that ends the hold, by the clock or by a confirmation.
func TestHoldEndsInOneAppend(t *testing.T) {
	for name, test := range map[string]struct {
		lost lease.Acquire
		ends func(w *world)
	}{
		"the delay is over":         {delayed(time.Second), func(w *world) { w.pass(1) }},
		"the shortest hold is over": {resting(2 * time.Second), func(w *world) { w.pass(1) }},
		"it is confirmed": {confirmed(), func(w *world) {
			w.want(messages.Status_RELEASED, 0, "r", confirm(1))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, actors.Tuning{}, func(w *world) {
				w.want(messages.Status_GRANTED, 1, "r", test.lost)
				inbox := w.send("r", waiting(time.Minute, time.Minute))
				w.pass(2*time.Second - 1)
				if r := w.answer(inbox); r != nil {
					t.Fatalf("granted while it is held back: %v", r)
				}
				before := w.journal.Appends()
				test.ends(w)
				w.check(w.answer(inbox), messages.Status_GRANTED, 2)
				if n := w.journal.Appends() - before; n != 1 {
					t.Errorf("%d appends", n)
				}
			})
		})
	}
}

// A new owner of the shard holds back for the whole delay again, and until a loss is confirmed; from the journal and
// from a page.
func TestNewOwnerHoldsBack(t *testing.T) {
	for name, tuning := range map[string]actors.Tuning{
		"from the journal": {},
		"from pages":       {CompactCommits: 1, History: 1},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, tuning, func(w *world) {
				w.want(messages.Status_GRANTED, 1, "delayed", delayed(time.Minute))
				w.want(messages.Status_GRANTED, 1, "confirmed", confirmed())
				w.want(messages.Status_GRANTED, 1, "over", delayed(time.Second))
				w.pass(31 * time.Second)
				w.wantLeft("delayed", 30*time.Second)
				w.reopen()
				w.wantLeft("delayed", time.Minute)
				w.wantLeft("confirmed", 0)
				w.want(messages.Status_GRANTED, 2, "over", acquire("b", time.Minute))
				inbox := w.send("delayed", waiting(time.Hour, time.Hour))
				w.pass(time.Minute - 1)
				if r := w.answer(inbox); r != nil {
					t.Fatalf("granted before the delay is over: %v", r)
				}
				w.pass(1)
				w.check(w.answer(inbox), messages.Status_GRANTED, 2)
				w.want(messages.Status_RELEASED, 0, "confirmed", confirm(1))
				w.want(messages.Status_GRANTED, 2, "confirmed", acquire("b", time.Minute))
			})
		})
	}
}

// A resource that is held back until someone confirms has no timer, and loses its actor as any other.
func TestIdleResourceIsHeldBack(t *testing.T) {
	inWorld(t, actors.Tuning{IdleAfter: time.Minute, Remember: time.Hour}, func(w *world) {
		w.want(messages.Status_GRANTED, 1, "r", confirmed())
		w.want(messages.Status_RELEASED, 0, "r", breakIt(1))
		w.pass(24 * time.Hour)
		if n := w.actors(); n != 0 {
			t.Errorf("%d actors", n)
		}
		w.wantLeft("r", 0)
		w.want(messages.Status_RELEASED, 0, "r", confirm(1))
		w.want(messages.Status_GRANTED, 2, "r", acquire("b", time.Second))
	})
}

// A resource whose actor panics is held back as before.
func TestPanicOfAResourceThatIsHeldBack(t *testing.T) {
	inWorld(t, actors.Tuning{ReopenAfter: time.Second}, func(w *world) {
		w.want(messages.Status_GRANTED, 1, "delayed", delayed(time.Minute))
		w.want(messages.Status_GRANTED, 1, "confirmed", confirmed())
		w.pass(time.Second)
		for _, resource := range []string{"delayed", "confirmed"} {
			w.clock.panicAfter(0)
			if r := w.ask(resource, get()); r != nil {
				t.Fatalf("the request that panicked is answered %v", r)
			}
		}
		w.wantLeft("delayed", time.Minute)
		w.wantLeft("confirmed", 0)
		w.pass(time.Minute)
		w.want(messages.Status_GRANTED, 2, "delayed", acquire("b", time.Minute))
	})
}

// Lost leases count against the limit of the node, until they no longer hold back.
func TestQuotaCountsLostLeases(t *testing.T) {
	inClosedWorld(t, actors.Tuning{}, func(w *world) {
		w.quota = new(actors.Quota)
		w.open()
		w.want(messages.Status_GRANTED, 1, "r", confirmed())
		w.pass(time.Second)
		synctest.Wait()
		if n := w.quota.Held(); n != 1 {
			t.Errorf("%d leases count while one is held back", n)
		}
		w.want(messages.Status_RELEASED, 0, "r", confirm(1))
		if n := w.quota.Held(); n != 0 {
			t.Errorf("%d leases count in the end", n)
		}
	})
}

// An operator finds who confirmed a loss, and no other end of a hold, in the log.
func TestConfirmationIsLogged(t *testing.T) {
	inWorld(t, actors.Tuning{}, func(w *world) {
		w.want(messages.Status_GRANTED, 1, "r", confirmed())
		w.want(messages.Status_GRANTED, 1, "s", delayed(time.Second))
		w.pass(3 * time.Second)
		w.want(messages.Status_STALE_TOKEN, 1, "r", confirm(2))
		if strings.Contains(w.log.String(), "loss confirmed") {
			t.Errorf("the log has a confirmation already:\n%s", w.log)
		}
		w.want(messages.Status_RELEASED, 0, "r", confirm(1))
		line := `msg="loss confirmed" shard=3 resource=r owner=a token=1 reason="agent: killed" answer_to=inbox` + "\n"
		if !strings.Contains(w.log.String(), line) {
			t.Errorf("the log lacks %q:\n%s", line, w.log)
		}
	})
}
