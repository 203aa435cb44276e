package holdfast

import (
	"context"
	"errors"

	"github.com/nats-io/nats.go"
	"google.golang.org/protobuf/proto"

	"github.com/holdfast-io/holdfast/clients/request"
	"github.com/holdfast-io/holdfast/messages"
)

// Tracer records the calls that ask the service about a resource, so that each can be a span of a trace. What the
// client asks of its own accord, such as renewals, is not recorded, and neither is a lock of a [Cached] lease for which
// nothing is asked. Its methods and those of its spans are called
// concurrently and must not block. The package holdfastotel has one for OpenTelemetry.
type Tracer interface {
	// Begin is called when a call begins, with the caller's context. It returns nil if the call is not recorded.
	Begin(ctx context.Context, call Call) Span
}

// opDowngrade is an extension that asks for a downgrade, as errors and calls have it.
const opDowngrade messages.Operation = "downgrade"

// Call is a call that asks the service about a resource.
type Call struct {
	// Op is what is asked for: "acquire", "release", "extend", "downgrade", "get", "break", "confirm" or "set".
	Op string
	// Destination is the subject of the request, with {resource} in the place of the key.
	Destination string
	// Resource that the call is about.
	Resource string
	// Owner and Token of the lease; empty and 0 if the call names none.
	Owner string
	Token Token
}

// Span is a call that is recorded.
type Span interface {
	// Header goes with each request of the call, which is then not sent in a batch; nil: none does. It is not modified.
	Header() nats.Header
	// End is called once, when the call returns.
	End(Result)
}

// Result is how a call has ended.
type Result struct {
	// Outcome is the status of the service's answer, as docs/wire.md names it: "GRANTED"; empty if there was no answer.
	Outcome string
	// Token is that of the lease in the answer; 0 if there is none.
	Token Token
	// Err is why the call has failed; nil if it has not. That a lock is held is not a failure.
	Err error
}

// tracing begins spans. Without a tracer it begins none.
type tracing struct {
	tracer Tracer
	prefix messages.Prefix
}

// begin begins the span of a call.
func (t tracing) begin(ctx context.Context, op messages.Operation, c Call) span {
	if t.tracer == nil {
		return span{}
	}
	sent := op
	if op == opDowngrade {
		sent = messages.OpExtend
	}
	c.Op, c.Destination = string(op), t.prefix.Operation(sent, "{resource}")
	return span{t.tracer.Begin(ctx, c)}
}

// callOf returns what a request about a resource says of its lease.
func callOf(resource string, m proto.Message) Call {
	c := Call{Resource: resource}
	if r, ok := m.(interface{ GetOwner() string }); ok {
		c.Owner = r.GetOwner()
	}
	if r, ok := m.(interface{ GetToken() uint64 }); ok {
		c.Token = Token(r.GetToken())
	}
	return c
}

// span is a call that is recorded, unless its Span is nil.
type span struct{ Span }

func (s span) header() nats.Header {
	if s.Span == nil {
		return nil
	}
	return s.Header()
}

// answered ends the span of a call with what an exchange returned.
func (s span) answered(op messages.Operation, resource string, a *request.Answer, err error) {
	if s.Span == nil {
		return
	}
	var r *messages.Reply
	if err == nil {
		r, err = a.Reply()
		switch {
		case err != nil:
			err = &Error{Op: string(op), Resource: resource, Err: ErrUnknown, Cause: err}
		case refusals[r.GetStatus()] != nil:
			err = refused(op, resource, r)
		}
	}
	s.end(r.GetStatus(), Token(r.GetLease().GetToken()), err)
}

// returned ends the span of a call with what the call returns: an error, or the status of the answer and the token of
// the lock that the call leaves held, 0 if there is none.
func (s span) returned(outcome messages.Status, token Token, err error) {
	if s.Span == nil {
		return
	}
	if err != nil {
		outcome, token = messages.Status_STATUS_UNSPECIFIED, 0
	}
	if e := (*Error)(nil); errors.As(err, &e) {
		outcome = e.status
	}
	s.end(outcome, token, err)
}

// end ends the span with the status of the answer, zero: there was none, the token of the lease, and why it fails.
func (s span) end(outcome messages.Status, token Token, err error) {
	r := Result{Token: token}
	if outcome != messages.Status_STATUS_UNSPECIFIED {
		r.Outcome = outcome.String()
	}
	if !errors.Is(err, ErrHeld) {
		r.Err = err
	}
	s.End(r)
}
