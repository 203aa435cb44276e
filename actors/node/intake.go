package node

import (
	"fmt"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/actors/node/routing"
	"github.com/holdfast-io/holdfast/messages"
)

// intake takes the requests for resources and routes them. Its methods are called concurrently and do not block.
type intake struct {
	prefix    messages.Prefix
	admission *admission
	outbox    *outbox
	routers   routing.Table
	peers     *peers // nil if the node is alone
}

// request takes a client's request.
func (i *intake) request(m *nats.Msg) {
	to, ok := i.admission.admit(m, routing.Encoding(m))
	if !ok {
		return
	}
	a, err := i.prefix.Parse(m.Subject)
	i.take(routing.Envelope{ReplyTo: to, Data: m.Data}, a, err)
}

// forwarded takes a request that another node has forwarded.
func (i *intake) forwarded(m *nats.Msg) {
	to, ok := i.admission.admit(m, routing.ForwardedEncoding(m))
	if !ok {
		return
	}
	a, err := i.peers.address(m.Subject)
	i.take(routing.Envelope{ReplyTo: to, Data: m.Data, Hops: routing.Hops(m)}, a, err)
}

// take routes a request, or refuses it because of err.
func (i *intake) take(e routing.Envelope, a messages.Address, err error) {
	if err == nil {
		err = i.route(e, a)
	}
	if err != nil {
		i.outbox.send(e.ReplyTo, messages.Refuse(status(err), err))
	}
}

// route checks what the subject says of a request, and routes it.
func (i *intake) route(e routing.Envelope, a messages.Address) error {
	resource, err := messages.DecodeKey(a.Key)
	if err != nil {
		return err
	}
	e.Operation, e.Key, e.Resource = a.Operation, a.Key, resource
	shard := i.routers.ShardOf(a.Key)
	if a.Direct && a.Shard != shard {
		return &messages.InvalidError{
			Field: "shard", Rule: fmt.Sprintf("%d is where this key belongs, of %d shards", shard, len(i.routers)),
			Got: fmt.Sprint(a.Shard),
		}
	}
	return i.routers[shard].Route(e)
}

// undeliverable takes back a grant whose answer has reached no subscriber.
func (i *intake) undeliverable(m *nats.Msg) {
	key, token, ok := i.outbox.undeliverable.parse(m)
	if !ok {
		return // it is from a client, not from NATS
	}
	resource, err := messages.DecodeKey(key)
	if shard := i.routers.Of(key).Local(); err == nil && shard != nil {
		shard.Undeliverable(resource, token) // elsewhere the lease has been handed over, and expires
	}
}
