package contract

import (
	"fmt"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/holdfast-io/holdfast/messages"
)

// A lease that is lost holds its resource back until the loss is confirmed, or its owner takes the resource back.
func TestHeldBack(t *testing.T) {
	t.Parallel()
	s, c := start(t)
	eachForm(t, c, func(q *requester) {
		w := watch(t, s.Connect(), "holdfast.event."+q.key)
		q.want(messages.Status_GRANTED, 1, &messages.AcquireRequest{Owner: "a", TtlMs: 60000, Confirm: true})
		waiter := q.ask(&messages.AcquireRequest{Owner: "b", TtlMs: 60000, WaitMs: 60000, DelayMs: 3_600_000})
		q.want(messages.Status_STALE_TOKEN, 1, &messages.ConfirmRequest{Token: 1})
		q.want(messages.Status_RELEASED, 0, &messages.BreakRequest{Token: 1, Reason: "it hung"})
		q.wantHeldBack(&messages.GetRequest{}, "a", 1, 0, 0)
		q.wantHeldBack(&messages.AcquireRequest{Owner: "a", TtlMs: 60000}, "a", 1, 0, 0)
		q.want(messages.Status_EXPIRED, 0, &messages.ExtendRequest{Owner: "a", TtlMs: 60000, Token: 1})
		q.want(messages.Status_EXPIRED, 0, &messages.ReleaseRequest{Owner: "a", Token: 1})
		q.want(messages.Status_STALE_TOKEN, 1, &messages.ConfirmRequest{Token: 2})
		q.want(messages.Status_RELEASED, 0, &messages.ConfirmRequest{Token: 1, By: "agent", How: "killed"})
		waiter.want(messages.Status_GRANTED, 2)
		q.want(messages.Status_RELEASED, 0, &messages.BreakRequest{Token: 2})
		q.wantHeldBack(&messages.AcquireRequest{Owner: "c", TtlMs: 60000}, "b", 2, 3_500_000, 3_600_000)
		q.want(messages.Status_GRANTED, 3, &messages.AcquireRequest{Owner: "b", TtlMs: 60000})
		q.want(messages.Status_RELEASED, 0, &messages.ReleaseRequest{Owner: "b"})
		q.want(messages.Status_NOT_HELD, 0, &messages.ConfirmRequest{Token: 2})
		for _, want := range []struct {
			kind     messages.Event_Kind
			token    uint64
			heldBack bool
			reason   string
		}{
			{messages.Event_ACQUIRED, 1, false, ""},
			{messages.Event_BROKEN, 1, true, "it hung"},
			{messages.Event_CONFIRMED, 1, false, "agent: killed"},
			{messages.Event_ACQUIRED, 2, false, ""},
			{messages.Event_BROKEN, 2, true, ""},
			{messages.Event_CONFIRMED, 2, false, "taken back by its owner"},
			{messages.Event_ACQUIRED, 3, false, ""},
			{messages.Event_RELEASED, 3, false, ""},
		} {
			e := w.next()
			if e.GetKind() != want.kind || e.GetLease().GetToken() != want.token || e.GetHeldBack() != want.heldBack ||
				e.GetReason() != want.reason {
				t.Errorf("got %v, want %+v", e, want)
			}
		}
	})
}

// wantHeldBack asks, and wants the answer that the lease of the owner and token holds the resource back for as long.
func (q *requester) wantHeldBack(request proto.Message, owner string, token uint64, least, most uint32) {
	q.Helper()
	r := q.want(messages.Status_HELD_BACK, token, request)
	if l := r.GetLease(); l.GetOwner() != owner || l.GetRemainingMs() != 0 || r.GetHeld() != 0 ||
		len(r.GetHolders()) != 0 {
		q.Errorf("%v: %v", request, r)
	}
	if left := r.GetLeftMs(); left < least || left > most {
		q.Errorf("%v: held back for %d ms, want %d to %d", request, left, least, most)
	}
}

// A listing of what is held back has each lost lease once, page by page, and no lease that is held.
func TestListOfHeldBack(t *testing.T) {
	t.Parallel()
	_, c := start(t)
	for i := range 30 {
		subject := fmt.Sprint(".orders.", i)
		c.want(messages.Status_GRANTED, 1, "holdfast.acquire"+subject,
			`{"owner":"a","ttl_ms":60000,"confirm":true,"limit":3}`)
		c.want(messages.Status_GRANTED, 2, "holdfast.acquire"+subject,
			`{"owner":"b","ttl_ms":60000,"delay_ms":3600000,"limit":3}`)
		c.want(messages.Status_GRANTED, 3, "holdfast.acquire"+subject, `{"owner":"c","ttl_ms":60000,"limit":3}`)
		c.want(messages.Status_RELEASED, 0, "holdfast.break"+subject, `{"token":1}`)
		if i%2 == 0 {
			c.want(messages.Status_RELEASED, 0, "holdfast.break"+subject, `{"token":2}`)
		}
	}
	lost := map[string]*messages.Lease{}
	for after, more := "", true; more; more = after != "" {
		r := c.list(fmt.Sprintf(`{"pattern":"orders.*","limit":7,"held_back":true,"after":%q}`, after))
		for _, l := range r.GetLeases() {
			name := fmt.Sprint(l.GetResource(), "#", l.GetToken())
			if lost[name] != nil {
				t.Errorf("%s is listed twice", name)
			}
			lost[name] = l
		}
		after = r.GetNext()
	}
	if len(lost) != 45 {
		t.Errorf("%d lost leases are listed, want 45", len(lost))
	}
	for name, l := range lost {
		left := l.GetRemainingMs()
		confirmed := l.GetOwner() == "a" && left == 0
		delayed := l.GetOwner() == "b" && left > 3_500_000 && left <= 3_600_000
		if !confirmed && !delayed {
			t.Errorf("%s: %v", name, l)
		}
	}
	r := c.want(messages.Status_HELD_BACK, 1, "holdfast.get.orders.0", `{}`)
	if r.GetLeftMs() != 0 || r.GetHeld() != 1 || len(r.GetHolders()) != 1 || r.GetHolders()[0].GetToken() != 3 {
		t.Errorf("get: %v", r)
	}
}

// An ephemeral lease cannot hold its resource back, and a delay has a bound.
func TestDelayRules(t *testing.T) {
	t.Parallel()
	_, c := start(t)
	for json, want := range map[string]string{
		`{"owner":"a","ttl_ms":60000,"delay_ms":3600001}`: "delay_ms: at most 3600000, got 3600001",
		`{"owner":"a","ttl_ms":60000,"delay_ms":1,"durability":"EPHEMERAL"}`: "durability: PERSISTENT, since " +
			"delay_ms or confirm is set, got EPHEMERAL",
		`{"owner":"a","ttl_ms":60000,"confirm":true,"durability":"EPHEMERAL"}`: "durability: PERSISTENT, since " +
			"delay_ms or confirm is set, got EPHEMERAL",
	} {
		if r := c.want(messages.Status_INVALID, 0, "holdfast.acquire.orders.42", json); r.GetError() != want {
			t.Errorf("%s: %q, want %q", json, r.GetError(), want)
		}
	}
	for json, want := range map[string]string{
		`{}`:                   "token: 1 to 900000000000000, got 0",
		`{"token":1,"to":"x"}`: "",
	} {
		if r := c.want(messages.Status_INVALID, 0, "holdfast.confirm.orders.42", json); want != "" && r.GetError() != want {
			t.Errorf("%s: %q, want %q", json, r.GetError(), want)
		}
	}
	c.want(messages.Status_NOT_HELD, 0, "holdfast.confirm.orders.42", `{"token":1}`)
}
