package reshard

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/peer"
)

const (
	// signEvery is how often the coordinator shows the nodes that it lives: they miss six signs before they give up.
	signEvery = 500 * time.Millisecond
	// askTimeout bounds one question to the nodes.
	askTimeout = time.Second
)

// signs show the nodes that the coordinator lives, and what it wants.
type signs struct {
	nc          *nats.Conn
	subject     string
	coordinator string
	closes      atomic.Bool
	end         chan struct{}
	running     sync.WaitGroup
}

func newSigns(nc *nats.Conn, p messages.Prefix, coordinator string) *signs {
	return &signs{nc: nc, subject: p.Resharding(), coordinator: coordinator, end: make(chan struct{})}
}

func (s *signs) start() {
	s.running.Go(func() {
		again := time.NewTicker(signEvery)
		defer again.Stop()
		for {
			s.send()
			select {
			case <-again.C:
			case <-s.end:
				return
			}
		}
	})
}

func (s *signs) stop() {
	close(s.end)
	s.running.Wait()
}

// close has the nodes close the journals of the present generation.
func (s *signs) close() {
	s.closes.Store(true)
	s.send()
}

// send sends a sign; the next one follows soon.
func (s *signs) send() { _ = s.publish("") }

// publish sends a sign that nodes answer if there is a reply subject.
func (s *signs) publish(reply string) error {
	data, err := messages.Encode(messages.Protobuf, &peer.Resharding{Coordinator: s.coordinator, Close: s.closes.Load()})
	if err != nil {
		return err
	}
	return s.nc.PublishMsg(&nats.Msg{Subject: s.subject, Reply: reply, Data: data})
}

// ready returns when each node has said that it can follow.
func (c *coordinator) ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	answers := make(chan *peer.Reshardable, 1000)
	sub, err := c.cfg.Conn.Subscribe(c.cfg.Conn.NewInbox(), func(m *nats.Msg) {
		a := new(peer.Reshardable)
		if messages.DecodeReply(messages.Protobuf, m.Data, a) == nil {
			select {
			case answers <- a:
			default: // the node is asked again
			}
		}
	})
	if err != nil {
		return err
	}
	defer func() { _ = sub.Unsubscribe() }()
	ready := make(map[string]bool)
	for {
		if err := c.signs.publish(sub.Subject); err != nil {
			return err
		}
		missing, err := c.collect(ctx, answers, ready)
		switch {
		case err != nil:
			return err
		case len(missing) == 0:
			return nil
		case ctx.Err() != nil:
			return fmt.Errorf("no answer from %s: %w", strings.Join(missing, ", "), context.Cause(ctx))
		}
	}
}

// collect takes in the answers of nodes for a while, and returns the nodes that have not answered.
func (c *coordinator) collect(ctx context.Context, answers <-chan *peer.Reshardable, ready map[string]bool) (
	missing []string, err error,
) {
	over := time.After(askTimeout)
	for {
		info, err := c.info(ctx)
		if err != nil {
			return nil, err
		}
		missing = nil
		for _, n := range info.GetNodes() {
			if !ready[n.GetName()] {
				missing = append(missing, n.GetName())
			}
		}
		if len(missing) == 0 {
			return nil, nil
		}
		select {
		case a := <-answers:
			switch {
			case a.GetRefusal() != "":
				return nil, fmt.Errorf("node %s cannot follow: %s", a.GetNode(), a.GetRefusal())
			case a.GetGeneration() != c.present.Divided().Generation:
				return nil, fmt.Errorf("node %s is at generation %d", a.GetNode(), a.GetGeneration())
			}
			ready[a.GetNode()] = true
		case <-over:
			return missing, nil
		case <-ctx.Done():
			return missing, nil
		}
	}
}

// info asks any node.
func (c *coordinator) info(ctx context.Context) (*messages.Info, error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	answer, err := c.cfg.Conn.RequestWithContext(ctx, c.cfg.Prefix.Info(), nil)
	switch {
	case errors.Is(err, nats.ErrNoResponders):
		return nil, fmt.Errorf("%w: no node of %q is running", ErrRefused, c.cfg.Prefix)
	case err != nil:
		return nil, fmt.Errorf("no node of %q answers: %w", c.cfg.Prefix, err)
	}
	info := new(messages.Info)
	return info, messages.DecodeReply(messages.JSON, answer.Data, info)
}

// awaitOpen waits until each new shard has an owner, and reports whether that is so.
func (c *coordinator) awaitOpen(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	for {
		c.signs.send()
		if info, err := c.info(ctx); err == nil && c.isOpen(info) {
			return true
		}
		if pause(ctx, poll) != nil {
			return false
		}
	}
}

func (c *coordinator) isOpen(info *messages.Info) bool {
	var owned []uint32
	for _, n := range info.GetNodes() {
		owned = append(owned, n.GetShards()...)
	}
	slices.Sort(owned)
	return messages.ShardsOf(info) == c.journals.next && uint32(len(slices.Compact(owned))) == c.journals.next.Count
}
