package holdfast

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"google.golang.org/protobuf/proto"

	"github.com/holdfast-io/holdfast/messages"
)

const (
	// firstRetry and mostRetry are the pauses after an answer that nobody is there to decide.
	firstRetry = 50 * time.Millisecond
	mostRetry  = time.Second
	// openTries is how many tries of one request are remembered. The service answers the latest.
	openTries = 8
)

// exchange sends one request until it is answered. The same request again is the same for the service,
// so nothing happens twice.
type exchange struct {
	c *Client
	// life ends it: the client's, or its duty.
	life     context.Context
	op       messages.Operation
	resource string
	// door returns where the nth try goes.
	door func(n int) door
	// message returns the request as it is to be sent now.
	message func() proto.Message
	// resend bounds the pauses between tries without an answer.
	resend time.Duration
	// waits: it may be left without an answer by agreement. paged: the answer is a Reply only if it is an
	// error.
	waits, paged bool

	sent, voids int
	// open are the tries that may have had an effect, the oldest first; unsure: so may others that have
	// been forgotten.
	open   []uint64
	unsure bool
	// obstacle is what kept the latest try of no effect from having one; nil if there was none.
	obstacle error

	mu   sync.Mutex
	came []answer
	over bool // what comes now is a stray
	wake chan struct{}
}

// about returns an exchange about a resource.
func (c *Client) about(op messages.Operation, resource, key string, message func() proto.Message) *exchange {
	return &exchange{
		c: c, life: c.life, op: op, resource: resource, message: message, resend: messages.MostResend,
		door: func(n int) door { return c.door(op, key, n) },
		wake: make(chan struct{}, 1),
	}
}

// ask checks a request and returns its answer, within the client's timeout.
func (c *Client) ask(ctx context.Context, op messages.Operation, resource string, m proto.Message) (answer, error) {
	return c.askDuring(c.life, ctx, c.cfg.timeout, op, resource, m)
}

// clear asks on behalf of a chore, also while the client is being closed. It returns nil and false if there
// was no answer.
func (c *Client) clear(ctx context.Context, op messages.Operation, resource string, m proto.Message) (r *messages.Reply, done bool) {
	a, err := c.askDuring(c.duty, ctx, choreTurn, op, resource, m)
	if err != nil {
		return nil, errors.Is(err, ErrInvalid)
	}
	r, _ = a.reply() // what cannot be read says nothing
	return r, true
}

func (c *Client) askDuring(life, ctx context.Context, most time.Duration, op messages.Operation, resource string, m proto.Message) (answer, error) {
	if err := given(ctx, op, resource); err != nil {
		return answer{}, err
	}
	resource = messages.NormalizeResource(resource)
	key, err := messages.EncodeKey(resource)
	if err == nil {
		err = messages.DefaultLimits().Check(m)
	}
	if err != nil {
		return answer{}, invalid(op, resource, err)
	}
	x := c.about(op, resource, key, func() proto.Message { return m })
	x.life = life
	defer x.finish()
	return x.within(ctx, most)
}

// within runs the exchange for so long at most.
func (x *exchange) within(ctx context.Context, d time.Duration) (answer, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, d, errPatience)
	defer cancel()
	return x.run(ctx)
}

// run returns the answer, or an error that tells whether anything may have happened. The caller calls
// finish when it has dealt with it.
func (x *exchange) run(ctx context.Context) (answer, error) {
	switch {
	case x.life.Err() != nil:
		return answer{}, x.failure(ErrClosed)
	case ctx.Err() != nil:
		return answer{}, x.failure(ended(ctx))
	case x.c.isOff():
		return answer{}, x.failure(nats.ErrConnectionClosed)
	}
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		revived := x.c.whenRevived()
		select {
		case <-x.wake:
			if a, done := x.sift(timer); done {
				return a, nil
			}
			continue
		case <-timer.C:
		case <-revived:
		case <-ctx.Done():
			x.settle()
			return answer{}, x.failure(ended(ctx))
		case <-x.life.Done():
			x.settle()
			return answer{}, x.failure(ErrClosed)
		case <-x.c.off:
			x.settle()
			return answer{}, x.failure(nats.ErrConnectionClosed)
		}
		timer.Reset(x.send())
	}
}

func (c *Client) whenRevived() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.revived
}

// send tries once more and returns how long to wait for an answer.
func (x *exchange) send() time.Duration {
	id := x.c.send(x, x.door(x.sent), encode(x.message()))
	pause := messages.ResendAfter(x.sent)
	x.sent++
	if len(x.open) == openTries {
		x.c.forget(x.open[0])
		x.open, x.unsure = x.open[1:], true
	}
	x.open = append(x.open, id)
	return min(pause, x.resend)
}

