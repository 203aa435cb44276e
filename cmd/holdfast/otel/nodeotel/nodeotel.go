// Package nodeotel makes traced requests to a node spans of OpenTelemetry.
//
// A request has spans if its headers name a sampled span (W3C Trace Context). They are made when its answer leaves, so
// a request that is never answered has none, and neither has one that a limit of the node keeps out. Below the sender's
// span there is one of kind server from the arrival of the request to its answer, and below that:
//
//	decide  from the arrival until the resource looked at the request
//	wait    in the queue, until it was granted or given up, with links to the requests that it waited for; or, if it is about a
//	        session, until the leases of that have followed it
//	commit  until the journal had confirmed the answer, with those of others
//
// A request that a node forwards has a span "forward" on that node, from its arrival there, and its others below it. So
// has a request that waited on a node which handed its shard over.
//
// The links of a wait name the spans of those whose leases were held when it began, then of those whose leases ended
// when it was granted. A node remembers them in memory, for 16 384 leases of a shard, and only of requests that were
// traced; another owner of the shard does not know them.
package nodeotel

import (
	"cmp"
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/holdfast-io/holdfast/messages"
)

// scope is what spans are attributed to.
const scope = "github.com/holdfast-io/holdfast/cmd/holdfast/otel/nodeotel"

// Tracer makes the spans of a node. It implements node.Tracer, and is safe for concurrent use.
type Tracer struct {
	tracer trace.Tracer
	// names has the name of the span of an operation, and destinations the subject with a placeholder.
	names, destinations map[messages.Operation]string
}

// New returns the tracer of a node of the deployment with this prefix.
func New(p trace.TracerProvider, prefix messages.Prefix) *Tracer {
	t := &Tracer{
		tracer: p.Tracer(scope, trace.WithSchemaURL(semconv.SchemaURL)),
		names:  make(map[messages.Operation]string), destinations: make(map[messages.Operation]string),
	}
	for _, op := range messages.Operations {
		placeholder := "{resource}"
		if op.OfSession() {
			placeholder = "{session}"
		}
		t.destinations[op] = prefix.Operation(op, placeholder)
		t.names[op] = string(op) + " " + t.destinations[op]
	}
	return t
}

// Answered implements node.Tracer.
func (t *Tracer) Answered(m *messages.Trace, op messages.Operation, r *messages.Reply, now time.Duration) {
	c := clock{time.Now(), now}
	ctx, s := t.tracer.Start(below(m), t.name(op), trace.WithSpanKind(trace.SpanKindServer), c.at(m.Received))
	if !s.IsRecording() {
		return
	}
	t.describe(s, m, op)
	s.SetAttributes(attribute.String("holdfast.outcome", r.GetStatus().String()))
	if token := cmp.Or(r.GetLease().GetToken(), uint64(m.Token)); token > 0 {
		s.SetAttributes(attribute.Int64("holdfast.token", int64(token)))
	}
	if isFailure(r.GetStatus()) {
		s.SetStatus(codes.Error, r.GetError())
		s.SetAttributes(semconv.ErrorTypeKey.String(r.GetStatus().String()))
	}
	t.parts(ctx, m, c)
	s.End(c.at(now))
}

// parts makes the spans of what the node did with the request.
func (t *Tracer) parts(ctx context.Context, m *messages.Trace, c clock) {
	if m.Decided > 0 {
		t.part(ctx, "decide", c, m.Received, m.Decided)
	}
	if m.Decided > 0 && m.Settled > m.Decided {
		t.part(ctx, "wait", c, m.Decided, m.Settled, links(m.WaitedFor)...)
	}
	if m.Settled > 0 && m.Committed > 0 {
		t.part(ctx, "commit", c, m.Settled, m.Committed)
	}
}

func (t *Tracer) part(ctx context.Context, name string, c clock, from, to time.Duration, links ...trace.Link) {
	_, s := t.tracer.Start(ctx, name, c.at(from), trace.WithLinks(links...))
	s.End(c.at(to))
}

// Forwarded implements node.Tracer.
func (t *Tracer) Forwarded(m *messages.Trace, op messages.Operation, now time.Duration) messages.TraceContext {
	c := clock{time.Now(), now}
	_, s := t.tracer.Start(below(m), "forward", trace.WithSpanKind(trace.SpanKindClient), c.at(m.Received))
	defer s.End(c.at(now))
	if !s.SpanContext().IsSampled() {
		return m.Context
	}
	t.describe(s, m, op)
	next := s.SpanContext()
	return messages.TraceContext{TraceID: next.TraceID(), SpanID: next.SpanID(), State: m.Context.State}
}

// describe sets what is known of a request.
func (t *Tracer) describe(s trace.Span, m *messages.Trace, op messages.Operation) {
	s.SetAttributes(
		semconv.MessagingSystemKey.String("nats"), semconv.MessagingOperationTypeProcess,
		attribute.Int("holdfast.hops", m.Hops),
	)
	if m.InShard {
		s.SetAttributes(attribute.Int64("holdfast.shard", int64(m.Shard)))
	}
	if op != "" {
		s.SetAttributes(semconv.MessagingOperationName(string(op)),
			semconv.MessagingDestinationTemplate(t.destinations[op]))
	}
	switch {
	case m.Resource == "":
	case op.OfSession():
		s.SetAttributes(attribute.String("holdfast.session", m.Resource))
	default:
		s.SetAttributes(attribute.String("holdfast.resource", m.Resource))
	}
	if m.Owner != "" {
		s.SetAttributes(attribute.String("holdfast.owner", m.Owner))
	}
}

func (t *Tracer) name(op messages.Operation) string {
	if name, ok := t.names[op]; ok {
		return name
	}
	return "request"
}

// isFailure reports whether the service has failed: not the client, and not a lock that is held.
func isFailure(s messages.Status) bool {
	_, refused := s.ServiceCode()
	return refused && s != messages.Status_INVALID
}

// below returns a context whose span is that of the request's sender.
func below(m *messages.Trace) context.Context {
	return trace.ContextWithRemoteSpanContext(context.Background(), spanContext(m.Context))
}

func spanContext(c messages.TraceContext) trace.SpanContext {
	state, err := trace.ParseTraceState(c.State)
	if err != nil {
		state = trace.TraceState{} // W3C: a malformed tracestate is dropped, and the traceparent is not
	}
	return trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: c.TraceID, SpanID: c.SpanID, TraceFlags: trace.FlagsSampled, TraceState: state, Remote: true,
	})
}

// links returns a link to each span.
func links(all []messages.TraceContext) (links []trace.Link) {
	for _, c := range all {
		links = append(links, trace.Link{SpanContext: spanContext(c)})
	}
	return links
}

// clock converts times on the clock of a node, which is now when the wall clock is wall.
type clock struct {
	wall time.Time
	now  time.Duration
}

func (c clock) at(t time.Duration) trace.SpanEventOption {
	return trace.WithTimestamp(c.wall.Add(t - c.now))
}
