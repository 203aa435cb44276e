package contract

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/holdfast-io/holdfast/messages"
)

// meta is metadata of one entry.
func meta(value string) map[string]string { return map[string]string{"value": value} }

// A set replaces the metadata, and nothing else of the lease; it is refused as an extension is.
func TestSet(t *testing.T) {
	t.Parallel()
	_, c := start(t)
	eachForm(t, c, func(q *requester) {
		set := func(owner string, token uint64, value string) *messages.SetRequest {
			return &messages.SetRequest{Owner: owner, Token: token, Metadata: meta(value)}
		}
		q.want(messages.Status_NOT_HELD, 0, set("a", 0, "one"))
		granted := q.want(messages.Status_GRANTED, 1, writer("a")).GetLease()
		l := q.want(messages.Status_UPDATED, 1, set("a", 1, "one")).GetLease()
		if !maps.Equal(l.GetMetadata(), meta("one")) || l.GetRemainingMs() == 0 ||
			l.GetRemainingMs() > granted.GetTtlMs() {
			t.Errorf("the lease is %v", l)
		}
		l.Metadata, l.RemainingMs = granted.GetMetadata(), granted.GetRemainingMs()
		if !proto.Equal(l, granted) {
			t.Errorf("the lease was %v and is %v", granted, l)
		}
		if got := q.want(messages.Status_UPDATED, 1, set("a", 0, "two")).GetLease().GetMetadata(); !maps.Equal(got, meta("two")) {
			t.Errorf("the metadata are %v", got)
		}
		q.want(messages.Status_NOT_OWNER, 1, set("b", 1, "three"))
		q.want(messages.Status_STALE_TOKEN, 1, set("a", 7, "three"))
		if got := q.state().GetLease().GetMetadata(); !maps.Equal(got, meta("two")) {
			t.Errorf("the metadata are %v", got)
		}
		q.want(messages.Status_UPDATED, 1, &messages.SetRequest{Owner: "a"})
		if got := q.state().GetLease().GetMetadata(); len(got) > 0 {
			t.Errorf("the metadata are %v", got)
		}
		q.want(messages.Status_RELEASED, 0, give("a", 1))
		q.want(messages.Status_NOT_HELD, 0, set("a", 1, "three"))

		q.want(messages.Status_GRANTED, 2, writer("c"))
		q.want(messages.Status_RELEASED, 0, &messages.BreakRequest{Token: 2})
		q.want(messages.Status_EXPIRED, 0, set("c", 2, "three"))
	})
}

// A set of an ephemeral lease is not recorded, and shown all the same.
func TestSetOfAnEphemeralLease(t *testing.T) {
	t.Parallel()
	_, c := start(t)
	c.want(messages.Status_GRANTED, 1, acquire, `{"owner":"a","ttl_ms":60000,"durability":"EPHEMERAL"}`)
	c.want(messages.Status_UPDATED, 1, set, `{"owner":"a","metadata":{"value":"one"}}`)
	for _, l := range append(c.list(`{}`).GetLeases(), c.want(messages.Status_HELD, 1, get, ``).GetLease()) {
		if !maps.Equal(l.GetMetadata(), meta("one")) {
			t.Errorf("the lease is %v", l)
		}
	}
}

// The metadata of all who hold a resource are bounded, as they are when leases are granted.
func TestSetIsBounded(t *testing.T) {
	t.Parallel()
	_, c := start(t)
	c.want(messages.Status_GRANTED, 0, acquire, `{"owner":"first","ttl_ms":3600000,"limit":4294967295}`)
	large := strings.Repeat("x", 1000)
	for i := 0; ; i++ {
		r := c.ask(acquire, fmt.Sprintf(`{"owner":"o%d","ttl_ms":3600000,"limit":4294967295,"metadata":{"value":%q}}`,
			i, large))
		if r.GetStatus() == messages.Status_OVERLOADED {
			break
		}
		if r.GetStatus() != messages.Status_GRANTED || i > 1000 {
			t.Fatalf("got %v", r)
		}
	}
	r := c.want(messages.Status_OVERLOADED, 0, set, fmt.Sprintf(`{"owner":"first","metadata":{"value":%q}}`, large))
	if !strings.Contains(r.GetError(), "orders.42") || !strings.Contains(r.GetError(), "set less") {
		t.Errorf("the error is %q", r.GetError())
	}
	c.want(messages.Status_UPDATED, 2, set, `{"owner":"o0","metadata":{"value":"less"}}`)
	c.want(messages.Status_RELEASED, 0, release, `{"owner":"o1"}`)
	c.want(messages.Status_UPDATED, 1, set, fmt.Sprintf(`{"owner":"first","metadata":{"value":%q}}`, large))
}

