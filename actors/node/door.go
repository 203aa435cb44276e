package node

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"
	"google.golang.org/protobuf/proto"

	"github.com/holdfast-io/holdfast/actors"
	"github.com/holdfast-io/holdfast/actors/lease"
	"github.com/holdfast-io/holdfast/messages"
)

// serviceName is what `nats micro ls` shows, and the queue group of the front door.
const serviceName = "holdfast"

// leaveTimeout bounds how long NATS may take to know that the strays are not wanted any more.
const leaveTimeout = time.Second

// openDoors subscribes to everything that a client may send.
func (n *Node) openDoors() error {
	service, err := micro.AddService(n.cfg.Intake, micro.Config{
		Name:        serviceName,
		Version:     semanticVersion(n.cfg.Version),
		Description: "locks with fencing tokens",
		Metadata:    map[string]string{"node": n.cfg.Name, "prefix": string(n.cfg.Prefix)},
		QueueGroup:  serviceName,
		StatsHandler: func(*micro.Endpoint) any {
			return n.stats()
		},
	})
	if err != nil {
		return err
	}
	n.service = service
	for _, op := range messages.Operations {
		if err := n.endpoint(string(op), n.cfg.Prefix.Operation(op, ">"), n.request); err != nil {
			return err
		}
	}
	if err := n.endpoint("info", n.cfg.Prefix.Info(), n.info); err != nil {
		return err
	}
	if err := n.endpoint("list", n.cfg.Prefix.List(), n.list); err != nil {
		return err
	}
	if _, err := n.cfg.Outbox.Subscribe(n.outbox.bounces.all(), n.bounced); err != nil {
		return err
	}
	return n.strays()
}

func (n *Node) endpoint(name, subject string, handle func(*nats.Msg)) error {
	return n.service.AddEndpoint(name, micro.HandlerFunc(func(r micro.Request) {
		handle(&nats.Msg{
			Subject: r.Subject(), Reply: r.Reply(), Data: r.Data(), Header: nats.Header(r.Headers()),
		})
	}), micro.WithEndpointSubject(subject))
}

// direct opens or shuts a shard's direct door. It is no endpoint of the service, since it comes and goes
// with the shard. While a shard moves, two nodes stand there, as one queue group: a request comes to one
// of them and not to both. A door that is shut still lets in what has come before.
func (n *Node) direct(shard uint32, open bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !open {
		if sub := n.directSubs[shard]; sub != nil {
			_ = sub.Drain() // it fails if the connection is gone, and the subscription with it
		}
		delete(n.directSubs, shard)
		return
	}
	sub, err := n.cfg.Intake.QueueSubscribe(n.cfg.Prefix.Shard(shard), serviceName+"-owner", n.request)
	if err != nil {
		n.cfg.Log.Warn("the direct door stays shut", "shard", shard, "error", err)
		return
	}
	n.directSubs[shard] = sub
}

// strays answers what no other subscription is for: an operation that does not exist, or one
// without a key. NATS would only say that nobody responds. The node's own events would come here too;
// on the connection that publishes them they do not.
func (n *Node) strays() error {
	for _, levels := range []string{".*", ".*.>"} {
		sub, err := n.strayConn().QueueSubscribe(string(n.cfg.Prefix)+levels, serviceName+"-strays", n.stray)
		if err != nil {
			return err
		}
		n.straySubs = append(n.straySubs, sub)
	}
	return nil
}

func (n *Node) strayConn() *nats.Conn { return cmp.Or(n.cfg.Events, n.cfg.Intake) }

// closeStrays ends that before the other doors are closed: where only the strays listen, NATS would
// not say that nobody responds.
func (n *Node) closeStrays(ctx context.Context) {
	for _, sub := range n.straySubs {
		_ = sub.Drain() // it fails if the connection is gone, and the subscription with it
	}
	if nc := n.strayConn(); nc.IsConnected() {
		ctx, cancel := context.WithTimeout(ctx, leaveTimeout)
		defer cancel()
		_ = nc.FlushWithContext(ctx)
	}
}

func (n *Node) stray(m *nats.Msg) {
	op, key, _ := strings.Cut(m.Subject[len(n.cfg.Prefix)+1:], ".")
	if !n.served(op, key) {
		n.request(m)
	}
}

// served reports whether another subscription takes what comes for an operation.
func (n *Node) served(op, key string) bool {
	switch op {
	case "info", "list":
		return key == ""
	case "event":
		return key != ""
	case "node":
		return key != "" // it is said among nodes
	case "shard":
		number, below, _ := strings.Cut(key, ".")
		shard, err := strconv.ParseUint(number, 10, 32)
		return err == nil && uint32(shard) < n.cfg.Shards && below != ""
	default:
		return key != "" && messages.NewRequest(messages.Operation(op)) != nil
	}
}

// bounced takes back a grant that has reached nobody.
func (n *Node) bounced(m *nats.Msg) {
	key, token, ok := n.outbox.bounces.parse(m)
	if !ok {
		return // it is no bounce: whoever waited answers, or plays with us
	}
	resource, err := messages.DecodeKey(key)
	if here, _ := n.posts[messages.ShardOf(key, n.cfg.Shards)].owner(); err == nil && here != nil {
		here.Bounce(resource, token) // elsewhere the lease has been handed over, and runs out
	}
}

