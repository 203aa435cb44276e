package routing_test

import (
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/actors/node/routing"
	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/blindtest"
)

// The headers of an envelope, whatever they are, are read within their bounds, and are the same after another hop.
func FuzzForwarded(f *testing.F) {
	target := blindtest.New(f)
	target.Add("Holdfast-Hops", "2", "Holdfast-Call", "18446744073709551615", []byte("{}"))
	target.Add("Holdfast-Hops", "-1", "Content-Type", "application/protobuf", []byte(""))
	target.Add("Holdfast-Inner", "1", "Holdfast-Identity", "alice", []byte("\x0a\x01a"))
	target.Add("traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "tracestate", "a=1",
		[]byte("\n{"))
	target.Add("Holdfast-Inner", "1", "content-TYPE", "application/json", []byte("\n{}"))
	target.Fuzz(func(t *testing.T, name, value, otherName, otherValue string, data []byte) {
		h := nats.Header{name: {value}}
		h[otherName] = append(h[otherName], otherValue)
		m := &nats.Msg{Subject: "a", Reply: "_INBOX.x", Header: h, Data: data}
		_ = routing.ReplyTo(m) // a client may have sent it
		to, hops := routing.ForwardedReplyTo(m), routing.Hops(m)
		if hops < 0 {
			t.Errorf("%d hops", hops)
		}
		if to.Origin.Trace = routing.Trace(m); to.Origin.Trace != nil &&
			len(to.Origin.Trace.Context.State) > messages.MaxTracestateBytes {
			t.Errorf("%d bytes of state", len(to.Origin.Trace.Context.State))
		}
		next := routing.Envelope{ReplyTo: to, Data: data, Hops: hops % 100}.Message("b")
		got, trace := routing.ForwardedReplyTo(next), routing.Trace(next)
		if routing.Hops(next) != hops%100+1 || (trace == nil) != (to.Origin.Trace == nil) {
			t.Errorf("%v became %v", m, next)
		}
		if trace != nil && trace.Context != to.Origin.Trace.Context {
			t.Errorf("%v became %v", to.Origin.Trace.Context, trace.Context)
		}
		if got.Origin.Trace = to.Origin.Trace; got != to {
			t.Errorf("%v became %v", to, got)
		}
	})
}
