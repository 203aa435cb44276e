package contract

import (
	"fmt"
	"testing"

	"github.com/nats-io/nats.go"
	"google.golang.org/protobuf/proto"

	"github.com/holdfast-io/holdfast/integration/stand"
	"github.com/holdfast-io/holdfast/messages"
)

// A writer that has written lets readers in without letting go: under a new token, in one commit with those that wait
// and fit now.
func TestDowngrade(t *testing.T) {
	t.Parallel()
	s, c := start(t)
	eachForm(t, c, func(q *requester) {
		events := watch(t, s.Connect(), "holdfast.event."+q.key)
		first := q.want(messages.Status_GRANTED, 1, writer("a")).GetLease()
		r2, r3 := q.wait(1, reader("r2")), q.wait(2, reader("r3"))
		w4, r5 := q.wait(3, writer("w4")), q.wait(4, reader("r5"))
		down := &messages.ExtendRequest{Owner: "a", Token: 1, TtlMs: hour, Limit: unlimited}
		q.wantLease(q.want(messages.Status_EXTENDED, 0, down).GetLease(), "a", 2, 2, unlimited, 0)
		q.wantLease(r2.want(messages.Status_GRANTED, 0).GetLease(), "r2", 3, 2, unlimited, 1)
		q.wantLease(r3.want(messages.Status_GRANTED, 0).GetLease(), "r3", 4, 2, unlimited, 2)
		q.wantHolders(q.state(), 3, "a", "r2", "r3")

		var commit uint64
		for i, want := range []struct {
			kind   messages.Event_Kind
			owner  string
			token  uint64
			fence  uint64
			limit  uint32
			slots  []uint32
			reason string
		}{
			{messages.Event_ACQUIRED, "a", 1, 1, 0, nil, ""},
			{messages.Event_RELEASED, "a", 1, 1, 0, nil, "downgraded"},
			{messages.Event_ACQUIRED, "a", 2, 2, unlimited, []uint32{0}, ""},
			{messages.Event_ACQUIRED, "r2", 3, 2, unlimited, []uint32{1}, ""},
			{messages.Event_ACQUIRED, "r3", 4, 2, unlimited, []uint32{2}, ""},
		} {
			e := events.next()
			q.wantLease(e.GetLease(), want.owner, want.token, want.fence, want.limit, want.slots...)
			if e.GetKind() != want.kind || e.GetReason() != want.reason || i > 1 && e.GetPosition() != commit {
				t.Errorf("event %d is %v, want %v", i, e, want)
			}
			commit = e.GetPosition()
		}

		// Again, and all that its owner may have sent before it knew of the new token.
		q.wantLease(q.want(messages.Status_EXTENDED, 0, down).GetLease(), "a", 2, 2, unlimited, 0)
		q.wantLease(q.want(messages.Status_EXTENDED, 0,
			&messages.ExtendRequest{Owner: "a", Token: 1, TtlMs: hour}).GetLease(), "a", 2, 2, unlimited, 0)
		q.wantLease(q.want(messages.Status_GRANTED, 0, writer("a")).GetLease(), "a", 2, 2, unlimited, 0)
		q.want(messages.Status_STALE_TOKEN, 2, &messages.BreakRequest{Token: first.GetToken()})
		q.wantHolders(q.state(), 3, "a", "r2", "r3")
		for range 2 {
			q.want(messages.Status_RELEASED, 0, give("a", 1))
			q.want(messages.Status_RELEASED, 0, give("a", 2))
		}
		q.want(messages.Status_RELEASED, 2, writer("a")) // a late copy
		q.want(messages.Status_RELEASED, 0, give("r2", 3))
		q.want(messages.Status_RELEASED, 0, give("r3", 4))
		q.wantLease(w4.want(messages.Status_GRANTED, 0).GetLease(), "w4", 5, 5, 0)
		q.want(messages.Status_RELEASED, 0, give("w4", 5))
		r5.want(messages.Status_GRANTED, 6)
	})
}

