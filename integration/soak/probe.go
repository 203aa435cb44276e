package soak

import (
	"context"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"google.golang.org/protobuf/proto"

	"github.com/holdfast-io/holdfast/messages"
)

// spare are how many more resources the node may have held than the run uses.
const spare = 4

// longestTTL is the longest lease that a client asks for.
const longestTTL = 3 * time.Second

// bound is how much longer than its lease a resource may take to be free when no client uses it.
const bound = 20 * time.Second

// probe asks when all clients are gone.
type probe struct {
	*run
	nc *nats.Conn
}

func (p *probe) ask(ctx context.Context, key string, op messages.Operation, m proto.Message) (*messages.Reply, error) {
	payload, err := messages.Encode(messages.Protobuf, m)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, silence)
	defer cancel()
	answer, err := p.nc.RequestWithContext(ctx, messages.DefaultPrefix.Operation(op, key), payload)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", op, key, err)
	}
	var r messages.Reply
	return &r, messages.DecodeReply(messages.EncodingOf("", answer.Data), answer.Data, &r)
}

// drained waits until every resource is free and every queue is empty.
func (p *probe) drained(ctx context.Context, within time.Duration) error {
	last := p.now() + within
	for _, r := range p.resources {
		for {
			a, err := p.ask(ctx, r.key, messages.OpGet, &messages.GetRequest{Stale: true})
			if err != nil {
				return err
			}
			if a.GetStatus() == messages.Status_FREE && a.GetWaiting() == 0 {
				break
			}
			if p.now() > last {
				return fmt.Errorf("resource %q is still not free, %v after its last client: %s\n%s", r.name, within, a,
					&r.trace)
			}
			select {
			case <-p.after(20 * time.Millisecond):
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
	}
	return nil
}

func (p *probe) want(ctx context.Context, status messages.Status, key string, op messages.Operation,
	m proto.Message) (*messages.Reply, error) {
	a, err := p.ask(ctx, key, op, m)
	if err == nil && a.GetStatus() != status {
		err = fmt.Errorf("%s %s %s: answered %s, want %s", op, key, m, a, status)
	}
	return a, err
}

// acquire is a probe's request for a resource.
func (p *probe) acquire(ctx context.Context, status messages.Status, r *resource) (*messages.Reply, error) {
	return p.want(ctx, status, r.key, messages.OpAcquire, probing(r, p.owner("probe"), 0))
}

func probing(r *resource, owner string, wait uint32) *messages.AcquireRequest {
	m := &messages.AcquireRequest{Owner: owner, TtlMs: 600_000, WaitMs: wait}
	if r.class == ephemeral {
		m.Durability = messages.Durability_EPHEMERAL
	}
	return m
}

// holdAll acquires every resource and a few more, exactly as many as the node may have held: if it
// had not counted well, one would be refused, or one more granted.
func (p *probe) holdAll(ctx context.Context) error {
	for _, r := range append(p.resources, p.spare[:spare]...) {
		sent := p.now()
		a, err := p.acquire(ctx, messages.Status_GRANTED, r)
		if err != nil {
			return err
		}
		// No window overlaps the probe's: it begins now, and nothing comes after it.
		r.ended(r.granted(&grant{
			owner: p.owner("probe"), token: a.GetLease().GetToken(), volatile: r.class == ephemeral, sent: sent,
			received: p.now(),
		}))
	}
	_, err := p.acquire(ctx, messages.Status_OVERLOADED, p.spare[spare])
	return err
}

// waitAll lets exactly as many requests wait as may on the node; one more must be refused.
func (p *probe) waitAll(ctx context.Context, n int) error {
	gone, err := nats.Connect(p.nc.ConnectedUrl())
	if err != nil {
		return err
	}
	defer gone.Close() // so that all of them are taken out of the queues again
	inbox := nats.NewInbox()
	if _, err := gone.Subscribe(inbox, func(m *nats.Msg) {
		p.violated("a request of the probe that should wait was answered %q", m.Data)
	}); err != nil {
		return err
	}
	for i := range n {
		r := p.resources[i%len(p.resources)]
		payload, err := messages.Encode(messages.Protobuf, probing(r, "waiting", 600_000))
		if err != nil {
			return err
		}
		if err := gone.PublishRequest(messages.DefaultPrefix.Operation(messages.OpAcquire, r.key), inbox, payload); err != nil {
			return err
		}
	}
	for sent := p.now(); ; {
		waiting := 0
		for _, r := range p.resources {
			a, err := p.want(ctx, messages.Status_HELD, r.key, messages.OpGet, &messages.GetRequest{Stale: true})
			if err != nil {
				return err
			}
			waiting += int(a.GetWaiting())
		}
		if waiting == n {
			break
		}
		if p.now()-sent > bound {
			return fmt.Errorf("%d requests wait, want %d", waiting, n)
		}
	}
	r := p.resources[0]
	_, err = p.want(ctx, messages.Status_OVERLOADED, r.key, messages.OpAcquire, probing(r, "waiting", 600_000))
	return err
}

// releaseAll lets everything go.
func (p *probe) releaseAll(ctx context.Context) error {
	for _, r := range append(p.resources, p.spare[:spare]...) {
		if _, err := p.want(ctx, messages.Status_RELEASED, r.key, messages.OpRelease,
			&messages.ReleaseRequest{Owner: p.owner("probe")}); err != nil {
			return err
		}
	}
	return nil
}
