package node

import (
	"errors"
	"fmt"
	"strings"

	"github.com/nats-io/nats.go"
	"google.golang.org/protobuf/proto"

	"github.com/holdfast-io/holdfast/actors"
	"github.com/holdfast-io/holdfast/actors/lease"
	"github.com/holdfast-io/holdfast/messages"
)

// openDoors subscribes to everything that a client may send. A misspelt operation has no responder.
func (n *Node) openDoors() error {
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
	sub, err := n.cfg.Outbox.Subscribe(n.outbox.bounces.all(), n.bounced)
	if err != nil {
		return err
	}
	if err := bounded(sub, 1); err != nil {
		return err
	}
	return n.service.open()
}

// endpoint subscribes to the front door of an operation.
func (n *Node) endpoint(name, subject string, handle nats.MsgHandler) error {
	e := n.service.endpoint(name, subject, serviceName)
	sub, err := n.cfg.Intake.QueueSubscribe(subject, serviceName, e.counted(handle))
	if err == nil {
		err = n.bounded(sub)
	}
	return err
}

// What NATS has brought and no handler has taken yet, for each subscription, and fewer if there are many of
// them. Handlers do not wait, and refuse what is too much long before, so that little stands there: what
// exceeds these bounds is lost and counted, and its sender gets no answer.
const (
	intakeMessages, allMessages, leastMessages = 1 << 16, 1 << 21, 1 << 12
	intakeBytes, allBytes, leastBytes          = 32 << 20, 1 << 30, 1 << 20
)

// bounded bounds what a subscription for requests keeps in memory.
func (n *Node) bounded(sub *nats.Subscription) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.intakes[sub] = true
	return bounded(sub, len(messages.Operations)+2+int(n.cfg.Shards))
}

// bounded bounds what one of a number of subscriptions keeps in memory.
func bounded(sub *nats.Subscription, of int) error {
	return sub.SetPendingLimits(min(max(allMessages/of, leastMessages), intakeMessages), min(max(allBytes/of, leastBytes), intakeBytes))
}

// full says which limit keeps a request out, if one does: a limit of the node, or that its subscription has
// fallen behind so far that requests are about to be lost.
func (n *Node) full(m *nats.Msg) error {
	if waiting, _, err := m.Sub.Pending(); err == nil {
		if most, _, err := m.Sub.PendingLimits(); err == nil && waiting > most/8 {
			return errBehind
		}
	}
	return n.gate.enter()
}

// unread counts what was lost because it came faster than it was taken.
func (n *Node) unread() uint64 {
	n.mu.Lock()
	defer n.mu.Unlock()
	count := n.unreadBefore
	for sub := range n.intakes {
		if dropped, err := sub.Dropped(); err == nil {
			count += uint64(dropped)
		}
	}
	return count
}

// direct opens or shuts a shard's direct door, and reports whether it is as it was told. It is a
// subscription of its own, since it comes and goes with the shard. While a shard moves, two nodes stand
// there, as one queue group: a request comes to one of them and not to both. A door that is shut still lets
// in what has come before.
func (n *Node) direct(shard uint32, open bool) bool {
	if !open {
		n.shut(shard)
		return true
	}
	subject := n.cfg.Prefix.Shard(shard)
	sub, err := n.cfg.Intake.QueueSubscribe(subject, ownerGroup, n.service.direct.counted(n.request))
	if err == nil {
		err = n.bounded(sub)
	}
	if err != nil {
		n.doorLog.Do(func() { n.cfg.Log.Warn("the direct door stays shut", "shard", shard, "error", err) })
		return false
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.directSubs[shard] = sub
	return true
}

func (n *Node) shut(shard uint32) {
	n.mu.Lock()
	defer n.mu.Unlock()
	sub := n.directSubs[shard]
	if sub == nil {
		return
	}
	if dropped, err := sub.Dropped(); err == nil {
		n.unreadBefore += uint64(dropped)
	}
	_ = sub.Drain() // it fails if the connection is gone, and the subscription with it
	delete(n.directSubs, shard)
	delete(n.intakes, sub)
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
	if full := n.full(m); full != nil {
		n.outbox.overloaded(to, full)
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
	if full := n.full(m); full != nil {
		n.outbox.overloaded(to, full)
		return
	}
	a, err := n.peers.address(m.Subject)
	n.enter(letter{op: a.Operation, key: a.Key, to: to, data: m.Data, hops: hops(m.Header)}, a, err)
}

// enter lets a letter in at its post.
func (n *Node) enter(l letter, a messages.Address, err error) {
	if err == nil {
		err = n.post(l, a)
	}
	if err != nil {
		n.outbox.send(l.to, messages.Refuse(status(err), err))
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
	if !n.peers.forward(to, l) {
		return fmt.Errorf("node %s: %w to other nodes (%d)", n.cfg.Name, actors.ErrOverloaded, waitingLetters)
	}
	return nil
}

// unsent refuses a request that could not be sent on.
func (n *Node) unsent(l letter, err error) {
	n.refuse(l, fmt.Errorf("%w: %w; nothing happened, try again", actors.ErrUnavailable, err))
}

// refuse implements carrier.
func (n *Node) refuse(l letter, err error) {
	n.outbox.refuse(messages.ShardOf(l.key, n.cfg.Shards), l.to, messages.Refuse(status(err), err))
}

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
	case errors.Is(err, actors.ErrOverloaded), errors.Is(err, errRate), errors.Is(err, errPending), errors.Is(err, errBehind):
		return messages.Status_OVERLOADED
	case errors.Is(err, actors.ErrUnavailable):
		return messages.Status_UNAVAILABLE
	default:
		return messages.Status_INVALID
	}
}
