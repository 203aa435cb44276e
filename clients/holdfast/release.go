package holdfast

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"google.golang.org/protobuf/proto"

	"github.com/holdfast-io/holdfast/clients/internal/alarm"
	"github.com/holdfast-io/holdfast/clients/internal/clock"
	"github.com/holdfast-io/holdfast/clients/request"
	"github.com/holdfast-io/holdfast/messages"
)

// release is a lease that is to be released at the service.
type release struct {
	c *core
	holder
	token Token
	key   string
	// requestID is that of the request to withdraw, with which its lease ends; empty: the lease of the token is released.
	requestID string
	// secret is that of the lease; nil: it has none.
	secret []byte
	// until is when the lease is over at the service too, unless a session prolongs it.
	until time.Time
	lease released
}

// released is a lease as its release sees it: a [handle], or an [orphan].
type released interface {
	// forsake ends the session that prolongs the lease, if one does. It is called unless the lease is known to be over.
	forsake()
	// released receives that the release is over.
	released()
}

// run releases the lease and returns what the service found. It waits no longer than the lease may last. If
// ctx ends earlier, the client goes on without the caller.
func (r *release) run(ctx context.Context) error {
	s := r.c.tracing.begin(ctx, messages.OpRelease, Call{Resource: r.resource, Owner: r.owner, Token: r.token})
	err := r.ask(ctx, s.header())
	s.returned(messages.Status_RELEASED, 0, err)
	return err
}

// ask is run within its span, whose header goes with the request.
func (r *release) ask(ctx context.Context, header nats.Header) error {
	timeout := min(r.c.cfg.timeout, clock.Until(r.until))
	a, err := r.c.cleanup.within(timeout).run(ctx, r.resource, request.Request{
		Op: messages.OpRelease, Key: r.key, Message: r.message, Header: header,
	})
	if err == nil {
		defer r.lease.released()
		return r.outcome(a)
	}
	if ctx.Err() != nil && r.c.life.Err() != nil { // Close is over, and nothing is done later
		r.post()
		r.lease.released()
		return &Error{Op: string(messages.OpRelease), Resource: r.resource, Err: ErrUnknown,
			Cause: request.ContextError(ctx)}
	}
	r.later()
	return err
}

// begin sends the release at once, and waits for nothing: it may be called with the mutex of the lease held, on any
// goroutine. What is not answered soon is repeated in the background.
func (r *release) begin() {
	if !r.c.goroutines.Join() {
		r.post()
		r.lease.released()
		return
	}
	f := &firstRelease{release: r}
	f.alarm.Waker = f
	to := r.c.sender.Route(messages.OpRelease, r.key, 0)
	r.c.sender.Send(to, request.Message{Payload: request.Encode(r.message()), Owner: r.owner}, f.answered)
	r.c.alarms.Set(&f.alarm, clock.Now().Add(messages.FirstResend))
}

// firstRelease is the first attempt of a release for which nobody waits.
type firstRelease struct {
	*release
	// decided: the attempt was answered, or its time is over.
	decided atomic.Bool
	alarm   alarm.Alarm // calls Wake
}

func (f *firstRelease) answered(a *request.Answer) {
	if f.decided.Swap(true) {
		return
	}
	f.c.alarms.Stop(&f.alarm)
	reply, err := a.Reply()
	f.end(a.NotSent == nil && err == nil && isEnd(reply.GetStatus()))
}

// Wake is called by the alarm.
func (f *firstRelease) Wake() {
	if !f.decided.Swap(true) {
		f.end(false)
	}
}

func (f *firstRelease) end(known bool) {
	defer f.c.goroutines.Leave()
	if known {
		f.lease.released()
	} else {
		f.later()
	}
}

// later releases the lease in the background.
func (r *release) later() {
	known := false
	r.c.background.add(job{
		until: r.until,
		do: func(ctx context.Context) bool {
			reply, done := r.c.cleanup.clear(ctx, messages.OpRelease, r.resource, r.message())
			known = isEnd(reply.GetStatus())
			return done
		},
		end: func() {
			if !known {
				r.abandon()
			}
			r.lease.released()
		},
	})
}

// abandon lets the lease run out.
func (r *release) abandon() {
	r.lease.forsake() // mutant: SessionKeepsWhatIsNotWanted
}

// isEnd reports whether an answer to a release shows that the lease is over.
func isEnd(s messages.Status) bool {
	switch s {
	case messages.Status_RELEASED, messages.Status_EXPIRED, messages.Status_NOT_HELD, messages.Status_NOT_OWNER,
		messages.Status_STALE_TOKEN:
		return true
	}
	return false
}

// post sends the release once, and expects no answer.
func (r *release) post() {
	to := r.c.sender.Route(messages.OpRelease, r.key, 0)
	r.c.sender.Send(to, request.Message{Payload: request.Encode(r.message())}, nil)
}

func (r *release) message() proto.Message {
	if r.requestID != "" {
		return &messages.ReleaseRequest{Owner: r.owner, RequestId: r.requestID, Secret: r.secret}
	}
	return &messages.ReleaseRequest{Owner: r.owner, Token: uint64(r.token), Secret: r.secret}
}

func (r *release) outcome(a *request.Answer) error {
	reply, err := a.Reply()
	if !isEnd(reply.GetStatus()) {
		r.abandon()
	}
	if err != nil {
		return &Error{Op: string(messages.OpRelease), Resource: r.resource, Err: ErrUnknown, Cause: err}
	}
	switch status := reply.GetStatus(); {
	case status == messages.Status_RELEASED:
		return nil
	case !isEnd(status):
		return refused(messages.OpRelease, r.resource, reply)
	}
	e := lost(messages.OpRelease, r.resource, reply)
	if reply.GetStatus() != messages.Status_EXPIRED && !a.Alone {
		e.Err = ErrUnknown // an earlier attempt may have released it, and others had it since
	}
	return e
}
