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

// traces begins the traces of requests, and reports to the tracer how they have ended. It is safe for concurrent use.
type traces struct {
	clock  actors.Clock
	tracer Tracer // nil if there is none
}

// begun returns the trace of a message that has just come, nil if it has none.
func (t *traces) begun(m *nats.Msg) *messages.Trace {
	trace := routing.Trace(m)
	if t.notes(trace) {
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

// notes reports whether there is a tracer to read what is noted in a trace. Without one, only its context goes on.
func (t *traces) notes(trace *messages.Trace) bool { return trace != nil && t.tracer != nil }

// answered completes the trace of an answer that leaves, and reports it.
func (t *traces) answered(a lease.Answer) {
	of := a.To.Origin
	if !t.notes(of.Trace) {
		return
	}
	now := t.now()
	tracing.Finish(a, now)
	t.tracer.Answered(of.Trace, of.Operation, a.Reply, now)
}

// forwarded reports a request that is about to be forwarded, and lets its trace go on from there.
func (t *traces) forwarded(e routing.Envelope) {
	if trace := e.ReplyTo.Origin.Trace; t.notes(trace) {
		trace.Context = t.tracer.Forwarded(trace, e.Operation, t.now())
	}
}

// witness returns one that notes in traces what a term of a shard decides.
func witness() actors.Witness { return tracing.NewHolders() }

func (t *traces) now() time.Duration { return time.Duration(t.clock.Now().Instant) }

// locate notes in its trace what the subject says of a request; inShard: it is for one shard.
func (t *traces) locate(e *routing.Envelope, inShard bool) {
	trace := e.ReplyTo.Origin.Trace
	if !t.notes(trace) {
		return
	}
	if _, trace.Resource = messages.Unqualify(e.Resource); e.Operation.OfSession() {
		trace.Resource = messages.SessionLabel(messages.SessionHash(e.Resource)) // the id is the right to keep the session
	}
	trace.Shard, trace.InShard, trace.Hops = e.Shard, inShard, e.Hops
}

// name notes in its trace the lease that a request names.
func (t *traces) name(trace *messages.Trace, body proto.Message) {
	if !t.notes(trace) {
		return
	}
	if r, ok := body.(interface{ GetOwner() string }); ok {
		trace.Owner = r.GetOwner()
	}
	if r, ok := body.(interface{ GetToken() uint64 }); ok {
		trace.Token = messages.Token(r.GetToken())
	}
}
