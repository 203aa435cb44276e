package holdfast

import (
	"context"
	"errors"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/holdfast-io/holdfast/clients/request"
	"github.com/holdfast-io/holdfast/messages"
)

// ask checks a request and returns its answer, within the client's timeout.
func (c *Client) ask(ctx context.Context, op messages.Operation, resource string, m proto.Message) (*request.Answer, error) {
	return c.askDuring(c.life, ctx, c.cfg.timeout, op, resource, m)
}

// clear asks for background work, also while the client is being closed. It returns nil and false if there
// was no answer.
func (c *Client) clear(ctx context.Context, op messages.Operation, resource string, m proto.Message) (r *messages.Reply, done bool) {
	a, err := c.askDuring(c.duty, ctx, jobTurn, op, resource, m)
	if err != nil {
		return nil, errors.Is(err, ErrInvalid)
	}
	r, _ = a.Reply() // an answer that cannot be decoded says nothing
	return r, true
}

// askDuring asks until life, ctx or the time most ends.
func (c *Client) askDuring(life, ctx context.Context, most time.Duration, op messages.Operation, resource string, m proto.Message) (*request.Answer, error) {
	name, key, err := check(ctx, op, resource, m)
	if err != nil {
		return nil, err
	}
	x := c.sender.Exchange(request.Request{
		Op: op, Key: key, Message: func() proto.Message { return m }, Stop: life.Done(),
	})
	defer x.Finish()
	a, err := x.Within(ctx, most)
	if err != nil {
		return nil, unanswered(op, name, err)
	}
	return a, nil
}

// askAbout asks a question that is about no single resource, and reads the answer into m.
func (c *Client) askAbout(ctx context.Context, op messages.Operation, subject string, q, m proto.Message) error {
	x := c.sender.Exchange(request.Request{
		Op: op, Subject: subject, Message: func() proto.Message { return q }, Stop: c.life.Done(),
	})
	defer x.Finish()
	a, err := x.Within(ctx, c.cfg.timeout)
	if err != nil {
		return unanswered(op, "", err)
	}
	err = a.Decode(m)
	if refusal := (*request.Refusal)(nil); errors.As(err, &refusal) {
		return refused(op, "", refusal.Reply)
	}
	if err != nil {
		return &Error{Op: string(op), Err: ErrUnavailable, Cause: err}
	}
	return nil
}

// unanswered says what is known of a request that has no answer.
func unanswered(op messages.Operation, resource string, err error) error {
	e := &Error{Op: string(op), Resource: resource, Err: ErrUnknown, Cause: err}
	if failure := (*request.Error)(nil); errors.As(err, &failure) {
		e.Cause = failure.Cause
		if failure.Definite {
			e.Err = ErrUnavailable
		}
	}
	return e
}
