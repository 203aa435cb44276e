package holdfast

import (
	"context"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/holdfast-io/holdfast/clients/internal/clock"
	"github.com/holdfast-io/holdfast/clients/request"
	"github.com/holdfast-io/holdfast/messages"
)

// release is a lease that is to be released at the service, which has a tombstone already.
type release struct {
	c     *Client
	id    leaseID
	key   string
	owner string
	// secret is that of the lease; nil: it has none.
	secret []byte
	// graves are where its tombstones are. downgrading: the lease may have another token by now.
	graves      []grave
	downgrading bool
	// until is when the lease is over at the service too.
	until time.Time
}

// run releases the lease and returns what the service found. It waits no longer than the lease may last. If
// ctx ends earlier, the client goes on without the caller.
func (r *release) run(ctx context.Context) error {
	chore := r.c.chores
	chore.timeout = min(r.c.cfg.timeout, clock.Until(r.until))
	a, err := chore.run(ctx, r.id.resource, request.Request{Op: messages.OpRelease, Key: r.key, Message: r.message})
	if err == nil {
		defer r.over()
		return r.outcome(a)
	}
	if ctx.Err() != nil && r.c.life.Err() != nil { // Close is over, and nothing is done later
		r.post()
		r.over()
		return &Error{Op: string(messages.OpRelease), Resource: r.id.resource, Err: ErrUnknown, Cause: request.ContextError(ctx)}
	}
	r.later()
	return err
}

// later releases the lease in the background.
func (r *release) later() {
	r.c.background.add(job{until: r.until, end: r.over, do: func(ctx context.Context) bool {
		_, done := r.c.chores.clear(ctx, messages.OpRelease, r.id.resource, r.message())
		return done
	}})
}

// post sends the release once, and expects no answer.
func (r *release) post() {
	r.c.sender.Post(r.c.sender.Route(messages.OpRelease, r.key, 0), request.Encode(r.message()))
}

// over removes the tombstones.
func (r *release) over() {
	r.c.handles.released(r.graves)
	if r.downgrading {
		r.c.downgraded(holder{r.id.resource, r.owner})
	}
}

func (r *release) message() proto.Message {
	return &messages.ReleaseRequest{Owner: r.owner, Token: uint64(r.id.token), Secret: r.secret}
}

func (r *release) outcome(a *request.Answer) error {
	reply, err := a.Reply()
	if err != nil {
		return &Error{Op: string(messages.OpRelease), Resource: r.id.resource, Err: ErrUnknown, Cause: err}
	}
	switch reply.GetStatus() {
	case messages.Status_RELEASED:
		return nil
	case messages.Status_NOT_HELD, messages.Status_NOT_OWNER, messages.Status_STALE_TOKEN:
		e := lost(messages.OpRelease, r.id.resource, reply)
		if !a.Alone {
			e.Err = ErrUnknown // an earlier attempt may have released it, and others had it since
		}
		return e
	case messages.Status_EXPIRED:
		return lost(messages.OpRelease, r.id.resource, reply)
	}
	return refused(messages.OpRelease, r.id.resource, reply)
}

// giveBack releases a lease in the background, unless it has a handle.
func (c *Client) giveBack(l *messages.Lease, s secret) {
	if c.handles.releasing(l, nil) {
		r := &release{
			c: c, id: idOf(l), owner: l.GetOwner(), secret: s.value, graves: []grave{graveOf(l)},
			until: clock.Now().Add(millis(l.GetTtlMs())),
		}
		r.later()
	}
}
