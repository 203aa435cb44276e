package node

import (
	"time"

	"github.com/nats-io/nats.go"
	"google.golang.org/protobuf/proto"

	"github.com/holdfast-io/holdfast/actors"
	"github.com/holdfast-io/holdfast/actors/lease"
	"github.com/holdfast-io/holdfast/actors/node/routing"
	"github.com/holdfast-io/holdfast/actors/node/tracing"
	"github.com/holdfast-io/holdfast/messages"
)

// Tracer receives each traced request when the node is done with it. A request is traced if its headers name a span
// that is recorded. The methods are called concurrently, must not block, and must not modify or keep the trace.
type Tracer interface {
	// Answered: the answer to a request leaves at now, on the clock of the trace. The operation is empty if the subject
	// of the request has none.
	Answered(t *messages.Trace, op messages.Operation, r *messages.Reply, now time.Duration)
	// Forwarded: a request goes on to the node that owns its shard. It returns the context that goes with it.
	Forwarded(t *messages.Trace, op messages.Operation, now time.Duration) messages.TraceContext
}

// traces notes in traces, and reports to the tracer how their requests have ended. Its methods are called for requests
// that have a trace. Without a tracer nothing is noted, and the context of a request only goes on to other nodes. It is
// safe for concurrent use.
type traces struct {
	clock  actors.Clock
	tracer Tracer // nil if there is none
}

// begin returns the trace of a request that has just come; nil if it has none.
func (t *traces) begin(m *nats.Msg) *messages.Trace {
	trace := routing.Trace(m)
	if trace != nil && t.tracer != nil {
		trace.Received = t.now()
	}
	return trace
}

// another returns a trace that begins like one, nil like none.
func another(t *messages.Trace) *messages.Trace {
	if t == nil {
		return nil
	}
	return new(*t)
}

// answered completes the trace of an answer that leaves, and reports it.
func (t *traces) answered(a lease.Answer) {
	if t.tracer == nil {
		return
	}
	now, of := t.now(), a.To.Origin
	tracing.Finish(a, now)
	t.tracer.Answered(of.Trace, of.Operation, a.Reply, now)
}

// forwarded reports a request that is about to be forwarded, and lets its trace go on from there.
func (t *traces) forwarded(e routing.Envelope) {
	if trace := e.ReplyTo.Origin.Trace; t.tracer != nil {
		trace.Context = t.tracer.Forwarded(trace, e.Operation, t.now())
	}
}

// witness returns one that notes in traces what a term of a shard decides.
func witness() actors.Witness { return tracing.NewHolders() }

func (t *traces) now() time.Duration { return time.Duration(t.clock.Now().Instant) }

// locate notes in its trace what the subject says of a request; inShard: it is for one shard.
func (t *traces) locate(e *routing.Envelope, inShard bool) {
	if t.tracer == nil {
		return
	}
	trace := e.ReplyTo.Origin.Trace
	if _, trace.Resource = messages.Unqualify(e.Resource); e.Operation.OfSession() {
		// the id is the right to keep the session
		trace.Resource = messages.SessionLabel(messages.SessionHash(e.Resource))
	}
	trace.Shard, trace.InShard, trace.Hops = e.Shard, inShard, e.Hops
}

// name notes in a trace the lease that its request names.
func (t *traces) name(trace *messages.Trace, body proto.Message) {
	if t.tracer == nil {
		return
	}
	if r, ok := body.(interface{ GetOwner() string }); ok {
		trace.Owner = r.GetOwner()
	}
	if r, ok := body.(interface{ GetToken() uint64 }); ok {
		trace.Token = messages.Token(r.GetToken())
	}
}
