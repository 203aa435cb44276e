package routing_test

import (
	"math"
	"testing"

	"github.com/nats-io/nats.go"
	"google.golang.org/protobuf/proto"

	"github.com/holdfast-io/holdfast/actors"
	"github.com/holdfast-io/holdfast/actors/lease"
	"github.com/holdfast-io/holdfast/actors/node/routing"
	"github.com/holdfast-io/holdfast/messages"
)

// A forwarded request keeps where its answer goes, whatever its payload looks like, and counts how often it was
// forwarded.
func TestForwardedMessage(t *testing.T) {
	for _, encoding := range []messages.Encoding{messages.JSON, messages.Protobuf} {
		for _, data := range []string{"", "{}", "\x0a\x01a"} {
			to := messages.ReplyTo{Subject: "_INBOX.x", Encoding: encoding,
				Origin: messages.Origin{Identity: "alice", Tenant: "ORDERS"}}
			e := routing.Envelope{ReplyTo: to, Data: []byte(data), Hops: 2}
			m := e.Message("to")
			if got := routing.ForwardedReplyTo(m); got != to {
				t.Errorf("%q: %v became %v", data, to, got)
			}
			to.Batched, to.Call = true, math.MaxUint64
			e.ReplyTo = to
			if got := routing.ForwardedReplyTo(e.Message("to")); got != to {
				t.Errorf("%q: %v became %v", data, to, got)
			}
			// A part of a survey has its share.
			to.Origin.Inner, to.Origin.Wanted = true, 7
			e.ReplyTo = to
			if got := routing.ForwardedReplyTo(e.Message("to")); got != to {
				t.Errorf("%q: %v became %v", data, to, got)
			}
			// NATS would drop the message if it had this reply subject.
			e.ReplyTo.Subject = "_R_.x.y"
			if imported := e.Message("to"); imported.Reply != "" || routing.ForwardedReplyTo(imported) != e.ReplyTo {
				t.Errorf("%q: %v became %v", data, e.ReplyTo, imported)
			}
			if m.Subject != "to" || m.Reply != "_INBOX.x" || string(m.Data) != data || routing.Hops(m) != 3 {
				t.Errorf("%q: became %+v with %d hops", data, m, routing.Hops(m))
			}
		}
	}
}

// A request that a shard gives back is as its client has sent it, and one of its tenant.
func TestReturnedRequestOfATenant(t *testing.T) {
	for _, body := range []proto.Message{
		&messages.AcquireRequest{Owner: "a", Session: "0123456789abcdef"},
		&messages.ExtendRequest{Owner: "a", Session: "0123456789abcdef"},
	} {
		sent := proto.Clone(body)
		routing.Qualify("ORDERS", body)
		r := &actors.Request{Resource: messages.Qualify("ORDERS", "a.b")}
		from := messages.ReplyTo{Subject: "_INBOX.x", Origin: messages.Origin{Tenant: "ORDERS"}}
		switch request := body.(type) {
		case *messages.AcquireRequest:
			r.Event = lease.Acquire{Request: request, From: from}
		case *messages.ExtendRequest:
			r.Event = lease.Extend{Request: request, From: from}
		}
		e, ok, err := routing.FromRequest(messages.Shard{Number: 3}, r)
		if !ok || err != nil || e.Key != "a.b" || e.Resource != r.Resource || e.ReplyTo != from {
			t.Fatalf("got %+v, %v", e, err)
		}
		got := messages.NewRequest(e.Operation)
		if err := messages.Decode(e.ReplyTo.Encoding, e.Data, got); err != nil || !proto.Equal(got, sent) {
			t.Errorf("got %v, %v, want %v", got, err, sent)
		}
	}
}

// A header that does not count is one of a request that was forwarded for the last time.
func TestHopsUnknown(t *testing.T) {
	for _, value := range []string{"", "-1", "x"} {
		m := &nats.Msg{Header: nats.Header{"Holdfast-Hops": {value}}}
		if got := routing.Hops(m); got != 4 {
			t.Errorf("%q: %d hops, want 4", value, got)
		}
	}
}

// A header that is there several times is as none, in whatever case of its name, so that the order of a map decides
// nothing.
func TestTraceHeadersThatAreThereTwice(t *testing.T) {
	const parent, other = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
		"00-0af7651916cd43dd8448eb211c80319c-00000000000000ff-01"
	for name, test := range map[string]struct {
		header nats.Header
		state  string
		ok     bool
	}{
		"Once":         {nats.Header{"TraceParent": {parent}, "TRACESTATE": {"a=1"}}, "a=1", true},
		"TwoSpellings": {nats.Header{"traceparent": {parent}, "Traceparent": {other}}, "", false},
		"TwoValues":    {nats.Header{"traceparent": {parent, other}}, "", false},
		"NoValue":      {nats.Header{"traceparent": {}, "Traceparent": {parent}}, "", true},
		"StateSpellings": {nats.Header{"traceparent": {parent}, "tracestate": {"a=1"}, "Tracestate": {"b=1"}}, "",
			true},
		"StateValues": {nats.Header{"traceparent": {parent}, "tracestate": {"a=1", "b=1"}}, "", true},
	} {
		for range 20 {
			trace := routing.Trace(&nats.Msg{Header: test.header})
			if (trace != nil) != test.ok || test.ok &&
				(trace.Context.State != test.state || trace.Context.Traceparent() != parent) {
				t.Fatalf("%s: %+v", name, trace)
			}
		}
	}
}

// A client's header is read in any case.
func TestContentTypeInAnyCase(t *testing.T) {
	m := &nats.Msg{Header: nats.Header{"content-TYPE": {"application/json"}}, Data: []byte("\x0a\x01a")}
	if routing.ReplyTo(m).Encoding != messages.JSON {
		t.Error("the header was not read")
	}
}
