// Package holdfastotel makes the calls of a Holdfast client spans of OpenTelemetry.
//
//	client, err := holdfast.New(nc, holdfastotel.Trace())
//
// Each call that asks the service about a resource is a span of kind client below that of its context: Acquire,
// TryAcquire, Release, Extend, Downgrade, Set, Get, Break, Confirm and the calls that are made of these. The span of an
// Acquire has its whole wait. What the client asks of its own accord, such as renewals, has no span.
//
// The requests of a sampled span carry its context in the headers of W3C, traceparent and tracestate. If the nodes
// trace, their spans are below it, and that of a request which waits links to the span of the Acquire whose lease it
// waits for. A request with these headers is not sent in a batch. The requests of a span that is not sampled have no
// header and cost the service nothing.
//
// The attributes are messaging.* of the semantic conventions, and
//
//	holdfast.resource  what is locked
//	holdfast.owner     the name of its holder, if the call has one
//	holdfast.token     the token of the lease
//	holdfast.outcome   the status of the answer, as docs/wire.md has it: GRANTED
//
// A span has the status error and the attribute error.type if its call has failed. That a lock is held is an outcome
// and not a failure.
package holdfastotel

import (
	"context"
	"errors"

	"github.com/nats-io/nats.go"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/holdfast-io/holdfast/clients/holdfast"
)

// scope is what spans are attributed to.
const scope = "github.com/holdfast-io/holdfast/clients/holdfast/holdfastotel"

// Option is a setting of [Trace].
type Option func(*tracer)

// Provider is where the spans go; by default the provider that is registered with otel when Trace is called.
func Provider(p trace.TracerProvider) Option { return func(t *tracer) { t.provider = p } }

// Trace is the option of a client whose calls are spans.
func Trace(opts ...Option) holdfast.Option {
	t := &tracer{provider: otel.GetTracerProvider()}
	for _, o := range opts {
		o(t)
	}
	t.tracer = t.provider.Tracer(scope, trace.WithSchemaURL(semconv.SchemaURL))
	return holdfast.WithTracer(t)
}

// tracer implements holdfast.Tracer.
type tracer struct {
	provider trace.TracerProvider
	tracer   trace.Tracer
}

// Begin implements holdfast.Tracer. The attributes come after the decision to sample, so that calls without it cost
// little.
func (t *tracer) Begin(ctx context.Context, c holdfast.Call) holdfast.Span {
	ctx, s := t.tracer.Start(ctx, c.Op+" "+c.Destination, trace.WithSpanKind(trace.SpanKindClient))
	if !s.IsRecording() {
		return nil
	}
	s.SetAttributes(
		semconv.MessagingSystemKey.String("nats"), semconv.MessagingOperationTypeSend,
		semconv.MessagingOperationName(c.Op),
		semconv.MessagingDestinationTemplate(c.Destination), attribute.String("holdfast.resource", c.Resource),
	)
	if c.Owner != "" {
		s.SetAttributes(attribute.String("holdfast.owner", c.Owner))
	}
	if c.Token > 0 {
		s.SetAttributes(attribute.Int64("holdfast.token", int64(c.Token)))
	}
	return &span{s, headerOf(ctx)}
}

// headerOf returns the headers of the context's span, nil if it is not sampled.
func headerOf(ctx context.Context) nats.Header {
	if !trace.SpanContextFromContext(ctx).IsSampled() {
		return nil
	}
	fields := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, fields)
	h := make(nats.Header, len(fields))
	for name, value := range fields {
		h[name] = []string{value}
	}
	return h
}

// span implements holdfast.Span.
type span struct {
	span   trace.Span
	header nats.Header
}

// Header implements holdfast.Span.
func (s *span) Header() nats.Header { return s.header }

// End implements holdfast.Span.
func (s *span) End(r holdfast.Result) {
	if r.Outcome != "" {
		s.span.SetAttributes(attribute.String("holdfast.outcome", r.Outcome))
	}
	if r.Token > 0 {
		s.span.SetAttributes(attribute.Int64("holdfast.token", int64(r.Token)))
	}
	if r.Err != nil {
		s.span.SetStatus(codes.Error, r.Err.Error())
		s.span.SetAttributes(semconv.ErrorTypeKey.String(errorType(r.Err)))
	}
	s.span.End()
}

// errorType returns which of the client's errors it is.
func errorType(err error) string {
	if e := (*holdfast.Error)(nil); errors.As(err, &e) {
		return e.Err.Error()
	}
	return err.Error()
}
