package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"google.golang.org/protobuf/proto"

	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/connect"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/display"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/exit"
	"github.com/holdfast-io/holdfast/messages"
)

// retryAfter is the pause after an answer that no node is there, or none that can decide.
const retryAfter = 200 * time.Millisecond

// statusNobody is what NATS answers when nobody listens.
const statusNobody = "503"

// question is one request, which may have to be sent several times.
type question struct {
	op  messages.Operation
	key string
	// wait is how long the answer may take by agreement.
	wait time.Duration
	// message returns the request, of whose wait so much is left.
	message func(left time.Duration) proto.Message
	// withdrawal takes the request out of the queue; nil if it cannot be in one.
	withdrawal *messages.ReleaseRequest
	// renew gives the request another id, when its lease has ended; nil if the id is the user's own.
	renew func()
	// page takes the answer in if that is no Reply; nil if it is always one.
	page *messages.ListReply
	// spent is how much of the timeout it took to connect.
	spent time.Duration
}

// exchange sends a question until it has an answer.
type exchange struct {
	question
	nc      *nats.Conn
	prefix  messages.Prefix
	where   string
	inbox   string
	answers chan *nats.Msg
	errs    chan error

	begun    time.Time
	sent     int
	encoding messages.Encoding
	// open are the tries of which it is not certain that they did nothing.
	open map[string]bool
	// refusal is the last answer that said so, nil if it was that nobody is there.
	refusal *messages.Reply
}

// ask returns the answer to q. Without one it tells by the exit code whether anything may have
// happened.
func ask(ctx context.Context, c *connect.Flags, nc *nats.Conn, q question) (*messages.Reply, error) {
	x := &exchange{
		question: q,
		nc:       nc,
		prefix:   messages.Prefix(c.Prefix),
		where:    c.Where(),
		inbox:    nc.NewInbox(),
		answers:  make(chan *nats.Msg, 64),
		errs:     make(chan error, 1),
		begun:    time.Now(),
		open:     make(map[string]bool),
	}
	nc.SetErrorHandler(x.heed)
	subscription, err := nc.ChanSubscribe(x.inbox+".*", x.answers)
	if err != nil {
		return nil, exit.Errorf(exit.Unavailable, "cannot listen for an answer: %w", err)
	}
	defer func() { _ = subscription.Unsubscribe() }()
	limit, cancel := context.WithTimeout(ctx, q.wait+max(c.Timeout.Duration-q.spent, leastTimeout))
	defer cancel()
	if err := x.ready(limit); err != nil {
		return nil, err
	}
	notice := time.AfterFunc(q.wait+connect.NoticeAfter, func() { c.Notice("no answer from Holdfast at %s yet", c.Where()) })
	defer notice.Stop()
	return x.run(limit)
}

// leastTimeout is what is left to ask when connecting took all of the timeout.
const leastTimeout = 100 * time.Millisecond

// heed takes in what the server complains of. Only a lack of permission concerns the exchange: the
// server has thrown away what was sent.
func (x *exchange) heed(_ *nats.Conn, _ *nats.Subscription, err error) {
	if errors.Is(err, nats.ErrPermissionViolation) {
		select {
		case x.errs <- err:
		default:
		}
	}
}

// ready makes sure that answers can arrive before anything is asked.
func (x *exchange) ready(ctx context.Context) error {
	if err := x.nc.FlushWithContext(ctx); err != nil {
		return exit.Errorf(exit.Unavailable, "no answer from the NATS server at %s: %w", x.where, err)
	}
	if err := x.nc.LastError(); errors.Is(err, nats.ErrPermissionViolation) {
		return x.forbidden(err)
	}
	return nil
}

func (x *exchange) forbidden(err error) error {
	return exit.Errorf(exit.Unavailable, "the NATS server at %s does not permit this user to %s: %w", x.where, x.op, err)
}

func (x *exchange) run(ctx context.Context) (*messages.Reply, error) {
	for {
		next := messages.ResendAfter(x.sent)
		if err := x.send(x.op, x.message(x.left())); err != nil {
			next = retryAfter
		}
		reply, err := x.listen(ctx, next)
		if reply != nil || err != nil {
			return reply, err
		}
	}
}

// left is what remains of the wait; never nothing of one that there was, which would be a request of
// another kind.
func (x *exchange) left() time.Duration {
	if x.wait == 0 {
		return 0
	}
	return max(x.wait-time.Since(x.begun), time.Millisecond)
}

// send tries once more. Every try has an inbox of its own, to tell which of them an answer is to.
func (x *exchange) send(op messages.Operation, m proto.Message) error {
	payload, err := messages.Encode(messages.Protobuf, m)
	if err != nil {
		return err
	}
	x.encoding = messages.EncodingOf("", payload) // an empty request is JSON, and answered so
	x.sent++
	inbox := x.inbox + "." + strconv.Itoa(x.sent)
	if err := x.nc.PublishRequest(x.subject(op), inbox, payload); err != nil {
		return err
	}
	x.open[inbox] = true
	return nil
}

