package node

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"golang.org/x/time/rate"
	"google.golang.org/protobuf/proto"

	"github.com/holdfast-io/holdfast/actors"
	"github.com/holdfast-io/holdfast/actors/node/routing"
	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/peer"
)

const (
	// permissionTimeout bounds how long NATS may take to say whether the node may use the subjects of nodes.
	permissionTimeout = 5 * time.Second
	// maxForwarding is how many requests may wait to be forwarded.
	maxForwarding = 1 << 14
	// listOp asks a node for its part of a listing, in the place of an operation.
	listOp = "list"
)

// peers are the other nodes of the deployment, as NATS reaches them.
type peers struct {
	nc     *nats.Conn
	prefix messages.Prefix
	self   uint64 // the incarnation of this process
	clock  actors.Clock
	log    *slog.Logger
	// clocks are those of the other nodes.
	clocks *clocks
	// malformed counts announcements that were dropped.
	malformed atomic.Uint64
	sometimes *rate.Sometimes
	// forwarding are the requests that wait to be forwarded.
	forwarding *queue[forwarding]
	traces     *traces
	// unannounced: the last announcement could not be sent.
	unannounced bool
}

// forwarding is a request on its way to another node.
type forwarding struct {
	routing.Envelope
	to uint64
}

// newPeers returns the peers of a node. notSent gets the requests that could not be forwarded, with the reason.
func newPeers(
	nc *nats.Conn, prefix messages.Prefix, clock actors.Clock, log *slog.Logger, t *traces,
	notSent func(routing.Envelope, error),
) *peers {
	p := &peers{nc: nc, prefix: prefix, self: rand.Uint64() | 1, clock: clock, log: log, clocks: newClocks(), traces: t,
		sometimes: onceASecond()}
	p.forwarding = newQueue(maxForwarding, func(all []forwarding) {
		for _, f := range all {
			if err := p.send(f); err != nil {
				notSent(f.Envelope, err)
			}
		}
	})
	return p
}

// close sends the requests that wait to be forwarded and drains the connection, unless ctx ends before.
func (p *peers) close(ctx context.Context) error {
	return errors.Join(p.forwarding.close(ctx), drain(ctx, p.nc))
}

// listen subscribes to the announcements of all nodes and to the subjects of this one. It fails if the user of the
// connection is not allowed to.
func (p *peers) listen(ctx context.Context, receive func(*peer.Announcement),
	request, inquiry, resharding nats.MsgHandler) error {
	return p.permitted(ctx, func() error {
		for _, s := range []struct {
			subject string
			handle  nats.MsgHandler
		}{
			{p.prefix.Announcement(">"), func(m *nats.Msg) { p.received(m, receive) }},
			{p.prefix.NodeSubject(p.self, "*.>"), request},
			{p.prefix.NodeSubject(p.self, listOp), inquiry},
			{p.prefix.Resharding(), resharding},
		} {
			sub, err := p.nc.Subscribe(s.subject, s.handle)
			if err == nil {
				err = setPendingLimits(sub, 8)
			}
			if err != nil {
				return err
			}
		}
		return p.nc.Publish(p.prefix.NodeSubject(p.self, "try"), nil) // it has no subscription
	})
}

// permitted does something and returns the permission error that it causes. NATS answers in order, so the error
// arrives before the answer to the PING behind it.
func (p *peers) permitted(ctx context.Context, do func() error) error {
	note := p.nc.LastError()
	if err := do(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, permissionTimeout)
	defer cancel()
	if err := p.nc.FlushWithContext(ctx); err != nil {
		return err
	}
	err := p.nc.LastError()
	if err != note && errors.Is(err, nats.ErrPermissionViolation) { //nolint:errorlint // the very same one is old
		return fmt.Errorf("the NATS user must be allowed to publish and to subscribe to %s, the subjects of nodes: %w",
			p.prefix.Nodes(), err)
	}
	return nil
}

// received decodes and checks an announcement.
func (p *peers) received(m *nats.Msg, receive func(*peer.Announcement)) {
	a := &peer.Announcement{}
	err := messages.DecodeReply(messages.Protobuf, m.Data, a) // a newer node may announce more
	if err == nil {
		err = a.Check()
	}
	if err != nil {
		n := p.malformed.Add(1)
		p.sometimes.Do(func() {
			p.log.Warn("announcement dropped", "subject", m.Subject, "error", err, "dropped_so_far", n)
		})
		return
	}
	if a.GetIncarnation() != p.self {
		p.clocks.received(a, p.clock.Now())
	}
	receive(a)
}

// announce sends to all nodes, with the present time. Without a connection it is lost, and the next one replaces it. The
// log says once that it could not be sent, and once that it can be again. It belongs to the controller's goroutine.
func (p *peers) announce(a *peer.Announcement) {
	name, errName := messages.EncodeKey(a.GetNode())
	sent := proto.CloneOf(a) // the controller compares what it announces
	sent.SentUnixMs = p.clock.Now().UnixMillis
	data, err := messages.Encode(messages.Protobuf, sent)
	if err = cmp.Or(errName, err); err == nil {
		err = p.nc.Publish(p.prefix.Announcement(name), data)
	}
	switch {
	case err != nil && !p.unannounced:
		p.log.Warn("cannot announce this node: the others will consider it lost", "error", err)
	case err == nil && p.unannounced:
		p.log.Info("this node is announced again")
	}
	p.unannounced = err != nil
}

// clockOffset returns how far the clock of this node is from those of the others.
func (p *peers) clockOffset() ClockOffset { return p.clocks.furthest(p.clock.Now().Instant) }

// forward queues a request for another node, and reports whether there was room for it. It does not block.
func (p *peers) forward(to uint64, e routing.Envelope) bool {
	return p.forwarding.put(forwarding{e, to}) == 1
}

func (p *peers) send(f forwarding) error {
	if f.ReplyTo.Origin.Trace != nil {
		p.traces.forwarded(f.Envelope)
	}
	return p.nc.PublishMsg(f.Message(p.prefix.NodeSubject(f.to, f.Below())))
}

// inquire asks another node for a shard's part of a listing.
func (p *peers) inquire(ctx context.Context, to uint64, ask *peer.Inquiry) (*peer.Part, error) {
	data, err := messages.Encode(messages.Protobuf, ask)
	if err != nil {
		return nil, err
	}
	m, err := p.nc.RequestWithContext(ctx, p.prefix.NodeSubject(to, listOp), data)
	if err != nil {
		return nil, err
	}
	part := &peer.Part{}
	return part, messages.DecodeReply(messages.Protobuf, m.Data, part)
}

// address parses the subject of a forwarded request.
func (p *peers) address(subject string) (messages.Address, error) {
	below, ok := strings.CutPrefix(subject, p.prefix.NodeSubject(p.self, ""))
	if !ok {
		return messages.Address{}, fmt.Errorf("%s is not a subject of this node", subject)
	}
	return p.prefix.Parse(string(p.prefix) + "." + below)
}
