package doctor

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

// answerTimeout bounds a request. A node answers within two seconds that JetStream confirms nothing.
const answerTimeout = 3 * time.Second

// errNoAnswer says that a request was not answered in time.
var errNoAnswer = errors.New("no answer in time")

// deniedError is a permission that the user of the connection lacks.
type deniedError struct {
	subject   string
	subscribe bool
}

func (e *deniedError) Error() string {
	if e.subscribe {
		return "permission to subscribe to " + e.subject
	}
	return "permission to publish on " + e.subject
}

// refusedError is a refusal by a node.
type refusedError struct{ *messages.Reply }

func (e *refusedError) Error() string {
	status := strings.ToLower(e.GetStatus().String()) + ": "
	return status + strings.TrimPrefix(display.OneLine(e.GetError()), status)
}

// asker sends requests, each once. NATS discards a message that the user may not publish, and reports that to the connection
// only; the asker ends the request then.
type asker struct {
	nc *nats.Conn

	mu sync.Mutex
	// waiting are the requests under way.
	waiting map[*pending]bool
	// deaf: the user may not receive answers.
	deaf *deniedError
}

// pending is a request under way, and what ends it.
type pending struct {
	subject string
	end     context.CancelCauseFunc
}

func newAsker(nc *nats.Conn) *asker {
	a := &asker{nc: nc, waiting: make(map[*pending]bool)}
	nc.SetErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { a.complain(err) })
	return a
}

// complain takes what NATS reports to the connection.
func (a *asker) complain(err error) {
	if !errors.Is(err, nats.ErrPermissionViolation) {
		return
	}
	_, quoted, _ := strings.Cut(err.Error(), `"`)
	subject, _, _ := strings.Cut(quoted, `"`)
	denied := &deniedError{subject: subject, subscribe: strings.Contains(err.Error(), "Subscription")}
	a.mu.Lock()
	defer a.mu.Unlock()
	if denied.subscribe {
		a.deaf = denied
	}
	for request := range a.waiting {
		if denied.subscribe || request.subject == subject {
			request.end(denied)
		}
	}
}

// begin notes a request under way. The context that it returns ends if the user may not send it.
func (a *asker) begin(ctx context.Context, timeout time.Duration, subject string) (context.Context, func()) {
	ctx, stop := context.WithTimeout(ctx, timeout)
	ctx, end := context.WithCancelCause(ctx)
	request := &pending{subject, end}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.waiting[request] = true
	if a.deaf != nil {
		end(a.deaf)
	}
	return ctx, func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		delete(a.waiting, request)
		end(nil)
		stop()
	}
}

// send returns the answer to a message. The error is a [*deniedError], [nats.ErrNoResponders], or says that there was no
// answer in time.
func (a *asker) send(ctx context.Context, timeout time.Duration, m *nats.Msg) (*nats.Msg, error) {
	ctx, done := a.begin(ctx, timeout, m.Subject)
	defer done()
	answer, err := a.nc.RequestMsgWithContext(ctx, m)
	if err != nil {
		return nil, failure(ctx, err)
	}
	return answer, nil
}

// failure returns why a request was not answered.
func failure(ctx context.Context, err error) error {
	switch denied, is := errors.AsType[*deniedError](context.Cause(ctx)); {
	case is:
		return denied
	case errors.Is(err, nats.ErrNoResponders):
		return err
	case errors.Is(err, context.DeadlineExceeded):
		return errNoAnswer
	}
	return err
}

// ask sends a request of the contract and reads its answer into reply. A refusal is a [*refusedError].
func (a *asker) ask(ctx context.Context, subject string, request, reply proto.Message) error {
	return a.askWithin(ctx, answerTimeout, subject, request, reply)
}

func (a *asker) askWithin(ctx context.Context, timeout time.Duration, subject string, request, reply proto.Message) error {
	payload, err := messages.Encode(messages.Protobuf, request)
	if err != nil {
		return err
	}
	return a.read(ctx, timeout, &nats.Msg{Subject: subject, Data: payload}, reply)
}

// read is ask for a request that is encoded already.
func (a *asker) read(ctx context.Context, timeout time.Duration, request *nats.Msg, reply proto.Message) error {
	m, err := a.send(ctx, timeout, request)
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
	return &refusedError{refusal}
}

// gather sends a message to all that listen, and passes each answer and the time that it took to take, until take returns
// true.
func (a *asker) gather(ctx context.Context, subject string, take func(m *nats.Msg, took time.Duration) (enough bool)) error {
	ctx, done := a.begin(ctx, answerTimeout, subject)
	defer done()
	sub, err := a.nc.SubscribeSync(a.nc.NewInbox())
	if err != nil {
		return err
	}
	defer func() { _ = sub.Unsubscribe() }()
	begun := time.Now()
	if err := a.nc.PublishRequest(subject, sub.Subject, nil); err != nil {
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
