package linear

import (
	"time"

	"github.com/nats-io/nats.go"
	"google.golang.org/protobuf/proto"

	"github.com/holdfast-io/holdfast/messages"
)

// call is a request on its way, through all its repetitions.
type call struct {
	Operation
	to      *resource
	subject string
	payload []byte
	// batch returns a batch with the call, whose id it gets; nil: the request goes alone.
	batch func(id uint64) ([]byte, error)
	// leases are those of the session that the call is about.
	leases []holding
	// encoding is the answer's.
	encoding messages.Encoding
	// answers come here, with the number of the sending that they answer.
	answers chan answer
	// sent says when each sending went out.
	sent []time.Duration
	// abandoned is closed when the client has crashed.
	abandoned chan struct{}
}

// answer is a message that has come for a call.
type answer struct {
	sending int // index into call.sent
	at      time.Duration
	*messages.Reply
	// unsent: NATS has no responders for it, so nothing has happened.
	unsent bool
}

// shortRest is between a refusal and the next try.
const shortRest = 50 * time.Millisecond

// begin makes a call of an operation.
func (c *client) begin(r *resource, o Operation) (*call, error) {
	o.Client, o.Resource = c.number, r.name
	payload, err := messages.Encode(c.encoding, body(o))
	if err != nil {
		return nil, err
	}
	q := &call{Operation: o, to: r, payload: payload, encoding: messages.EncodingOf("", payload),
		answers: make(chan answer, 64), abandoned: make(chan struct{})}
	key, shard := r.key, messages.ShardOf(r.key, max(c.Shards, 1))
	if o.ofSession() {
		if key, err = messages.EncodeKey(o.Session); err != nil {
			return nil, err
		}
	}
	q.subject = c.Prefix.Operation(o.Kind, key)
	switch {
	case c.batched:
		q.subject, q.encoding = c.Prefix.Batch(messages.Shard{Number: shard}), c.encoding // also of a request without fields
		if payload, err = messages.Encode(messages.Protobuf, body(o)); err != nil {
			return nil, err
		}
		q.batch = func(id uint64) ([]byte, error) { return batch(c.encoding, id, key, o.Kind, payload) }
	case c.direct, o.ofSession():
		q.subject = c.Prefix.Direct(messages.Shard{Number: shard}, o.Kind, key)
	}
	r.count.Add(1)
	return q, nil
}

// batch returns a batch with a request, between two calls that only look and whose answers are not expected.
func batch(e messages.Encoding, id uint64, key string, op messages.Operation, payload []byte) ([]byte, error) {
	const look = 1 << 32 // above all ids
	stale, err := messages.Encode(messages.Protobuf, &messages.GetRequest{Stale: true})
	if err != nil {
		return nil, err
	}
	data := messages.AppendCall(nil, look, key, messages.OpGet, stale)
	data = messages.AppendCall(data, id, key, op, payload)
	data = messages.AppendCall(data, look+1, key, messages.OpGet, stale)
	if e == messages.Protobuf {
		return data, nil
	}
	var b messages.Batch
	if err := messages.DecodeReply(messages.Protobuf, data, &b); err != nil {
		return nil, err
	}
	return messages.Encode(e, &b)
}

