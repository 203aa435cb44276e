package soak

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"google.golang.org/protobuf/proto"

	"github.com/holdfast-io/holdfast/messages"
)

var (
	// errCrashed: the client's process has died.
	errCrashed = errors.New("crashed")
	// errLate: nothing has come for as long as the client wanted to look.
	errLate = errors.New("late")
)

// call is a request on its way, through all its repetitions.
type call struct {
	number   uint64
	resource *resource
	op       messages.Operation
	subject  string
	endpoint string
	payload  []byte
	wait     time.Duration

	// sent is when it was sent first, last when last.
	sent, last instant
	sends      int
	place      uint64
	life       uint64
	// overtaken is the token of a grant to a request behind this one; the resource's lock guards it.
	overtaken uint64
}

// answer is a reply and when it came.
type answer struct {
	*messages.Reply
	at instant
	// waited: it came out of the queue.
	waited bool
}

// connected makes sure that the client has a connection and an inbox.
func (c *client) connected(ctx context.Context) error {
	for c.conn == nil || c.conn.isOver() {
		if c.conn != nil && c.conn.crashed.Load() {
			return errCrashed
		}
		conn, err := c.process.connection(ctx)
		if err != nil {
			return err
		}
		c.conn, c.inbox = conn, nats.NewInbox()
		if c.sub, err = conn.ChanSubscribe(c.inbox+".*", c.in); err != nil {
			continue // it is over
		}
	}
	return nil
}

// begin sends a request, to either endpoint.
func (c *client) begin(ctx context.Context, r *resource, op messages.Operation, m proto.Message,
	wait time.Duration) (*call, error) {
	return c.beginAbout(ctx, r, r.key, op, m, wait)
}

// beginAbout is begin of a request about another key in the shard of a resource: that of a session.
func (c *client) beginAbout(ctx context.Context, r *resource, key string, op messages.Operation, m proto.Message,
	wait time.Duration) (*call, error) {
	payload, err := messages.Encode(c.encoding, m)
	if err != nil {
		return nil, err
	}
	c.calls++
	q := &call{
		number: c.calls, resource: r, op: op, payload: payload, wait: wait,
		subject: messages.DefaultPrefix.Operation(op, key), endpoint: string(op),
	}
	if c.direct {
		q.subject, q.endpoint = messages.DefaultPrefix.Direct(r.shard, op, key), "direct"
	}
	q.sent = c.now()
	if err := c.send(ctx, q); err != nil {
		return nil, err
	}
	if op == messages.OpAcquire {
		r.waits(q)
		c.open = append(c.open, q)
	}
	return q, nil
}

// send sends a request once more.
func (c *client) send(ctx context.Context, q *call) error {
	q.resource.answered(q) // or it never will be; a request that is sent again is in no order
	for {
		if err := c.connected(ctx); err != nil {
			return err
		}
		q.sends++
		q.last, q.life = c.now(), c.conn.life
		place, err := c.conn.send(&nats.Msg{
			Subject: q.subject, Reply: c.inbox + "." + strconv.FormatUint(q.number, 10), Data: q.payload,
		})
		if err == nil {
			q.place = place
			return nil
		}
	}
}

// route is what keeps this request in line with others, if it was sent once only.
func (q *call) route() route {
	if q.sends > 1 {
		return route{}
	}
	return route{q.life, q.endpoint}
}

// await returns the answer, for which it sends the request again if the node is restarted. It is
// errLate after patience, unless that is 0.
func (c *client) await(ctx context.Context, q *call, patience time.Duration) (answer, error) {
	var late <-chan time.Time
	if patience > 0 {
		late = c.after(patience)
	}
	for {
		if a, ok := c.box[q.number]; ok {
			delete(c.box, q.number)
			if again, err := c.take(ctx, q, a); !again || err != nil {
				return a, err
			}
			continue
		}
		if q.life != c.conn.life { // the connection was lost while the client waited for something else
			if err := c.send(ctx, q); err != nil {
				return answer{}, err
			}
		}
		silent := time.NewTimer(q.last + q.wait + silence - c.now())
		err := c.listen(ctx, q, late, silent.C)
		silent.Stop()
		if err != nil {
			return answer{}, err
		}
	}
}

