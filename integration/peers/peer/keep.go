package peer

import (
	"context"
	"fmt"

	"github.com/nats-io/nats.go"
	"google.golang.org/protobuf/proto"

	"github.com/holdfast-io/holdfast/messages"
)

// keepSession renews its lock with the session in which that is, as a client with many locks does. The service does not
// store that, and neither does etcd.
type keepSession struct {
	nc        *nats.Conn
	shards    uint32
	owner, id string
	// shard, key and token are those of the lock.
	shard uint32
	key   string
	token uint64
}

func newKeepSession(nc *nats.Conn, shards uint32, n int) *keepSession {
	return &keepSession{nc: nc, shards: shards, owner: fmt.Sprintf("keep.%d", n), id: fmt.Sprintf("peers-keep-%08d", n)}
}

// Lock implements [Session].
func (s *keepSession) Lock(ctx context.Context, resource string, _ bool) (uint64, error) {
	key, err := messages.EncodeKey(resource)
	if err != nil {
		return 0, err
	}
	s.key, s.shard = key, messages.ShardOf(key, s.shards)
	r, err := s.ask(ctx, messages.OpAcquire, s.key, messages.Status_GRANTED, &messages.AcquireRequest{
		Owner: s.owner, TtlMs: uint32(ttl.Milliseconds()), Session: s.id,
	})
	s.token = r.GetLease().GetToken()
	return s.token, err
}

// Extend implements [Session].
func (s *keepSession) Extend(ctx context.Context) error {
	key, err := messages.EncodeKey(s.id)
	if err != nil {
		return err
	}
	_, err = s.ask(ctx, messages.OpKeep, key, messages.Status_EXTENDED,
		&messages.KeepRequest{TtlMs: uint32(ttl.Milliseconds())})
	return err
}

// Unlock implements [Session].
func (s *keepSession) Unlock(ctx context.Context) error {
	_, err := s.ask(ctx, messages.OpRelease, s.key, messages.Status_RELEASED,
		&messages.ReleaseRequest{Owner: s.owner, Token: s.token})
	return err
}

// ask sends a request to the shard of the lock. Another status than the wanted one is an error.
func (s *keepSession) ask(ctx context.Context, op messages.Operation, key string, want messages.Status,
	request proto.Message) (*messages.Reply, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	payload, err := proto.Marshal(request)
	if err != nil {
		return nil, err
	}
	m, err := s.nc.RequestWithContext(ctx, messages.DefaultPrefix.Direct(messages.Shard{Number: s.shard}, op, key), payload)
	if err != nil {
		return nil, err
	}
	r := &messages.Reply{}
	if err := messages.DecodeReply(messages.Protobuf, m.Data, r); err != nil {
		return nil, err
	}
	if r.GetStatus() != want {
		return r, fmt.Errorf("%s: %s %s", op, r.GetStatus(), r.GetError())
	}
	return r, nil
}
