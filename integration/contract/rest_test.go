package contract

import (
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/holdfast-io/holdfast/integration/stand"
	"github.com/holdfast-io/holdfast/messages"
)

// holding is a request for a lease with a shortest hold.
func holding(owner string, minHoldMs uint32) *messages.AcquireRequest {
	return &messages.AcquireRequest{Owner: owner, TtlMs: hour, RequestId: owner, MinHoldMs: minHoldMs}
}

// briefly is a shortest hold that a test waits for.
const briefly = 200

// wantRest asks, and wants the answer that the resource rests after the lease of the owner and token.
func (q *requester) wantRest(request proto.Message, owner string, token uint64) {
	q.Helper()
	q.wantHeldBack(request, owner, token, hour-600_000, hour)
}

// happened is what an event says of a rest.
type happened struct {
	kind            messages.Event_Kind
	token           uint64
	heldBack, rests bool
	reason          string
}

// wantEvents checks the next events of a resource.
func wantEvents(w *watcher, want ...happened) {
	w.Helper()
	for _, want := range want {
		e := w.next()
		got := happened{e.GetKind(), e.GetLease().GetToken(), e.GetHeldBack(), e.GetRestingMs() > 0, e.GetReason()}
		if got != want {
			w.Errorf("got %v, want %+v", e, want)
		}
	}
}

const restOver = "the shortest hold is over"

// A release is answered at once, and nobody gets the resource before the shortest hold is over.
func TestRest(t *testing.T) {
	t.Parallel()
	s, c := start(t)
	eachForm(t, c, func(q *requester) {
		w := watch(t, s.Connect(), "holdfast.event."+q.key)
		q.want(messages.Status_GRANTED, 1, holding("a", hour))
		q.want(messages.Status_RELEASED, 0, give("a", 1))
		q.want(messages.Status_RELEASED, 0, give("a", 1)) // a repetition
		q.wantRest(&messages.GetRequest{}, "a", 1)
		q.wantRest(writer("b"), "a", 1)
		own := holding("a", hour)
		own.RequestId = "a2"
		q.wantRest(own, "a", 1) // its owner neither
		q.want(messages.Status_RELEASED, 0, holding("a", hour))
		q.want(messages.Status_NOT_HELD, 0, &messages.ExtendRequest{Owner: "a", Token: 1, TtlMs: hour})
		q.want(messages.Status_NOT_HELD, 0, &messages.SetRequest{Owner: "a", Token: 1})
		q.want(messages.Status_NOT_HELD, 0, &messages.BreakRequest{Token: 1})
		waiter := writer("b")
		waiter.WaitMs = hour
		waiting := q.ask(waiter)
		q.until("it waits", func() bool { return q.ask(&messages.GetRequest{}).reply().GetWaiting() == 1 })
		q.want(messages.Status_STALE_TOKEN, 1, &messages.ConfirmRequest{Token: 2})
		q.want(messages.Status_RELEASED, 0, &messages.ConfirmRequest{Token: 1, By: "ops"})
		waiting.want(messages.Status_GRANTED, 2)
		wantEvents(w, happened{kind: messages.Event_ACQUIRED, token: 1},
			happened{kind: messages.Event_RELEASED, token: 1, rests: true},
			happened{kind: messages.Event_CONFIRMED, token: 1, reason: "ops"},
			happened{kind: messages.Event_ACQUIRED, token: 2})
	})
}

// When the shortest hold is over, the next request gets the resource without an operator.
func TestRestIsOver(t *testing.T) {
	t.Parallel()
	s, c := start(t)
	eachForm(t, c, func(q *requester) {
		w := watch(t, s.Connect(), "holdfast.event."+q.key)
		began := time.Now()
		q.want(messages.Status_GRANTED, 1, holding("a", briefly))
		q.want(messages.Status_RELEASED, 0, give("a", 1))
		waiter := writer("b")
		waiter.WaitMs = hour
		if q.ask(waiter).want(messages.Status_GRANTED, 2); time.Since(began) < briefly*time.Millisecond {
			t.Errorf("granted %v after the request for a shortest hold of %d ms", time.Since(began), briefly)
		}
		wantEvents(w, happened{kind: messages.Event_ACQUIRED, token: 1},
			happened{kind: messages.Event_RELEASED, token: 1, rests: true},
			happened{kind: messages.Event_CONFIRMED, token: 1, reason: restOver},
			happened{kind: messages.Event_ACQUIRED, token: 2})
	})
}

// A hold of the lease that lasts as long as the shortest one leaves nothing.
func TestHoldThatWasLongEnough(t *testing.T) {
	t.Parallel()
	_, c := start(t)
	eachForm(t, c, func(q *requester) {
		q.want(messages.Status_GRANTED, 1, holding("a", 1))
		q.until("the shortest hold is over", func() bool {
			return q.want(messages.Status_HELD, 1, &messages.GetRequest{}).GetLease().GetRemainingMs() < hour-1
		})
		q.want(messages.Status_RELEASED, 0, give("a", 1))
		q.want(messages.Status_GRANTED, 2, writer("b"))
	})
}

