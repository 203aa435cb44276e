package routing_test

import (
	"math"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/actors/node/routing"
	"github.com/holdfast-io/holdfast/messages"
)

// A forwarded request keeps where its answer goes, whatever its payload looks like, and counts how often it was
// forwarded.
func TestForwardedMessage(t *testing.T) {
	for _, encoding := range []messages.Encoding{messages.JSON, messages.Protobuf} {
		for _, data := range []string{"", "{}", "\x0a\x01a"} {
			to := messages.ReplyTo{Subject: "_INBOX.x", Encoding: encoding}
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
			if m.Subject != "to" || m.Reply != "_INBOX.x" || string(m.Data) != data || routing.Hops(m) != 3 {
				t.Errorf("%q: became %+v with %d hops", data, m, routing.Hops(m))
			}
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

// A client's header is read in any case.
func TestContentTypeInAnyCase(t *testing.T) {
	m := &nats.Msg{Header: nats.Header{"content-TYPE": {"application/json"}}, Data: []byte("\x0a\x01a")}
	if routing.ReplyTo(m).Encoding != messages.JSON {
		t.Error("the header was not read")
	}
}
