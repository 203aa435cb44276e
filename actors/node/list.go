package node

import (
	"cmp"
	"context"
	"time"

	"github.com/nats-io/nats.go"
	"google.golang.org/protobuf/proto"

	"github.com/holdfast-io/holdfast/actors"
	"github.com/holdfast-io/holdfast/messages"
)

const (
	// listBytes keeps an answer well below the 1 MB that NATS takes.
	listBytes = 512 << 10
	// listTimeout bounds how long a listing waits for a busy shard.
	listTimeout = 5 * time.Second
)

// list answers who holds what. Its order is that of the shards, and within them of the resources'
// hashes.
func (n *Node) list(m *nats.Msg) {
	to, ok := n.replyTo(m)
	if !ok {
		return
	}
	reply, err := n.listing(to, m.Data)
	if err != nil {
		n.outbox.send(to, messages.Refuse(status(err), err))
		return
	}
	n.outbox.publish(to, "", reply, nil)
}

func (n *Node) listing(to messages.ReplyTo, payload []byte) (*messages.ListReply, error) {
	var r messages.ListRequest
	if err := messages.Decode(to.Encoding, payload, &r); err != nil {
		return nil, err
	}
	if err := n.cfg.Limits.Check(&r); err != nil {
		return nil, err
	}
	pattern, err := messages.ParsePattern(r.GetPattern())
	if err != nil {
		return nil, err
	}
	shard, err := n.shardOf(r.GetAfter())
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), listTimeout)
	defer cancel()
	limit := int(cmp.Or(r.GetLimit(), messages.DefaultListLimit))
	return n.collect(ctx, shard, actors.Listing{Pattern: pattern, After: r.GetAfter(), Limit: limit, Bytes: listBytes})
}

// collect asks one shard after the other until the answer is full, and then on until one has more.
func (n *Node) collect(ctx context.Context, shard uint32, ask actors.Listing) (*messages.ListReply, error) {
	reply := &messages.ListReply{}
	limit, bytes := ask.Limit, ask.Bytes
	for ; shard < n.cfg.Shards; shard++ {
		ask.Limit, ask.Bytes = limit-len(reply.Leases), bytes-proto.Size(reply)
		leases, more, err := n.shards[shard].List(ctx, ask)
		if err != nil {
			return nil, err
		}
		reply.Leases = append(reply.Leases, leases...)
		if more {
			reply.Next = reply.Leases[len(reply.Leases)-1].GetResource()
			return reply, nil
		}
		ask.After = ""
	}
	return reply, nil
}

// shardOf returns the shard of a resource, the first one for none.
func (n *Node) shardOf(resource string) (uint32, error) {
	if resource == "" {
		return 0, nil
	}
	key, err := messages.EncodeKey(resource)
	if err != nil {
		return 0, err
	}
	return messages.ShardOf(key, n.cfg.Shards), nil
}