// The end of a lease that is no release leaves the rest, too: an expiry, a break, the end of its session.
func TestRestOfEveryEnd(t *testing.T) {
	t.Parallel()
	s, c := start(t)
	eachForm(t, c, func(q *requester) {
		w := watch(t, s.Connect(), "holdfast.event."+q.key)
		q.want(messages.Status_GRANTED, 1, holding("a", hour))
		q.want(messages.Status_RELEASED, 0, &messages.BreakRequest{Token: 1})
		q.wantRest(&messages.GetRequest{}, "a", 1)
		q.want(messages.Status_RELEASED, 0, &messages.ConfirmRequest{Token: 1, By: "ops"})
		q.want(messages.Status_RELEASED, 0, &messages.ConfirmRequest{Token: 1}) // a repetition
		brief := holding("b", hour)
		brief.TtlMs = 100
		q.want(messages.Status_GRANTED, 2, brief)
		q.until("it has expired", func() bool {
			return q.ask(&messages.GetRequest{}).reply().GetStatus() != messages.Status_HELD
		})
		q.wantRest(&messages.GetRequest{}, "b", 2)
		q.want(messages.Status_EXPIRED, 0, give("b", 2))
		q.want(messages.Status_RELEASED, 0, &messages.ConfirmRequest{Token: 2, By: "ops"})
		wantEvents(w, happened{kind: messages.Event_ACQUIRED, token: 1},
			happened{kind: messages.Event_BROKEN, token: 1, rests: true},
			happened{kind: messages.Event_CONFIRMED, token: 1, reason: "ops"},
			happened{kind: messages.Event_ACQUIRED, token: 2},
			happened{kind: messages.Event_EXPIRED, token: 2, rests: true},
			happened{kind: messages.Event_CONFIRMED, token: 2, reason: "ops"})
		if lost := c.list(`{"pattern":"` + q.key + `","held_back":true}`); len(lost.GetLeases()) != 0 {
			t.Errorf("what only rests is listed as lost: %v", lost)
		}
	})
	c.want(messages.Status_GRANTED, 1, acquire,
		`{"owner":"a","ttl_ms":60000,"session":"0123456789abcdef","min_hold_ms":3600000}`)
	c.want(messages.Status_RELEASED, 0, "holdfast.end.0123456789abcdef", `{}`)
	c.want(messages.Status_HELD_BACK, 1, get, ``)
}

// A confirmed loss leaves what is left of the shortest hold, which no further confirmation ends.
func TestRestOfAConfirmedLoss(t *testing.T) {
	t.Parallel()
	s, c := start(t)
	eachForm(t, c, func(q *requester) {
		w := watch(t, s.Connect(), "holdfast.event."+q.key)
		lost := holding("a", hour)
		lost.Confirm = true
		q.want(messages.Status_GRANTED, 1, lost)
		q.want(messages.Status_RELEASED, 0, &messages.BreakRequest{Token: 1})
		q.wantHeldBack(&messages.GetRequest{}, "a", 1, 0, 0)
		q.want(messages.Status_RELEASED, 0, &messages.ConfirmRequest{Token: 1, By: "agent"})
		q.wantRest(&messages.GetRequest{}, "a", 1)
		q.want(messages.Status_RELEASED, 0, &messages.ConfirmRequest{Token: 1, By: "agent"})
		q.wantRest(writer("b"), "a", 1)
		wantEvents(w, happened{kind: messages.Event_ACQUIRED, token: 1},
			happened{kind: messages.Event_BROKEN, token: 1, heldBack: true, rests: true},
			happened{kind: messages.Event_CONFIRMED, token: 1, rests: true, reason: "agent"})
	})
}

// A loss with a delay holds the resource back until the later of both ends, and its owner takes nothing back before the
// shortest hold is over.
func TestRestAndDelay(t *testing.T) {
	t.Parallel()
	s, c := start(t)
	eachForm(t, c, func(q *requester) {
		w := watch(t, s.Connect(), "holdfast.event."+q.key)
		lost := holding("a", hour)
		lost.DelayMs = 1
		q.want(messages.Status_GRANTED, 1, lost)
		q.want(messages.Status_RELEASED, 0, &messages.BreakRequest{Token: 1})
		again := holding("a", 0)
		again.RequestId = "a2"
		q.wantRest(again, "a", 1)
		if r := c.list(`{"pattern":"` + q.key + `","held_back":true}`); len(r.GetLeases()) != 1 {
			t.Errorf("lost: %v", r)
		}
		q.want(messages.Status_RELEASED, 0, &messages.ConfirmRequest{Token: 1})
		q.wantRest(again, "a", 1)
		if r := c.list(`{"pattern":"` + q.key + `","held_back":true}`); len(r.GetLeases()) != 0 {
			t.Errorf("lost, though that is confirmed: %v", r)
		}
		wantEvents(w, happened{kind: messages.Event_ACQUIRED, token: 1},
			happened{kind: messages.Event_BROKEN, token: 1, heldBack: true, rests: true},
			happened{kind: messages.Event_CONFIRMED, token: 1, rests: true, reason: "confirmed"})

		other := *q
		other.key = keysOf(q.key+"-long", 1)[0]
		long := holding("a", briefly)
		long.DelayMs = hour
		other.want(messages.Status_GRANTED, 1, long)
		other.want(messages.Status_RELEASED, 0, &messages.BreakRequest{Token: 1})
		other.wantRest(writer("b"), "a", 1)
	})
}