// body is the request that an operation is on the wire.
func body(o Operation) proto.Message {
	by := sign(o.Owner)
	switch o.Kind {
	case messages.OpAcquire:
		m := &messages.AcquireRequest{
			Owner: by.owner, TtlMs: o.TTL, WaitMs: o.Wait, RequestId: o.RequestID, Reentrant: o.Reentrant,
			Limit: o.Limit, Permits: o.Permits, DelayMs: o.Delay, Confirm: o.Confirm,
			Tokens: o.Tokens, MinHoldMs: o.MinHold,
			Metadata: metadata(o.Value), Session: o.Session, SecretHash: by.hash, Secret: by.secret,
		}
		if o.Ephemeral {
			m.Durability = messages.Durability_EPHEMERAL
		}
		return m
	case messages.OpRelease:
		return &messages.ReleaseRequest{Owner: by.owner, Token: o.Token, RequestId: o.RequestID, Secret: by.secret}
	case messages.OpExtend:
		return &messages.ExtendRequest{Owner: by.owner, Token: o.Token, TtlMs: o.TTL, Limit: o.Limit, Secret: by.secret,
			Order: o.Order, Tokens: o.Tokens}
	case messages.OpSet:
		return &messages.SetRequest{Owner: by.owner, Token: o.Token, Metadata: metadata(o.Value), Secret: by.secret,
			Order: o.Order}
	case messages.OpKeep:
		return &messages.KeepRequest{TtlMs: o.TTL}
	case messages.OpEnd:
		return &messages.EndRequest{Orphan: o.Orphan, Secret: by.secret}
	case messages.OpBreak:
		return &messages.BreakRequest{Token: o.Token, Reason: o.Reason}
	case messages.OpConfirm:
		return &messages.ConfirmRequest{Token: o.Token, How: o.Reason}
	default:
		return &messages.GetRequest{Stale: o.Stale}
	}
}

// metadata are those of a lease with this value; empty: none.
func metadata(value string) map[string]string {
	if value == "" {
		return nil
	}
	return map[string]string{valueEntry: value}
}

// valueEntry is the entry of a lease's metadata that is its value.
const valueEntry = "value"

// send sends a request, once more if it was sent before. Each sending has an inbox of its own, so that an
// answer says which one it is to.
func (c *client) send(q *call) {
	now := c.Now()
	if q.Open == 0 {
		q.Call = now // whatever was sent before has been refused, and had no effect
	}
	q.Open++
	number, inbox := c.expect(q, len(q.sent))
	data, err := q.payload, error(nil)
	if q.batch != nil {
		data, err = q.batch(uint64(number))
	}
	q.sent = append(q.sent, now)
	if err == nil {
		err = c.nc.PublishMsg(&nats.Msg{Subject: q.subject, Reply: inbox, Data: data})
	}
	if err != nil {
		q.Open-- // it never left
	}
}

// await returns when the request is answered, sending it again when nothing comes, until the client loses
// its patience. Then the outcome is unknown.
func (c *client) await(q *call) Operation {
	defer c.forget(q)
	over := time.NewTimer(c.Patience + millis(q.Wait))
	defer over.Stop()
	again := time.NewTimer(0)
	defer again.Stop()
	q.Return = Never
	for {
		select {
		case <-again.C:
			c.send(q)
			again.Reset(c.Resend + millis(q.Wait))
		case a := <-q.answers:
			if q.take(a) {
				return c.done(q)
			}
			again.Reset(shortRest)
		case <-over.C:
			return c.done(q)
		case <-c.ctx.Done():
			return c.done(q)
		case <-q.abandoned:
			return c.done(q)
		}
	}
}

// take takes in an answer, and reports whether it is the outcome. That the service cannot serve just now
// is not, as the next try may be served; but it is what remains when the client gives up and no sending is
// left that may have been.
func (q *call) take(a answer) bool {
	q.Open--
	if a.unsent {
		return false
	}
	q.Last, q.Return = q.sent[a.sending], a.at
	q.Answered(a.Reply)
	return q.Status != messages.Status_UNAVAILABLE && q.Status != messages.Status_OVERLOADED
}

// done records what came of the call.
func (c *client) done(q *call) Operation {
	if q.failed() && q.Open > 0 || q.Status == 0 {
		q.Operation, q.Return = q.Unanswered(), Never
	}
	if !q.ofSession() {
		c.record(q.Operation, q.to)
	}
	for _, h := range q.leases {
		o := q.Operation
		o.Resource, o.Token = h.name, h.Shown.Token
		c.record(o, h.resource)
	}
	return q.Operation
}