func (x *exchange) subject(op messages.Operation) string {
	if op == opList {
		return x.prefix.List()
	}
	return x.prefix.Operation(op, x.key)
}

// listen takes answers in until it is time to send again, which it tells by returning nothing.
func (x *exchange) listen(ctx context.Context, next time.Duration) (*messages.Reply, error) {
	resend := time.NewTimer(next)
	defer resend.Stop()
	for {
		select {
		case m := <-x.answers:
			reply, err := x.take(m)
			if reply != nil || err != nil {
				return reply, err
			}
			if len(x.open) == 0 {
				resend.Reset(retryAfter)
			}
		case <-resend.C:
			return nil, nil
		case err := <-x.errs:
			if len(x.open) <= 1 {
				return nil, x.forbidden(err)
			}
		case <-ctx.Done():
			return x.end(ctx)
		}
	}
}

// take returns the answer if it is one to go by, and nothing if the question has to be sent again.
func (x *exchange) take(m *nats.Msg) (*messages.Reply, error) {
	reply, err := x.read(m)
	if err != nil {
		return nil, err
	}
	if x.renew != nil && isOver(x.op, reply.GetStatus()) {
		if x.open[m.Subject] { // else it is of a request before this one
			x.renew()
			clear(x.open)
		}
		return nil, nil
	}
	if reply != nil && !didNothing(reply.GetStatus()) {
		return reply, nil
	}
	delete(x.open, m.Subject)
	x.refusal = reply
	if len(x.open) > 0 || worthAnother(reply) {
		return nil, nil
	}
	return x.refused()
}

// read returns nil for what NATS itself answers when nobody is there. When it has read a page, the
// reply is an empty one; a refusal of a page is a reply, and its header tells so.
func (x *exchange) read(m *nats.Msg) (*messages.Reply, error) {
	if len(m.Data) == 0 && m.Header.Get("Status") == statusNobody {
		return nil, nil
	}
	var reply messages.Reply
	var into proto.Message = &reply
	if x.page != nil && m.Header.Get(messages.HeaderServiceError) == "" {
		into = x.page
	}
	if err := messages.DecodeReply(x.encoding, m.Data, into); err != nil {
		return nil, exit.Errorf(exit.Unknown, "cannot understand the answer: %w", err)
	}
	return &reply, nil
}

// worthAnother reports whether the same question may soon have another answer: no node is there, or none
// that can decide, as while one restarts or takes over from another.
func worthAnother(reply *messages.Reply) bool {
	return reply == nil || reply.GetStatus() == messages.Status_UNAVAILABLE
}

func (x *exchange) refused() (*messages.Reply, error) {
	if x.refusal != nil {
		return x.refusal, nil
	}
	below := ""
	if x.prefix != messages.DefaultPrefix {
		below = fmt.Sprintf(" with the prefix %q", x.prefix)
	}
	return nil, exit.Errorf(exit.Unavailable, "no Holdfast node%s answers at %s, though NATS does: nothing listens on %s; "+
		"start one with: holdfast serve --nats URL, or check --prefix and the account of this user",
		below, x.where, x.subject(x.op))
}

// end says what is known when the time is up, or when somebody has lost patience.
func (x *exchange) end(ctx context.Context) (*messages.Reply, error) {
	interrupted := !errors.Is(ctx.Err(), context.DeadlineExceeded)
	if interrupted && x.withdrawal != nil && len(x.open) > 0 {
		return x.withdraw()
	}
	if len(x.open) == 0 && x.sent > 0 && !interrupted {
		return x.refused()
	}
	return nil, x.silence(interrupted)
}

func (x *exchange) silence(interrupted bool) error {
	code, what := exit.Unknown, fmt.Sprintf("%s may have happened; ask with: holdfast get", x.op)
	if len(x.open) == 0 || x.op == messages.OpGet || x.op == opList {
		code, what = exit.Unavailable, "nothing happened"
	}
	if interrupted {
		return exit.Errorf(code, "interrupted before there was an answer: %s", what)
	}
	return exit.Errorf(code, "no answer from Holdfast at %s in %s: %s", x.where, display.Duration(time.Since(x.begun)), what)
}

// isOver reports whether an acquire was told that its request had been granted, and its lease has ended: the
// answer was lost, and came too late again.
func isOver(op messages.Operation, s messages.Status) bool {
	return op == messages.OpAcquire && (s == messages.Status_RELEASED || s == messages.Status_EXPIRED)
}

// didNothing reports whether a node that answers so has done nothing.
func didNothing(s messages.Status) bool {
	_, is := s.ServiceCode()
	return is
}