// listen waits for the next thing to happen.
func (c *client) listen(ctx context.Context, q *call, late, silent <-chan time.Time) error {
	select {
	case m := <-c.in:
		c.sort(m)
		return nil
	case <-c.conn.over:
		return c.disconnected(ctx, q)
	case <-late:
		return errLate
	case <-silent:
		c.fail(q, "no answer for %v to a request that was to wait for %v, while its connection lasted", c.now()-q.last,
			q.wait)
		return context.Canceled
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// disconnected goes on when the connection is over: with what it has brought, or else from the start.
func (c *client) disconnected(ctx context.Context, q *call) error {
	for len(c.in) > 0 {
		c.sort(<-c.in)
	}
	if _, ok := c.box[q.number]; ok {
		return nil
	}
	if !c.conn.crashed.Load() {
		q.resource.checkAnswered(q)
	}
	c.retries.Add(1)
	return c.send(ctx, q)
}

// sort puts a message into the box, where its request finds it.
func (c *client) sort(m *nats.Msg) {
	i := strings.LastIndexByte(m.Subject, '.')
	if m.Subject[:i] != c.inbox {
		return // of an earlier life
	}
	number, err := strconv.ParseUint(m.Subject[i+1:], 10, 64)
	if err != nil || number <= c.forgotten {
		return
	}
	a := answer{Reply: &messages.Reply{}, at: c.now(), waited: m.Reply != ""}
	if m.Header.Get("Status") == "503" {
		a.Status = messages.Status_UNAVAILABLE
	} else if err := messages.DecodeReply(messages.EncodingOf("", m.Data), m.Data, a.Reply); err != nil {
		c.violated("an answer that cannot be read: %q: %v", m.Data, err)
	}
	c.box[number] = a
}

// legal are the answers that an operation may have.
var legal = map[messages.Operation][]messages.Status{
	messages.OpAcquire: {
		messages.Status_GRANTED, messages.Status_HELD, messages.Status_TIMEOUT, messages.Status_CANCELLED,
		messages.Status_RELEASED, messages.Status_EXPIRED, messages.Status_HELD_BACK,
	},
	messages.OpRelease: {
		messages.Status_RELEASED, messages.Status_CANCELLED, messages.Status_EXPIRED, messages.Status_NOT_HELD,
		messages.Status_NOT_OWNER, messages.Status_STALE_TOKEN,
	},
	messages.OpExtend: {
		messages.Status_EXTENDED, messages.Status_EXPIRED, messages.Status_NOT_HELD,
		messages.Status_NOT_OWNER, messages.Status_STALE_TOKEN,
	},
	messages.OpGet:     {messages.Status_HELD, messages.Status_FREE, messages.Status_HELD_BACK},
	messages.OpBreak:   {messages.Status_RELEASED, messages.Status_NOT_HELD, messages.Status_STALE_TOKEN},
	messages.OpConfirm: {messages.Status_RELEASED, messages.Status_NOT_HELD, messages.Status_STALE_TOKEN},
	messages.OpKeep:    {messages.Status_EXTENDED, messages.Status_NOT_HELD},
	messages.OpEnd:     {messages.Status_RELEASED, messages.Status_NOT_HELD},
}

// take looks at an answer, and says whether the request has to be sent again.
func (c *client) take(ctx context.Context, q *call, a answer) (again bool, err error) {
	q.resource.answered(q)
	c.answers[slices.Index(messages.Operations, q.op)][a.GetStatus()].Add(1)
	q.resource.note(line{
		at: a.at, who: c.owner, what: string(q.op), status: a.GetStatus(), token: a.GetLease().GetToken(), sent: q.sent,
		note: fmt.Sprintf("sends %d, holder %s, %s", q.sends, a.GetLease().GetOwner(), a.GetError()),
	})
	switch {
	case a.GetStatus() == messages.Status_UNAVAILABLE:
		if c.now()-q.sent > giveUp {
			c.fail(q, "still unavailable after %v", c.now()-q.sent)
			return false, context.Canceled
		}
		c.retries.Add(1)
		if err := c.rest(ctx, c.dice.between(retryLeast, retryMost)); err != nil {
			return false, err
		}
		return true, c.send(ctx, q)
	case a.GetStatus() == messages.Status_OVERLOADED &&
		(!strings.HasPrefix(strings.TrimPrefix(a.GetError(), "tenant: "), "held") || q.op == messages.OpAcquire):
		return false, nil // shared leases may be more than there are resources
	case a.GetStatus() == messages.Status_HELD:
		if what := wrongHolders(a.Reply); what != "" {
			c.fail(q, "%s: %s", what, a)
			return false, context.Canceled
		}
	case !slices.Contains(legal[q.op], a.GetStatus()):
		c.fail(q, "was answered %s", a)
		return false, context.Canceled
	}
	return false, nil
}

// rest lets time pass.
func (c *client) rest(ctx context.Context, d time.Duration) error {
	select {
	case <-c.after(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// fail reports that a request was not served as it should have been.
func (c *client) fail(q *call, format string, args ...any) {
	q.resource.mu.Lock()
	defer q.resource.mu.Unlock()
	q.resource.violated("%s of %s, sent at %v and %d times, last at %v: %s",
		q.op, c.owner, q.sent, q.sends, q.last, fmt.Sprintf(format, args...))
}

// ask sends a request and waits for its answer.
func (c *client) ask(ctx context.Context, r *resource, op messages.Operation, m proto.Message) (*call, answer, error) {
	q, err := c.begin(ctx, r, op, m, 0)
	if err != nil {
		return nil, answer{}, err
	}
	a, err := c.await(ctx, q, 0)
	return q, a, err
}