// The events of shared leases show each lease, in the order of the decisions.
func TestEventsOfSharedLeases(t *testing.T) {
	t.Parallel()
	s, c := start(t)
	w := watch(t, s.Connect(), "holdfast.event.orders.*")
	c.want(messages.Status_GRANTED, 1, acquire,
		`{"owner":"a","ttl_ms":60000,"limit":5,"permits":2,"metadata":{"job":"7"}}`)
	c.want(messages.Status_GRANTED, 2, acquire, `{"owner":"b","ttl_ms":60000,"limit":5}`)
	c.want(messages.Status_GRANTED, 3, acquire, `{"owner":"c","ttl_ms":100,"limit":5,"permits":2}`)
	c.want(messages.Status_EXTENDED, 1, extend, `{"owner":"a","ttl_ms":30000}`)
	inbox := c.queue("w", 1)
	c.until("c has expired", func() bool { return c.ask(get, ``).GetHeld() == 3 })
	c.want(messages.Status_RELEASED, 0, breakIt, `{"token":2,"reason":"it hung"}`)
	c.want(messages.Status_RELEASED, 0, release, `{"owner":"a"}`)
	c.next(inbox)

	lease := func(owner string, token, fence uint64, ttl, remaining, limit uint32, slots ...uint32) *messages.Lease {
		return &messages.Lease{
			Resource: "orders.42", Owner: owner, Token: token, Fence: messages.Token(fence).String(),
			TtlMs: ttl, RemainingMs: remaining, Limit: limit, Slots: slots,
		}
	}
	got := map[string]*messages.Event{}
	order := []string{}
	for range 8 {
		e := w.next()
		name := fmt.Sprint(e.GetKind(), e.GetLease().GetToken())
		got[name], order = e, append(order, name)
	}
	for _, want := range []*messages.Event{
		{Kind: messages.Event_ACQUIRED, Lease: lease("a", 1, 1, 60000, 60000, 5, 0, 1)},
		{Kind: messages.Event_ACQUIRED, Lease: lease("b", 2, 1, 60000, 60000, 5, 2)},
		{Kind: messages.Event_ACQUIRED, Lease: lease("c", 3, 1, 100, 100, 5, 3, 4)},
		{Kind: messages.Event_EXTENDED, Lease: lease("a", 1, 1, 30000, 30000, 5, 0, 1)},
		{Kind: messages.Event_EXPIRED, Lease: lease("c", 3, 1, 100, 0, 5, 3, 4)},
		{Kind: messages.Event_BROKEN, Lease: lease("b", 2, 1, 60000, 0, 5, 2), Reason: "it hung"},
		{Kind: messages.Event_RELEASED, Lease: lease("a", 1, 1, 30000, 0, 5, 0, 1)},
		{Kind: messages.Event_ACQUIRED, Lease: lease("w", 4, 4, 60000, 60000, 0)},
	} {
		name := fmt.Sprint(want.GetKind(), want.GetLease().GetToken())
		e := got[name]
		if want.GetLease().GetOwner() == "a" {
			want.Lease.Metadata = map[string]string{"job": "7"}
		}
		want.Shard, want.Position, want.Index, want.AtMs = e.GetShard(), e.GetPosition(), e.GetIndex(), e.GetAtMs()
		want.Lease.AcquiredAtMs = e.GetLease().GetAcquiredAtMs()
		if !proto.Equal(e, want) {
			t.Errorf("%s, of %v:\ngot  %v\nwant %v", name, order, e, want)
		}
	}
}

// A reader that is gone when it is granted keeps no permit, and the others that were granted with it stay.
func TestReaderThatIsGone(t *testing.T) {
	t.Parallel()
	s, c := start(t)
	eachForm(t, c, func(q *requester) {
		gone := *q
		gone.client = &client{t, s.Connect()}
		q.want(messages.Status_GRANTED, 1, writer("a"))
		there := q.wait(1, of("there", 2, 1))
		gone.wait(2, of("gone", 2, 1))
		next := q.wait(3, of("next", 2, 1))
		stand.Disconnect(t, gone.nc, q.nc)
		q.want(messages.Status_RELEASED, 0, give("a", 1))
		q.wantLease(there.want(messages.Status_GRANTED, 0).GetLease(), "there", 2, 2, 2, 0)
		q.wantLease(next.want(messages.Status_GRANTED, 0).GetLease(), "next", 4, 2, 2, 1)
		q.wantHolders(q.state(), 2, "there", "next")
	})
}

// Without a listener the shared leases of a batch are taken back, and no others.
func TestSharedLeasesOfABatchWithoutAListener(t *testing.T) {
	t.Parallel()
	_, c := start(t)
	for _, e := range encodings {
		q := &requester{client: c, encoding: e, key: keysOf(e.String(), 1)[0]}
		q.want(messages.Status_GRANTED, 1, reader("there"))
		var b bundle
		for i := range 3 {
			b.acquire(q.key, reader(fmt.Sprint("gone", i)))
		}
		b.acquire(q.key, reader("there")) // the same request: it is not taken back
		stand.Must(t, c.nc.PublishMsg(&nats.Msg{Subject: messages.DefaultPrefix.Batch(messages.Shard{Number: batchShard}), Reply: "_INBOX.x",
			Data: c.encode(e, b)}))
		q.until("one is left", func() bool {
			r := q.want(messages.Status_GRANTED, 0,
				&messages.AcquireRequest{Owner: "probe", TtlMs: hour, Limit: unlimited})
			q.want(messages.Status_RELEASED, 0, give("probe", r.GetLease().GetToken()))
			return r.GetLease().GetToken() > 4 && q.state().GetHeld() == 1
		})
		q.wantHolders(q.state(), 1, "there")
	}
}
