package node

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"google.golang.org/protobuf/proto"

	"github.com/holdfast-io/holdfast/actors"
	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/peer"
)

const (
	// listBytes keeps an answer well below the 1 MB that NATS takes.
	listBytes = 512 << 10
	// listTimeout bounds how long a listing waits for a busy shard.
	listTimeout = 5 * time.Second
	// partTimeout bounds how long it waits for one node that may be gone, listAgain how soon it asks again.
	partTimeout = time.Second
	listAgain   = 50 * time.Millisecond
	// listOp is what nodes call it among themselves.
	listOp = "list"
)

// list answers who holds what. Its order is that of the shards, and within them of the resources'
// hashes.
func (n *Node) list(m *nats.Msg) {
	to, ok := n.replyTo(m)
	if !ok || !n.admit(to) {
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
		leases, more, err := n.part(ctx, shard, ask)
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

// part asks one shard, wherever it is, and again while it moves.
func (n *Node) part(ctx context.Context, shard uint32, ask actors.Listing) (leases []*messages.Lease, more bool, err error) {
	for {
		leases, more, err = n.askOwner(ctx, shard, ask)
		if err == nil || n.warden == nil {
			return leases, more, err
		}
		select {
		case <-time.After(listAgain):
		case <-ctx.Done():
			return nil, false, err
		}
	}
}

func (n *Node) askOwner(ctx context.Context, shard uint32, ask actors.Listing) ([]*messages.Lease, bool, error) {
	here, there := n.posts[shard].owner()
	switch {
	case here != nil:
		return here.List(ctx, ask)
	case there == 0:
		return nil, false, fmt.Errorf("%w: shard %d has no owner just now; try again", actors.ErrUnavailable, shard)
	}
	ctx, cancel := context.WithTimeout(ctx, partTimeout)
	defer cancel()
	part, err := n.peers.inquire(ctx, there, &peer.Inquiry{
		Shard: shard, Pattern: ask.Pattern.String(), After: ask.After, Limit: uint32(ask.Limit), Bytes: uint32(max(ask.Bytes, 0)),
	})
	switch {
	case err != nil:
		return nil, false, fmt.Errorf("%w: the owner of shard %d does not answer: %w", actors.ErrUnavailable, shard, err)
	case part.GetError() != "":
		return nil, false, fmt.Errorf("%w: %s", actors.ErrUnavailable, part.GetError())
	}
	return part.GetLeases(), part.GetMore(), nil
}

// inquiry answers another node's question about a shard of this one.
func (n *Node) inquiry(m *nats.Msg) {
	if n.cfg.Prefix.CheckReply(m.Reply) != nil {
		return // no node asks like this
	}
	part := n.answerInquiry(m.Data)
	data, err := messages.Encode(messages.Protobuf, part)
	if err == nil {
		err = m.Respond(data)
	}
	if err != nil {
		n.cfg.Log.Warn("a listing could not be sent", "error", err)
	}
}

func (n *Node) answerInquiry(data []byte) *peer.Part {
	var ask peer.Inquiry
	if err := messages.Decode(messages.Protobuf, data, &ask); err != nil {
		return &peer.Part{Error: err.Error()}
	}
	pattern, err := messages.ParsePattern(ask.GetPattern())
	if err != nil {
		return &peer.Part{Error: err.Error()}
	}
	if ask.GetShard() >= n.cfg.Shards {
		return &peer.Part{Error: fmt.Sprintf("there are %d shards, got %d", n.cfg.Shards, ask.GetShard())}
	}
	here := n.posts[ask.GetShard()].shardHere()
	if here == nil {
		return &peer.Part{Error: fmt.Sprintf("shard %d is not at node %s", ask.GetShard(), n.cfg.Name)}
	}
	ctx, cancel := context.WithTimeout(context.Background(), partTimeout)
	defer cancel()
	leases, more, err := here.List(ctx, actors.Listing{
		Pattern: pattern, After: ask.GetAfter(),
		Limit: int(min(ask.GetLimit(), messages.MaxListLimit)), Bytes: int(min(ask.GetBytes(), listBytes)),
	})
	if err != nil {
		return &peer.Part{Error: err.Error()}
	}
	return &peer.Part{Leases: leases, More: more}
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
