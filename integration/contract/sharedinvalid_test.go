package contract

import (
	"testing"

	"github.com/nats-io/nats.go"
	"google.golang.org/protobuf/proto"

	"github.com/holdfast-io/holdfast/messages"
)

// What breaks a rule of shared leases is refused with the field, the rule and what to do instead, and changes nothing.
func TestInvalidSharing(t *testing.T) {
	t.Parallel()
	_, c := start(t)
	eachForm(t, c, func(q *requester) {
		q.want(messages.Status_GRANTED, 1, of("a", 5, 1))
		another := of("a", 5, 1)
		another.RequestId = "another"
		q.want(messages.Status_GRANTED, 2, another)
		waits := q.wait(1, writer("w"))
		before := q.state()
		for _, test := range []struct {
			request proto.Message
			err     string
		}{
			{of("b", 5, 6), "permits: at most 5, the limit of the same request; take fewer or raise limit, got 6"},
			{of("b", 0, 2), "permits: at most 1 of an exclusive lease; set limit for a shared one, got 2"},
			{of("b", 1, 2), "permits: at most 1 of an exclusive lease; set limit for a shared one, got 2"},
			{of("b", unlimited, 1001), "permits: at most 1000; acquire more by further requests, got 1001"},
			{of("b", 1001, 1001), "permits: at most 1000; acquire more by further requests, got 1001"},
			{of("b", 5, unlimited), "permits: at most 1000; acquire more by further requests, got 4294967295"},
			{of("b", unlimited, unlimited), "permits: at most 1000; acquire more by further requests, got 4294967295"},
			{
				&messages.ExtendRequest{Owner: "a", Token: 1, TtlMs: hour, Limit: 4},
				"limit: at least 5, that of the lease, which never falls: release the lease and acquire another, got 4",
			},
			{
				&messages.ExtendRequest{Owner: "a", Token: 2, TtlMs: hour, Limit: 1},
				"limit: at least 5, that of the lease, which never falls: release the lease and acquire another, got 1",
			},
			{
				&messages.ExtendRequest{Owner: "a", Token: 1, TtlMs: hour, Limit: 6},
				"limit: 5, that of the lease, while 2 leases are held: only a lease that is held alone is " +
					"downgraded, got 6",
			},
			{
				&messages.ExtendRequest{Owner: "a", TtlMs: hour},
				"token: that of one of the 2 leases that the owner holds, got 0",
			},
			{
				&messages.ExtendRequest{Owner: "a", TtlMs: hour, Limit: 6},
				"token: that of one of the 2 leases that the owner holds, got 0",
			},
			{give("a", 0), "token: that of one of the 2 leases that the owner holds, got 0"},
			{&messages.BreakRequest{}, "token: 1 to 900000000000000, got 0"},
		} {
			r := q.ask(test.request).reply()
			if want := (&messages.Reply{Status: messages.Status_INVALID, Error: test.err}); !proto.Equal(r, want) {
				t.Errorf("%T{%v}:\ngot  %v\nwant %v", test.request, test.request, r, want)
			}
			q.wantUnchanged(before)
		}
		q.want(messages.Status_RELEASED, 0, give("a", 1))
		q.want(messages.Status_RELEASED, 0, give("a", 0)) // the only one
		waits.want(messages.Status_GRANTED, 3)
	})
}

// wantUnchanged checks that the service shows what it did before, but for the time.
func (q *requester) wantUnchanged(before *messages.Reply) {
	q.Helper()
	now := q.state()
	for i, l := range now.GetHolders() {
		if i < len(before.GetHolders()) {
			l.RemainingMs = before.GetHolders()[i].GetRemainingMs()
		}
	}
	now.Lease = now.GetHolders()[0]
	before.Lease = before.GetHolders()[0]
	for i, w := range now.GetWaiters() {
		if i < len(before.GetWaiters()) {
			w.WaitingMs, w.LeftMs = before.GetWaiters()[i].GetWaitingMs(), before.GetWaiters()[i].GetLeftMs()
		}
	}
	if !proto.Equal(now, before) {
		q.Errorf("something has changed:\nbefore %v\nnow    %v", before, now)
	}
}

// What no program with the contract's types can send is refused as well.
func TestInvalidJSONOfSharing(t *testing.T) {
	t.Parallel()
	_, c := start(t)
	c.want(messages.Status_GRANTED, 1, acquire, `{"owner":"a","ttl_ms":60000,"limit":5}`)
	for _, test := range []struct {
		subject, json string
		words         []string
	}{
		{acquire, `{"owner":"b","ttl_ms":1000,"limit":4294967296}`, []string{"limit", "4294967296"}},
		{acquire, `{"owner":"b","ttl_ms":1000,"limit":-1}`, []string{"limit", "-1"}},
		{acquire, `{"owner":"b","ttl_ms":1000,"limit":"5"}`, []string{"limit", "without quotes"}},
		{acquire, `{"owner":"b","ttl_ms":1000,"limit":1.5}`, []string{"limit", "1.5"}},
		{acquire, `{"owner":"b","ttl_ms":1000,"limit":5,"permits":-1}`, []string{"permits", "-1"}},
		{acquire, `{"owner":"b","ttl_ms":1000,"limit":5,"slots":[0]}`, []string{"slots"}},
		{acquire, `{"owner":"b","ttl_ms":1000,"shared":true}`, []string{"shared"}},
		{extend, `{"owner":"a","ttl_ms":1000,"limit":true}`, []string{"limit"}},
		{extend, `{"owner":"a","ttl_ms":1000,"permits":2}`, []string{"permits"}},
		{get, `{"waiters":1}`, []string{"waiters"}},
		{"holdfast.list", `{"waiters":"yes"}`, []string{"waiters"}},
		{"holdfast.list", `{"after":"orders.42\n"}`, []string{"after", "next of an earlier page", `"orders.42\n"`}},
		{"holdfast.list", `{"after":"orders.42\n0"}`, []string{"after", "next of an earlier page"}},
		{"holdfast.list", `{"after":"orders.42\n01"}`, []string{"after", "next of an earlier page"}},
		{"holdfast.list", `{"after":"orders.42\n-1"}`, []string{"after", "next of an earlier page"}},
		{"holdfast.list", `{"after":"orders.42\n900000000000001"}`, []string{"after", "next of an earlier page"}},
		{"holdfast.list", `{"after":"orders.42\n1\n2"}`, []string{"after", "next of an earlier page"}},
		{"holdfast.list", `{"after":"\n1"}`, []string{"after"}},
		{"holdfast.list", `{"after":"a\tb\n1"}`, []string{"after", "control characters"}},
	} {
		c.wantInvalid(&nats.Msg{Subject: test.subject, Data: []byte(test.json)}, messages.JSON, test.words...)
	}
	r := c.want(messages.Status_HELD, 1, get, ``)
	if l := r.GetLease(); r.GetHeld() != 1 || l.GetLimit() != 5 || l.GetTtlMs() != 60000 {
		t.Errorf("got %v", r)
	}
}
