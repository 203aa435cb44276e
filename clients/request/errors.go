package request

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/holdfast-io/holdfast/messages"
)

// Causes of an [Error], for [errors.Is].
var (
	// ErrNoAnswer: the time given to [Exchange.Within] is over.
	ErrNoAnswer = errors.New("no answer")
	// ErrNoResponders: NATS reports that no node listens on the request's subject.
	ErrNoResponders = errors.New("no node of Holdfast answers")
	// ErrNotConnected: the connection to NATS is interrupted, so the attempt was not sent.
	ErrNotConnected = errors.New("not connected to NATS")
	// ErrClosed: [Request.Stop] was closed.
	ErrClosed = errors.New("client closed")
)

// Error says why an exchange has no answer. It unwraps to Cause.
type Error struct {
	// Definite: the request has had no effect and will have none. If it is false, the request may have had
	// its effect, or may have it later.
	Definite bool
	// Cause is why the exchange ended: [ErrClosed], nats.ErrConnectionClosed, or as [ContextError] says. In
	// place of [ErrNoAnswer] it is what explains that best, if anything does: the NATS permission that the
	// user lacks; else why the latest attempt without effect had none, a [*Refusal], [ErrNoResponders],
	// [ErrNotConnected], or the error of nats.go when it was published.
	Cause error
}

// Error returns one line.
func (e *Error) Error() string {
	if e.Definite {
		return fmt.Sprintf("no effect: %v", e.Cause)
	}
	return fmt.Sprintf("outcome unknown: %v", e.Cause)
}

// Unwrap returns Cause.
func (e *Error) Unwrap() error { return e.Cause }

// Refusal is the answer of a node that could not carry the request out at that moment.
type Refusal struct{ Reply *messages.Reply }

// Error returns the service's sentence.
func (r *Refusal) Error() string { return r.Reply.GetError() }

// ContextError returns why a context has ended: its cause, and its error if that is another one.
func ContextError(ctx context.Context) error {
	cause := context.Cause(ctx)
	if errors.Is(cause, ctx.Err()) || errors.Is(cause, ErrNoAnswer) {
		return cause
	}
	return fmt.Errorf("%w: %w", ctx.Err(), cause)
}

// notConnected is [ErrNotConnected] with the servers, and what the connection last met.
func (s *Sender) notConnected() error {
	err := fmt.Errorf("%w at %s", ErrNotConnected, WithoutSecrets(strings.Join(s.nc.Servers(), ",")))
	if last := s.nc.LastError(); last != nil {
		err = fmt.Errorf("%w: %w", err, last)
	}
	return err
}

// noResponders is [ErrNoResponders] with the prefix.
func (s *Sender) noResponders() error {
	return fmt.Errorf("%w below %q; check the prefix, the account of the user, and that a node runs", ErrNoResponders,
		s.cfg.Prefix)
}
