package locks

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/spf13/cobra"
	"google.golang.org/protobuf/proto"

	"github.com/holdfast-io/holdfast/clients/request"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/cli"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/connect"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/display"
	"github.com/holdfast-io/holdfast/cmd/holdfast/internal/exit"
	"github.com/holdfast-io/holdfast/messages"
)

const (
	// minTimeout is the minimum time for an answer if connecting took the whole timeout.
	minTimeout = 100 * time.Millisecond
	// withdrawalTimeout bounds the withdrawal of an interrupted request from the queue.
	withdrawalTimeout = time.Second
)

// question is a request with what is needed to repeat, renew and withdraw it.
type question struct {
	op messages.Operation
	// key of the resource, or the subject of a request about no single resource.
	key, subject string
	// wait is the time that the request may spend in the queue.
	wait time.Duration
	// message returns the request, whose remaining wait is left.
	message func(left time.Duration) proto.Message
	// withdrawal returns the message that removes the request from the queue; nil if it cannot be in one.
	withdrawal func() *messages.ReleaseRequest
	// token is where the request has its token, which is read first if it is 0; nil if it needs none.
	token *cli.Token
	// renew gives the request a new id after its lease has ended; nil if the user chose the id.
	renew func()
	// spent is the part of the timeout that connecting took.
	spent time.Duration
}

// asker sends the requests of one command, one after the other.
type asker struct {
	connection *connect.Flags
	nc         *nats.Conn
	sender     *request.Sender
	// late receives a lease that was granted after its request was interrupted.
	late chan *messages.Lease
}

