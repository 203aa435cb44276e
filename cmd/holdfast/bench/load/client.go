package load

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"google.golang.org/protobuf/proto"

	"github.com/holdfast-io/holdfast/messages"
)

// Service is a deployment as plain requests see it.
type Service struct {
	Prefix messages.Prefix
	// Shards is the number of shards, as the deployment's info says.
	Shards uint32
	// Timeout bounds the wait for an answer, in addition to the wait in a queue.
	Timeout time.Duration
}

// Client sends plain requests: each is one message in protobuf to the owner of the shard, and no repetition. So every
// refusal and every lost answer is seen and counted. It serves one goroutine; many may share a connection.
type Client struct {
	nc      *nats.Conn
	service Service
	owner   string
	ttl     time.Duration
	sent    uint64
}

// NewClient returns a client. owner must be used by no other client, since its request ids are counted from 1.
func NewClient(nc *nats.Conn, s Service, owner string, ttl time.Duration) *Client {
	return &Client{nc: nc, service: s, owner: owner, ttl: ttl}
}

// Acquire acquires a resource by its key and returns its token. It waits in the queue for at most wait; 0: not at all.
func (c *Client) Acquire(ctx context.Context, key string, wait time.Duration) (token uint64, err error) {
	c.sent++
	reply, err := c.ask(ctx, messages.OpAcquire, key, &messages.AcquireRequest{
		Owner: c.owner, TtlMs: uint32(c.ttl.Milliseconds()), WaitMs: uint32(wait.Milliseconds()),
		RequestId: strconv.FormatUint(c.sent, 36),
	}, wait, messages.Status_GRANTED)
	return reply.GetLease().GetToken(), err
}

// Extend restarts the lease with the token.
func (c *Client) Extend(ctx context.Context, key string, token uint64) error {
	_, err := c.ask(ctx, messages.OpExtend, key,
		&messages.ExtendRequest{Owner: c.owner, Token: token, TtlMs: uint32(c.ttl.Milliseconds())}, 0,
		messages.Status_EXTENDED)
	return err
}

// Release ends the lease with the token.
func (c *Client) Release(ctx context.Context, key string, token uint64) error {
	_, err := c.ask(ctx, messages.OpRelease, key,
		&messages.ReleaseRequest{Owner: c.owner, Token: token}, 0, messages.Status_RELEASED)
	return err
}

// ask sends a request and checks that the answer has the wanted status.
func (c *Client) ask(ctx context.Context, op messages.Operation, key string, request proto.Message, wait time.Duration,
	want messages.Status) (*messages.Reply, error) {
	data, err := messages.Encode(messages.Protobuf, request)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, wait+c.service.Timeout)
	defer cancel()
	shard := messages.ShardOf(key, c.service.Shards)
	m, err := c.nc.RequestWithContext(ctx, c.service.Prefix.Direct(messages.Shard{Number: shard}, op, key), data)
	if err != nil {
		return nil, err
	}
	var reply messages.Reply
	if err := messages.DecodeReply(messages.Protobuf, m.Data, &reply); err != nil {
		return nil, fmt.Errorf("decode the answer to %s: %w", op, err)
	}
	if reply.GetStatus() != want {
		return &reply, &StatusError{&reply}
	}
	return &reply, nil
}

// StatusError is an answer with another status than the wanted one.
type StatusError struct{ Reply *messages.Reply }

// Error returns the status and the sentence of the service, if there is one.
func (e *StatusError) Error() string {
	if e.Reply.GetError() == "" {
		return e.Reply.GetStatus().String()
	}
	return e.Reply.GetStatus().String() + ": " + e.Reply.GetError()
}

// The codes of failures without an answer of a node.
const (
	CodeNoResponders = "NO_RESPONDERS"
	CodeNoAnswer     = "NO_ANSWER"
	CodeDisconnected = "DISCONNECTED"
	CodeOther        = "OTHER"
)

// CodeOf returns the kind of an error: the name of the status that a node answered, or one of the codes above.
func CodeOf(err error) string {
	switch status, is := errors.AsType[*StatusError](err); {
	case is:
		return status.Reply.GetStatus().String()
	case errors.Is(err, nats.ErrNoResponders):
		return CodeNoResponders
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, nats.ErrTimeout):
		return CodeNoAnswer
	case errors.Is(err, nats.ErrConnectionClosed), errors.Is(err, nats.ErrConnectionReconnecting),
		errors.Is(err, nats.ErrReconnectBufExceeded), errors.Is(err, nats.ErrDisconnected):
		return CodeDisconnected
	}
	return CodeOther
}
