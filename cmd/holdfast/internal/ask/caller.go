// Package ask sends requests to a deployment, each once, and reads listings page by page. What has to be repeated until
// it is answered is sent by clients/request and clients/holdfast.
package ask

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"google.golang.org/protobuf/proto"

	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/display"
	"github.com/holdfast-io/holdfast/messages"
)

// ErrNoAnswer means that a request was not answered in time.
var ErrNoAnswer = errors.New("no answer in time")

// DeniedError is a permission of NATS that the user of the connection lacks.
type DeniedError struct {
	Subject   string
	Subscribe bool
}

// Error names the permission.
func (e *DeniedError) Error() string {
	if e.Subscribe {
		return "permission to subscribe to " + e.Subject
	}
	return "permission to publish on " + e.Subject
}

// RefusedError is the answer of a node that has not carried a request out.
type RefusedError struct{ *messages.Reply }

// Error returns the status and the sentence of the node, in one line.
func (e *RefusedError) Error() string {
	status := strings.ToLower(e.GetStatus().String()) + ": "
	return status + strings.TrimPrefix(display.OneLine(e.GetError()), status)
}

// Caller sends requests on one connection, each once. NATS discards a message that the user may not publish, and
// reports that to the error handler of the connection only; the caller ends the request then. It is safe for concurrent
// use.
type Caller struct {
	nc *nats.Conn

	mu sync.Mutex
	// open are the requests without an answer.
	open map[*call]bool
	// unheard is why the user cannot receive answers; nil: it can.
	unheard *DeniedError
}

// call is a request without an answer, and what ends it.
type call struct {
	subject string
	end     context.CancelCauseFunc
}

// New returns a caller. It replaces the error handler of the connection.
func New(nc *nats.Conn) *Caller {
	c := &Caller{nc: nc, open: make(map[*call]bool)}
	nc.SetErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { c.deny(err) })
	return c
}

// deny ends the requests that NATS has discarded, by what it reports to the connection.
func (c *Caller) deny(err error) {
	if !errors.Is(err, nats.ErrPermissionViolation) {
		return
	}
	_, quoted, _ := strings.Cut(err.Error(), `"`)
	subject, _, _ := strings.Cut(quoted, `"`)
	denied := &DeniedError{Subject: subject, Subscribe: strings.Contains(err.Error(), "Subscription")}
	c.mu.Lock()
	defer c.mu.Unlock()
	if denied.Subscribe {
		c.unheard = denied
	}
	for r := range c.open {
		if denied.Subscribe || r.subject == subject {
			r.end(denied)
		}
	}
}

// begin registers a request. The context that it returns ends after the timeout, or if the user may not send the
// request.
func (c *Caller) begin(ctx context.Context, timeout time.Duration, subject string) (context.Context, func()) {
	ctx, stop := context.WithTimeout(ctx, timeout)
	ctx, end := context.WithCancelCause(ctx)
	r := &call{subject, end}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open[r] = true
	if c.unheard != nil {
		end(c.unheard)
	}
	return ctx, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.open, r)
		end(nil)
		stop()
	}
}

// Send returns the answer to a message. The error is a [*DeniedError], [nats.ErrNoResponders], [ErrNoAnswer] or one of
// the connection.
func (c *Caller) Send(ctx context.Context, timeout time.Duration, m *nats.Msg) (*nats.Msg, error) {
	ctx, done := c.begin(ctx, timeout, m.Subject)
	defer done()
	answer, err := c.nc.RequestMsgWithContext(ctx, m)
	if err != nil {
		return nil, failure(ctx, err)
	}
	return answer, nil
}

// failure returns why a request was not answered.
func failure(ctx context.Context, err error) error {
	switch denied, is := errors.AsType[*DeniedError](context.Cause(ctx)); {
	case is:
		return denied
	case errors.Is(err, nats.ErrNoResponders):
		return err
	case errors.Is(err, context.DeadlineExceeded):
		return ErrNoAnswer
	}
	return err
}

// Ask sends a request of the contract and reads its answer into reply. Beside those of [Caller.Send] the error may be a
// [*RefusedError].
func (c *Caller) Ask(ctx context.Context, timeout time.Duration, subject string, request, reply proto.Message) error {
	payload, err := messages.Encode(messages.Protobuf, request)
	if err != nil {
		return err
	}
	return c.Read(ctx, timeout, &nats.Msg{Subject: subject, Data: payload}, reply)
}

// Read is [Caller.Ask] for a request that is encoded already.
func (c *Caller) Read(ctx context.Context, timeout time.Duration, request *nats.Msg, reply proto.Message) error {
	m, err := c.Send(ctx, timeout, request)
	encoding := messages.EncodingOf("", request.Data) // an empty request is JSON, and so is its answer
	switch {
	case err != nil:
		return err
	case m.Header.Get(messages.HeaderServiceError) == "":
		return messages.DecodeReply(encoding, m.Data, reply)
	}
	refusal := &messages.Reply{}
	if err := messages.DecodeReply(encoding, m.Data, refusal); err != nil {
		return err
	}
	return &RefusedError{refusal}
}

// Gather sends a message to all that listen, and passes each answer and the time that it took to take, until take
// returns true.
func (c *Caller) Gather(
	ctx context.Context, timeout time.Duration, subject string,
	take func(m *nats.Msg, took time.Duration) (enough bool),
) error {
	ctx, done := c.begin(ctx, timeout, subject)
	defer done()
	sub, err := c.nc.SubscribeSync(c.nc.NewInbox())
	if err != nil {
		return err
	}
	defer func() { _ = sub.Unsubscribe() }()
	begun := time.Now()
	if err := c.nc.PublishRequest(subject, sub.Subject, nil); err != nil {
		return err
	}
	for {
		m, err := sub.NextMsgWithContext(ctx)
		if err != nil {
			return failure(ctx, err)
		}
		if take(m, time.Since(begun)) {
			return nil
		}
	}
}