// encode writes a request. That fails only for what is not UTF-8, which no request has that was checked.
func encode(m proto.Message) []byte {
	payload, err := messages.Encode(messages.Protobuf, m)
	if err != nil {
		panic(err)
	}
	return payload
}

// retryAfter returns how long to wait after the nth try that did nothing, counted from 0. It spreads those
// who found nobody, so that they do not all come back at once.
func retryAfter(n int) time.Duration {
	pause := min(firstRetry<<min(n, 10), mostRetry)
	return pause/2 + rand.N(pause)
}

// answered implements asker.
func (x *exchange) answered(a answer) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.over {
		x.stray(a)
		return
	}
	x.came = append(x.came, a)
	select {
	case x.wake <- struct{}{}:
	default:
	}
}

// next returns an answer that has come, if there is one.
func (x *exchange) next() (a answer, ok bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if len(x.came) == 0 {
		return answer{}, false
	}
	a, x.came = x.came[0], x.came[1:]
	return a, true
}

// sift looks through what has come for an answer to go by. When the latest try is known to have done
// nothing, the next one is soon: who is not to be found at one door may be at the other.
func (x *exchange) sift(timer *time.Timer) (answer, bool) {
	idle := false
	for {
		a, ok := x.next()
		if !ok {
			break
		}
		x.open = slices.DeleteFunc(x.open, func(id uint64) bool { return id == a.id })
		if !x.void(a) {
			x.learn(a)
			a.alone = x.certain()
			return a, true
		}
		idle = idle || len(x.open) == 0 || x.open[len(x.open)-1] < a.id
	}
	if idle {
		timer.Reset(retryAfter(x.voids))
		x.voids++
	}
	return answer{}, false
}

// settle takes note of the tries that are known by now to have done nothing: who gives up should not be told
// that anything may have happened if it cannot have.
func (x *exchange) settle() {
	x.open = x.c.recall(x.open)
	x.mu.Lock()
	defer x.mu.Unlock()
	x.came = slices.DeleteFunc(x.came, func(a answer) bool {
		if !x.void(a) {
			return false
		}
		x.open = slices.DeleteFunc(x.open, func(id uint64) bool { return id == a.id })
		return true
	})
}

// void reports whether the answer says no more than that this try did nothing, so that another one may
// fare better.
func (x *exchange) void(a answer) bool {
	switch {
	case a.unsent != nil:
		x.obstacle = a.unsent
		x.sent--
		return true
	case a.nobody():
		x.obstacle = errNobody
		return true
	}
	r, err := a.reply()
	if err != nil || x.paged && !a.failed() {
		return false
	}
	switch r.GetStatus() {
	case messages.Status_UNAVAILABLE:
		x.obstacle = errors.New(r.GetError())
		return true
	case messages.Status_OVERLOADED:
		x.obstacle = errors.New(r.GetError())
		return len(x.open) > 0 || x.unsure
	}
	return false
}

// learn notes that the front door answered where the direct one had not.
func (x *exchange) learn(a answer) {
	if !a.direct && x.sent > 1 && !x.waits {
		x.c.detour.begin(time.Since(x.c.born))
	}
}

// finish ends the exchange: what comes now, or has not been looked at, is a stray.
func (x *exchange) finish() {
	x.c.forget(x.open...)
	x.mu.Lock()
	x.over = true
	left := x.came
	x.came = nil
	x.mu.Unlock()
	for _, a := range left {
		x.stray(a)
	}
}

func (x *exchange) stray(a answer) {
	if a.unsent == nil {
		x.c.stray(a.msg)
	}
}

// certain reports whether nothing has happened and nothing can happen any more.
func (x *exchange) certain() bool { return len(x.open) == 0 && !x.unsure }

// failure says what is known of a request that was given up because of cause.
func (x *exchange) failure(cause error) error {
	e := &Error{Op: string(x.op), Resource: x.resource, Err: ErrUnknown, Cause: cause}
	if x.certain() || !changes(x.op) {
		e.Err = ErrUnavailable
	}
	switch forbidden := x.c.forbidden(); {
	case errors.Is(cause, errPatience) && forbidden != nil:
		e.Cause = forbidden
	case errors.Is(cause, errPatience) && x.obstacle != nil:
		e.Cause = x.obstacle
	}
	return e
}

var errNobody = errors.New("no Holdfast node is there, though NATS is")

// changes reports whether the operation may have an effect.
func changes(op messages.Operation) bool {
	switch op {
	case messages.OpAcquire, messages.OpRelease, messages.OpExtend, messages.OpBreak:
		return true
	}
	return false
}
