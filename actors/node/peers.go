package node

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"golang.org/x/time/rate"

	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/peer"
)

// permissionTimeout bounds how long NATS may take to say that the node may speak to others.
const permissionTimeout = 5 * time.Second

// peers are the other nodes of the deployment, as NATS reaches them.
type peers struct {
	nc     *nats.Conn
	prefix messages.Prefix
	self   uint64
	log    *slog.Logger
	// malformed counts announcements that were dropped.
	malformed atomic.Uint64
	sometimes *rate.Sometimes
	// letters wait to be sent on.
	letters *queue[outgoing]
	// mute: the last announcement could not be sent.
	mute bool
}

// waitingLetters is how many requests may wait to be sent on to other nodes.
const waitingLetters = 1 << 14

// outgoing is a letter on its way to another node.
type outgoing struct {
	to uint64
	letter
}

// newPeers returns the peers of a node. unsent gets the letters that could not be sent on, with the reason.
func newPeers(nc *nats.Conn, prefix messages.Prefix, self uint64, log *slog.Logger, unsent func(letter, error)) *peers {
	p := &peers{nc: nc, prefix: prefix, self: self, log: log, sometimes: onceASecond()}
	p.letters = newQueue(waitingLetters, func(o outgoing) {
		if err := p.send(o); err != nil {
			unsent(o.letter, err)
		}
	})
	return p
}

// listen subscribes to what all nodes announce and to what is sent to this one, and finds out whether it
// may.
func (p *peers) listen(ctx context.Context, hear func(*peer.Announcement), letter, inquiry nats.MsgHandler) error {
	return p.permitted(ctx, func() error {
		for subject, handle := range map[string]nats.MsgHandler{
			p.prefix.Announcement(">"):        func(m *nats.Msg) { p.heard(m, hear) },
			p.prefix.NodeDoor(p.self, "*.>"):  letter,
			p.prefix.NodeDoor(p.self, listOp): inquiry,
		} {
			sub, err := p.nc.Subscribe(subject, handle)
			if err == nil {
				err = bounded(sub, 8)
			}
			if err != nil {
				return err
			}
		}
		return p.nc.Publish(p.prefix.NodeDoor(p.self, "try"), nil) // it has no subscription
	})
}

// permitted does something and returns what NATS says of it. It answers in order, so a complaint has
// come before the answer to the PING behind it.
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
	if err := p.nc.LastError(); err != note && errors.Is(err, nats.ErrPermissionViolation) { //nolint:errorlint // the very same one is old
		return fmt.Errorf("the NATS user must be allowed to publish and to subscribe to %s, where nodes speak to one another: %w", p.prefix.Nodes(), err)
	}
	return nil
}

// heard passes an announcement on, if it is one.
func (p *peers) heard(m *nats.Msg, hear func(*peer.Announcement)) {
	a := &peer.Announcement{}
	err := messages.DecodeReply(messages.Protobuf, m.Data, a) // a newer node may say more
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
	hear(a)
}

// announce tells all nodes. Without a connection none hears it, and there will be another. The log says
// once that it could not be sent, and once that it can be again. It belongs to the warden's goroutine.
func (p *peers) announce(a *peer.Announcement) {
	name, err := messages.EncodeKey(a.GetNode())
	if err == nil {
		var data []byte
		if data, err = messages.Encode(messages.Protobuf, a); err == nil {
			err = p.nc.Publish(p.prefix.Announcement(name), data)
		}
	}
	switch {
	case err != nil && !p.mute:
		p.log.Warn("cannot announce this node: others will count it as gone", "error", err)
	case err == nil && p.mute:
		p.log.Info("this node is announced again")
	}
	p.mute = err != nil
}

// forward has a letter sent to another node's door, and reports whether there was room for it. It does not
// block.
func (p *peers) forward(to uint64, l letter) bool { return p.letters.put(outgoing{to, l}) }

func (p *peers) send(o outgoing) error {
	return p.nc.PublishMsg(o.message(p.prefix.NodeDoor(o.to, string(o.op)+"."+o.key)))
}

// inquire asks another node for a shard's part of a listing.
func (p *peers) inquire(ctx context.Context, to uint64, ask *peer.Inquiry) (*peer.Part, error) {
	data, err := messages.Encode(messages.Protobuf, ask)
	if err != nil {
		return nil, err
	}
	m, err := p.nc.RequestWithContext(ctx, p.prefix.NodeDoor(to, listOp), data)
	if err != nil {
		return nil, err
	}
	part := &peer.Part{}
	return part, messages.DecodeReply(messages.Protobuf, m.Data, part)
}

// address reads what stands in the subject of a letter at the node's own door.
func (p *peers) address(subject string) (messages.Address, error) {
	below, ok := strings.CutPrefix(subject, p.prefix.NodeDoor(p.self, ""))
	if !ok {
		return messages.Address{}, fmt.Errorf("%s is not below this node's door", subject)
	}
	return p.prefix.Parse(string(p.prefix) + "." + below)
}
