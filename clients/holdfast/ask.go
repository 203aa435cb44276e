package holdfast

import (
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/holdfast-io/holdfast/clients/request"
	"github.com/holdfast-io/holdfast/messages"
)

// asker asks the service and waits for the answer, for no longer than its timeout, and until stop is closed. givesUp is
// as in [request.Request].
type asker struct {
	givesUp bool
	sender  *request.Sender
	timeout time.Duration
	stop    <-chan struct{}
	tracing tracing
}

// ask checks a request about a resource and returns its answer.
func (a asker) ask(ctx context.Context, op messages.Operation, resource string, m proto.Message) (*request.Answer,
	error) {
	name, key, err := check(ctx, op, resource, m)
	if err != nil {
		return nil, err
	}
	s := a.tracing.begin(ctx, op, callOf(name, m))
	answer, err := a.run(ctx, name, request.Request{Op: op, Key: key, Message: func() proto.Message { return m },
		Header: s.header()})
	s.answered(op, name, answer, err)
	return answer, err
}

// clear is ask for background work. It returns nil and false if there was no answer.
func (a asker) clear(ctx context.Context, op messages.Operation, resource string, m proto.Message) (r *messages.Reply,
	done bool) {
	answer, err := a.ask(ctx, op, resource, m)
	if err != nil {
		return nil, errors.Is(err, ErrInvalid)
	}
	r, _ = answer.Reply() // an answer that cannot be decoded says nothing
	return r, true
}

// end is ask for a request that takes a lease away.
func (a asker) end(ctx context.Context, op messages.Operation, resource string, m proto.Message) error {
	answer, err := a.ask(ctx, op, resource, m)
	if err != nil {
		return err
	}
	r, err := answer.Reply()
	switch {
	case err != nil:
		return &Error{Op: string(op), Resource: resource, Err: ErrUnknown, Cause: err}
	case r.GetStatus() == messages.Status_RELEASED:
		return nil
	}
	return refused(op, resource, r)
}

// askAbout asks a question that is about no single resource, and reads the answer into m.
func (a asker) askAbout(ctx context.Context, op messages.Operation, subject string, q, m proto.Message) error {
	answer, err := a.run(ctx, "", request.Request{Op: op, Subject: subject, Message: func() proto.Message { return q }})
	if err != nil {
		return err
	}
	err = answer.Decode(m)
	if refusal := (*request.Refusal)(nil); errors.As(err, &refusal) {
		return refused(op, "", refusal.Reply)
	}
	if err != nil {
		return &Error{Op: string(op), Err: ErrUnavailable, Cause: err}
	}
	return nil
}

// within returns an asker with another timeout.
func (a asker) within(timeout time.Duration) asker {
	a.timeout = timeout
	return a
}

func (a asker) run(ctx context.Context, resource string, r request.Request) (*request.Answer, error) {
	r.Stop, r.GivesUp = a.stop, a.givesUp
	x := a.sender.Exchange(r)
	defer x.Finish()
	answer, err := x.Within(ctx, a.timeout)
	if err != nil {
		return nil, unanswered(r.Op, resource, err)
	}
	return answer, nil
}

// unanswered says what is known of a request that has no answer.
func unanswered(op messages.Operation, resource string, err error) error {
	e := &Error{Op: string(op), Resource: resource, Err: ErrUnknown, Cause: err}
	if failure := (*request.Error)(nil); errors.As(err, &failure) {
		e.Cause = failure.Cause
		if failure.Definite {
			e.Err, e.Reason = ErrUnavailable, reasonOf(failure.Cause)
		} else if refusal := (*request.Refusal)(nil); errors.As(failure.Cause, &refusal) {
			// What it says is true of the attempt that it answers, and not of the earlier one that is unanswered.
			e.Cause = fmt.Errorf("an attempt had no answer, and a later one was refused: %w", request.ErrNoAnswer)
		}
	}
	return e
}