// An event shows new metadata, and a repeated set makes none. After a restart of the node they are as they were.
func TestEventsOfValues(t *testing.T) {
	t.Parallel()
	s, c := start(t)
	w := watch(t, s.Connect(), "holdfast.event.orders.*")
	granted := c.want(messages.Status_GRANTED, 1, acquire,
		`{"owner":"a","ttl_ms":60000,"metadata":{"value":"one"}}`).GetLease()
	for _, value := range []string{"two", "two", "three"} {
		c.want(messages.Status_UPDATED, 1, set, fmt.Sprintf(`{"owner":"a","token":1,"metadata":{"value":%q}}`, value))
	}
	c.want(messages.Status_EXTENDED, 1, extend, `{"owner":"a","ttl_ms":30000}`)
	for i, want := range []struct {
		kind           messages.Event_Kind
		value          string
		ttl, remaining uint32
	}{
		{messages.Event_ACQUIRED, "one", 60000, 60000},
		{messages.Event_UPDATED, "two", 60000, 0},
		{messages.Event_UPDATED, "three", 60000, 0},
		{messages.Event_EXTENDED, "three", 30000, 30000},
	} {
		got := w.next()
		lease := proto.CloneOf(granted)
		lease.Metadata, lease.TtlMs, lease.RemainingMs = meta(want.value), want.ttl, want.remaining
		if got.GetKind() != want.kind || !proto.Equal(got.GetLease(), lease) {
			t.Errorf("event %d is %v, want %s %v", i, got, want.kind, lease)
		}
	}
	s.Restart()
	c = &client{t, s.Connect()}
	if got := c.want(messages.Status_HELD, 1, get, ``).GetLease().GetMetadata(); !maps.Equal(got, meta("three")) {
		t.Errorf("after a restart the metadata are %v", got)
	}
}

// A late extend and a late set do not undo a later one, and their answers have the number of that.
func TestOrder(t *testing.T) {
	t.Parallel()
	_, c := start(t)
	eachForm(t, c, func(q *requester) {
		extend := func(ttl uint32, order uint64) *messages.ExtendRequest {
			return &messages.ExtendRequest{Owner: "a", Token: 1, TtlMs: ttl, Order: order}
		}
		set := func(value string, order uint64) *messages.SetRequest {
			return &messages.SetRequest{Owner: "a", Token: 1, Metadata: meta(value), Order: order}
		}
		granted := writer("a")
		granted.RequestId = "first"
		want := func(status messages.Status, request proto.Message, order uint64, ttl uint32, value string) {
			t.Helper()
			r := q.want(status, 1, request)
			if r.GetOrder() != order || r.GetLease().GetTtlMs() != ttl || r.GetLease().GetMetadata()["value"] != value {
				t.Errorf("%v is answered %v, want order %d, ttl %d, %q", request, r, order, ttl, value)
			}
		}
		want(messages.Status_GRANTED, granted, 0, granted.GetTtlMs(), "")
		want(messages.Status_EXTENDED, extend(90_000, messages.MaxOrder), messages.MaxOrder, 90_000, "")
		want(messages.Status_EXTENDED, extend(1_000, 1), messages.MaxOrder, 90_000, "")
		want(messages.Status_UPDATED, set("second", 2), 2, 90_000, "second")
		want(messages.Status_UPDATED, set("first", 1), 2, 90_000, "second")
		want(messages.Status_UPDATED, set("third", 0), 2, 90_000, "third")
		want(messages.Status_EXTENDED, extend(80_000, 0), messages.MaxOrder, 80_000, "third")
		want(messages.Status_GRANTED, granted, messages.MaxOrder, 80_000, "third")
		q.want(messages.Status_INVALID, 0, extend(1_000, messages.MaxOrder+1))
		q.want(messages.Status_INVALID, 0, set("fourth", messages.MaxOrder+1))
	})
}