// request takes in a request for a resource.
func (n *Node) request(m *nats.Msg) {
	to, ok := n.replyTo(m)
	if !ok {
		return
	}
	a, err := n.cfg.Prefix.Parse(m.Subject)
	n.enter(letter{op: a.Operation, key: a.Key, to: to, data: m.Data}, a, err)
}

// forwarded takes in a request that another node has sent on.
func (n *Node) forwarded(m *nats.Msg) {
	to, ok := n.replyTo(m)
	if !ok {
		return
	}
	to.Encoding = encoding(m.Header, m.Data)
	a, err := n.peers.address(m.Subject)
	n.enter(letter{op: a.Operation, key: a.Key, to: to, data: m.Data, hops: hops(m.Header)}, a, err)
}

// enter lets a letter in at its post.
func (n *Node) enter(l letter, a messages.Address, err error) {
	if full := n.gate.enter(); full != nil {
		err = full
	}
	if err == nil {
		err = n.post(l, a)
	}
	if err != nil {
		n.refuse(l, err)
	}
}

// replyTo says where the answer goes. Without an inbox to answer to, a request is dropped before
// any work: one that cannot be answered must have no effect.
func (n *Node) replyTo(m *nats.Msg) (messages.ReplyTo, bool) {
	if err := n.cfg.Prefix.CheckReply(m.Reply); err != nil {
		n.drops.drop(m.Subject, err)
		return messages.ReplyTo{}, false
	}
	return messages.ReplyTo{
		Subject:  m.Reply,
		Encoding: messages.EncodingOf(contentType(m.Header), m.Data),
	}, true
}

// contentType reads the header in whatever case it is written, as HTTP would.
func contentType(h nats.Header) string {
	for name, values := range h {
		if len(values) > 0 && strings.EqualFold(name, messages.HeaderContentType) {
			return values[0]
		}
	}
	return ""
}

// post checks what is said of a request from outside, and brings it to where it goes.
func (n *Node) post(l letter, a messages.Address) error {
	if _, err := messages.DecodeKey(l.key); err != nil {
		return err
	}
	shard := messages.ShardOf(l.key, n.cfg.Shards)
	if a.Direct && a.Shard != shard {
		return &messages.InvalidError{
			Field: "shard", Rule: fmt.Sprintf("%d is where this key belongs, of %d shards", shard, n.cfg.Shards),
			Got: fmt.Sprint(a.Shard),
		}
	}
	return n.posts[shard].take(l)
}

// tell implements carrier: it checks a request and hands it to its shard.
func (n *Node) tell(s *actors.Shard, l letter) error {
	resource, err := messages.DecodeKey(l.key)
	if err != nil {
		return err
	}
	body := messages.NewRequest(l.op)
	if err := messages.Decode(l.to.Encoding, l.data, body); err != nil {
		return err
	}
	if err := n.cfg.Limits.Check(body); err != nil {
		return err
	}
	return s.Tell(&actors.Request{Resource: resource, Event: n.event(body, l.to)})
}

// forward implements carrier. What no node would take is refused here.
func (n *Node) forward(to uint64, l letter) error {
	if len(l.data) > messages.MaxPayloadBytes {
		return messages.Decode(l.to.Encoding, l.data, messages.NewRequest(l.op))
	}
	if err := n.peers.forward(to, l); err != nil {
		return fmt.Errorf("%w: %w; nothing happened, try again", actors.ErrUnavailable, err)
	}
	return nil
}

// refuse implements carrier.
func (n *Node) refuse(l letter, err error) { n.outbox.send(l.to, messages.Refuse(status(err), err)) }

// now implements carrier.
func (n *Node) now() lease.Instant { return n.cfg.Clock.Now().Instant }

// event is the request as the state machine takes it.
func (n *Node) event(body proto.Message, to messages.ReplyTo) lease.Event {
	switch r := body.(type) {
	case *messages.AcquireRequest:
		return lease.Acquire{
			Request: r, From: to, MaxWaiting: n.cfg.Tuning.MaxWaiting,
			NoGrant: n.gate.noGrant(), NoWait: n.gate.noWait(),
		}
	case *messages.ReleaseRequest:
		return lease.Release{Request: r, From: to}
	case *messages.ExtendRequest:
		return lease.Extend{Request: r, From: to}
	case *messages.GetRequest:
		return lease.Get{Request: r, From: to}
	case *messages.BreakRequest:
		return lease.Break{Request: r, From: to}
	default:
		panic(fmt.Sprintf("no event for a %T", body)) // NewRequest makes no others
	}
}

// status says which refusal an error is.
func status(err error) messages.Status {
	switch {
	case errors.Is(err, actors.ErrOverloaded), errors.Is(err, errRate):
		return messages.Status_OVERLOADED
	case errors.Is(err, actors.ErrUnavailable):
		return messages.Status_UNAVAILABLE
	default:
		return messages.Status_INVALID
	}
}