// withAsker runs use with an asker on a connection of its own. name is that of the connection.
func withAsker(cmd *cobra.Command, c *connect.Flags, name string, use func(*asker) error) error {
	nc, err := c.Open(cmd.Context(), name, cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	defer nc.Close()
	a := &asker{connection: c, nc: nc, late: make(chan *messages.Lease, 1)}
	a.sender, err = request.NewSender(nc, request.Config{Prefix: c.Subjects(), Expected: c.Patient,
		Orphan: func(l *messages.Lease) {
			select {
			case a.late <- l:
			default:
			}
		}})
	if err != nil {
		return exit.Errorf(exit.Unavailable, "cannot receive answers: %w", err)
	}
	defer a.close()
	return use(a)
}

func (a *asker) close() {
	ctx, cancel := context.WithTimeout(context.Background(), withdrawalTimeout)
	defer cancel()
	a.sender.Close(ctx)
}

// reply returns the answer to q. The exit code of an error says whether the request may have had an effect.
func (a *asker) reply(ctx context.Context, q question) (*messages.Reply, error) {
	end := time.Now().Add(q.wait)
	deadline := end.Add(max(a.connection.Timeout.Duration-q.spent, minTimeout))
	for {
		answer, refusal, err := a.ask(ctx, q, deadline)
		if err != nil || refusal != nil {
			return refusal, err
		}
		reply, err := answer.Reply()
		if err != nil {
			return nil, exit.Errorf(exit.Unknown, "cannot decode the answer: %w", err)
		}
		switch {
		case reply.GetStatus() == messages.Status_TIMEOUT && q.wait > cli.Millis(messages.MaxWaitMillis):
			q.wait = time.Until(end)
		case q.renew != nil && isOver(q.op, reply.GetStatus()):
			q.renew()
		default:
			return reply, nil
		}
	}
}

// decide returns the answer to q, whose token is read first if it needs one and has none.
func (a *asker) decide(ctx context.Context, q question, owner string) (*messages.Reply, error) {
	if q.token != nil && *q.token == 0 {
		begun := time.Now()
		if r, err := a.find(ctx, q, owner); r != nil || err != nil {
			return r, err
		}
		q.spent += time.Since(begun)
	}
	return a.reply(ctx, q)
}

// find sets the token of a request that names none: that of the owner's only lease, else one by which the service says
// why there is none. Under the token 0 a late copy of the request would concern a later lease of the owner. If there is
// nothing to ask, it returns the answer.
func (a *asker) find(ctx context.Context, q question, owner string) (*messages.Reply, error) {
	r, err := a.reply(ctx, question{
		op: messages.OpGet, key: q.key, spent: q.spent,
		message: func(time.Duration) proto.Message { return &messages.GetRequest{} },
	})
	if err != nil || isRefusal(r.GetStatus()) {
		return r, err
	}
	own := slices.DeleteFunc(slices.Clone(r.GetHolders()),
		func(l *messages.Lease) bool { return l.GetOwner() != owner })
	switch *q.token = cli.Token(r.GetLease().GetToken()); {
	case len(own) > 1:
		return messages.Refuse(messages.Status_INVALID, messages.Invalid("token",
			fmt.Sprintf("that of one of the %d leases that the owner holds", len(own)), "0")), nil
	case len(own) == 1:
		*q.token = cli.Token(own[0].GetToken())
	case *q.token == 0:
		return &messages.Reply{Status: messages.Status_NOT_HELD}, nil
	}
	return nil, nil
}

// page reads the answer to q into m, or returns a refusal.
func (a *asker) page(ctx context.Context, q question, m proto.Message) (*messages.Reply, error) {
	answer, refusal, err := a.ask(ctx, q, time.Now().Add(max(a.connection.Timeout.Duration-q.spent, minTimeout)))
	if err != nil || refusal != nil {
		return refusal, err
	}
	var refused *request.Refusal
	switch err := answer.Decode(m); {
	case errors.As(err, &refused):
		return refused.Reply, nil
	case err != nil:
		return nil, exit.Errorf(exit.Unknown, "cannot decode the answer: %w", err)
	}
	return nil, nil
}

// ask sends q until it is answered. It returns an answer, the refusal of the last attempt, or an error.
func (a *asker) ask(ctx context.Context, q question, deadline time.Time) (*request.Answer, *messages.Reply, error) {
	begun := time.Now()
	if err := a.ready(ctx, q, deadline); err != nil {
		return nil, nil, err
	}
	notice := time.AfterFunc(q.wait+connect.NoticeAfter, func() {
		a.connection.Notice("no answer from Holdfast at %s yet", a.connection.Where())
	})
	defer notice.Stop()
	answer, failure := a.exchange(ctx, q, deadline)
	if failure == nil {
		return answer, nil, nil
	}
	interrupted := ctx.Err() != nil
	if interrupted && q.withdrawal != nil && !failure.Definite && a.withdraw(context.WithoutCancel(ctx), q) {
		return nil, &messages.Reply{Status: messages.Status_CANCELLED}, nil
	}
	refusal, err := a.explain(q, failure, interrupted, time.Since(begun))
	return nil, refusal, err
}

// ready makes sure that answers can arrive, before a request is sent whose outcome would be unknown.
func (a *asker) ready(ctx context.Context, q question, deadline time.Time) error {
	ctx, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	if err := a.nc.FlushWithContext(ctx); err != nil {
		return exit.Errorf(exit.Unavailable, "no answer from the NATS server at %s: %w", a.connection.Where(), err)
	}
	if err := a.nc.LastError(); errors.Is(err, nats.ErrPermissionViolation) {
		return a.forbidden(q)
	}
	return nil
}

// exchange runs one exchange.
func (a *asker) exchange(ctx context.Context, q question, deadline time.Time) (*request.Answer, *request.Error) {
	begun := time.Now()
	x := a.sender.Exchange(request.Request{
		Op: q.op, Key: q.key, Subject: q.subject, Waits: q.wait > 0, GivesUp: true,
		Message: func() proto.Message {
			left := q.wait
			if left > 0 {
				left = max(left-time.Since(begun), time.Millisecond) // 0 would be a request that does not wait
			}
			return q.message(left)
		},
	})
	defer x.Finish()
	answer, err := x.Within(ctx, time.Until(deadline))
	failure, _ := errors.AsType[*request.Error](err)
	return answer, failure
}

// withdraw removes an interrupted request from the queue, and releases a lease that was granted at the last
// moment. It reports whether the request is known to hold nothing.
func (a *asker) withdraw(ctx context.Context, q question) bool {
	deadline := time.Now().Add(withdrawalTimeout)
	withdrawal := q.withdrawal()
	switch a.release(ctx, q, withdrawal, deadline) {
	case messages.Status_CANCELLED, messages.Status_TIMEOUT, messages.Status_RELEASED:
		return true
	case messages.Status_STATUS_UNSPECIFIED:
		return false
	}
	select {
	case lease := <-a.late:
		withdrawal.Token = lease.GetToken()
		return a.release(ctx, q, withdrawal, deadline) == messages.Status_RELEASED
	default:
		return false // the request may never have arrived
	}
}

// release returns the status of the answer, unspecified without one.
func (a *asker) release(ctx context.Context, q question, r *messages.ReleaseRequest,
	deadline time.Time) messages.Status {
	answer, failure := a.exchange(ctx, question{
		op: messages.OpRelease, key: q.key, message: func(time.Duration) proto.Message { return r },
	}, deadline)
	if failure != nil {
		return messages.Status_STATUS_UNSPECIFIED
	}
	reply, _ := answer.Reply()
	return reply.GetStatus()
}

// explain turns the failure of an exchange into the refusal of its last attempt, or into an error with an exit
// code.
func (a *asker) explain(q question, failure *request.Error, interrupted bool, took time.Duration) (*messages.Reply,
	error) {
	var refusal *request.Refusal
	switch {
	case !failure.Definite || interrupted:
	case errors.Is(failure, nats.ErrPermissionViolation):
		return nil, a.forbidden(q)
	case errors.As(failure, &refusal):
		return refusal.Reply, nil
	case errors.Is(failure, request.ErrNoResponders):
		return nil, a.connection.NoNode(cmp.Or(q.subject, a.connection.Subjects().Operation(q.op, q.key)))
	}
	code, effect := exit.Unknown, fmt.Sprintf("%s may have had an effect; check with: holdfast get", q.op)
	if failure.Definite {
		code, effect = exit.Unavailable, "the request had no effect"
	}
	if interrupted {
		return nil, exit.Errorf(code, "interrupted before an answer: %s", effect)
	}
	return nil, exit.Errorf(code, "no answer from Holdfast at %s in %s: %s", a.connection.Where(),
		display.Duration(took), effect)
}

// forbidden is the error of a request that the user may not send, or to which it may not get an answer.
func (a *asker) forbidden(q question) error {
	err := a.nc.LastError()
	if !errors.Is(err, nats.ErrPermissionViolation) {
		err = nats.ErrPermissionViolation
	}
	var advice string
	if strings.Contains(err.Error(), "Subscription to") {
		advice = "; if the user has inboxes of its own, give --inbox-prefix"
	}
	return exit.Errorf(exit.Unavailable, "the NATS server at %s does not permit this user to %s: %w%s",
		a.connection.Where(), q.op, err, advice)
}
