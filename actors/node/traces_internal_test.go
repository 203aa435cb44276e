package node

import (
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/actors"
	"github.com/holdfast-io/holdfast/actors/lease"
	"github.com/holdfast-io/holdfast/actors/node/routing"
	"github.com/holdfast-io/holdfast/messages"
)

// Without a tracer, the context of a request goes on and nothing is noted.
func TestTraceWithoutTracer(t *testing.T) {
	x := &traces{clock: actors.SystemClock()}
	const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	trace := x.begin(&nats.Msg{Header: nats.Header{messages.HeaderTraceparent: {parent}}})
	if trace == nil {
		t.Fatal("no trace")
	}
	e := routing.Envelope{ReplyTo: messages.ReplyTo{Origin: messages.Origin{Trace: trace}}, Resource: "a", Shard: 1,
		Hops: 1}
	x.locate(&e, true)
	x.name(trace, &messages.ReleaseRequest{Owner: "o", Token: 1})
	if trace.Received != 0 || trace.Resource != "" || trace.Owner != "" {
		t.Errorf("noted %+v", trace)
	}
	if got := e.Message("to").Header.Get(messages.HeaderTraceparent); got != parent {
		t.Errorf("%q goes on", got)
	}
}

// reported counts what a tracer receives.
type reported struct{ answered, forwarded int }

func (x *reported) Answered(*messages.Trace, messages.Operation, *messages.Reply, time.Duration) {
	x.answered++
}

func (x *reported) Forwarded(t *messages.Trace, _ messages.Operation, _ time.Duration) messages.TraceContext {
	x.forwarded++
	return t.Context
}

// A request that there is no room to forward was not forwarded.
func TestNoRoomToForward(t *testing.T) {
	tracer := new(reported)
	x := &traces{clock: actors.SystemClock(), tracer: tracer}
	refused := newQueue(1, func([]lease.Answer) {})
	full := &peers{traces: x, forwarding: newQueue(0, func([]forwarding) {})}
	p := new(present)
	p.Store(&generation{Shards: messages.Shards{Count: 1}})
	out := &transport{present: p, traces: x, peers: full,
		outbox: &outbox{traces: x, lines: []*queue[lease.Answer]{refused}}}
	out.Forward(1, routing.Envelope{ReplyTo: messages.ReplyTo{Origin: messages.Origin{Trace: new(messages.Trace)}}})
	for _, err := range []error{full.forwarding.close(t.Context()), refused.close(t.Context())} {
		if err != nil {
			t.Error(err)
		}
	}
	if tracer.forwarded > 0 {
		t.Error("the tracer receives that it was forwarded")
	}
}