// Nothing is left of a grant that its client gives back by its request alone, nor of one that reached no client.
func TestWithdrawalLeavesNoRest(t *testing.T) {
	t.Parallel()
	s, c := start(t)
	eachForm(t, c, func(q *requester) {
		q.want(messages.Status_GRANTED, 1, holding("a", hour))
		q.want(messages.Status_RELEASED, 0, &messages.ReleaseRequest{Owner: "a", RequestId: "a"})
		q.want(messages.Status_GRANTED, 2, holding("b", hour))
		q.want(messages.Status_RELEASED, 0, &messages.ReleaseRequest{Owner: "b", RequestId: "b", Token: 2})
		q.wantRest(&messages.GetRequest{}, "b", 2) // this one names the lease
	})
	c.want(messages.Status_GRANTED, 1, acquire, `{"owner":"a","ttl_ms":60000}`)
	gone := &client{t, s.Connect()}
	inbox := stand.Value(gone.nc.SubscribeSync("gone"))(t)
	stand.Must(t, gone.nc.PublishRequest(acquire, "gone",
		[]byte(`{"owner":"gone","ttl_ms":60000,"wait_ms":60000,"request_id":"gone","min_hold_ms":3600000}`)))
	c.until("it waits", func() bool { return c.ask(get, ``).GetWaiting() == 1 })
	stand.Must(t, inbox.Unsubscribe())
	stand.Disconnect(t, gone.nc, c.nc)
	c.want(messages.Status_RELEASED, 0, release, `{"owner":"a"}`)
	c.until("it is taken back", func() bool { return c.ask(get, ``).GetStatus() == messages.Status_FREE })
	c.want(messages.Status_GRANTED, 3, acquire, `{"owner":"b","ttl_ms":60000}`)
}

// Only an exclusive persistent lease has a shortest hold, which has a bound, and it is not downgraded.
func TestRestRules(t *testing.T) {
	t.Parallel()
	_, c := start(t)
	eachForm(t, c, func(q *requester) {
		q.wantError("min_hold_ms: at most 3600000, got 3600001", holding("a", hour+1))
		shared := reader("a")
		shared.MinHoldMs = 1
		q.wantError("limit: 0 or 1 beside min_hold_ms: only an exclusive lease has a shortest hold, got 4294967295", shared)
		ephemeral := holding("a", 1)
		ephemeral.Durability = messages.Durability_EPHEMERAL
		q.wantError("durability: PERSISTENT, since min_hold_ms is set, got EPHEMERAL", ephemeral)
		q.want(messages.Status_FREE, 0, &messages.GetRequest{}) // none of it had an effect
		q.want(messages.Status_GRANTED, 1, holding("a", 1))
		q.wantError("limit: 1, that of the lease, which has a shortest hold: release it and acquire another, got 2",
			&messages.ExtendRequest{Owner: "a", Token: 1, TtlMs: hour, Limit: 2})
		q.want(messages.Status_HELD, 1, &messages.GetRequest{})
	})
}

// A new owner of the shard lets the rest run again, and the shortest hold of what is held.
func TestRestOutlivesItsNode(t *testing.T) {
	t.Parallel()
	s, c := start(t)
	c.want(messages.Status_GRANTED, 1, acquire, `{"owner":"a","ttl_ms":60000,"min_hold_ms":3600000}`)
	c.want(messages.Status_RELEASED, 0, release, `{"owner":"a"}`)
	c.want(messages.Status_GRANTED, 1, "holdfast.acquire.other", `{"owner":"a","ttl_ms":60000,"min_hold_ms":3600000}`)
	for range 2 {
		s.CrashNode()
		s.Restart()
		c = &client{t, s.Connect()}
		if left := c.want(messages.Status_HELD_BACK, 1, get, ``).GetLeftMs(); left < 3_000_000 || left > 3_600_000 {
			t.Errorf("%d ms are left", left)
		}
	}
	c.want(messages.Status_RELEASED, 0, "holdfast.release.other", `{"owner":"a"}`)
	s.Restart()
	c = &client{t, s.Connect()}
	c.want(messages.Status_HELD_BACK, 1, "holdfast.get.other", ``)
	c.want(messages.Status_RELEASED, 0, "holdfast.confirm.other", `{"token":1}`)
	c.want(messages.Status_GRANTED, 2, "holdfast.acquire.other", `{"owner":"b","ttl_ms":60000}`)
}
