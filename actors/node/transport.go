package node

import (
	"cmp"
	"errors"
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/holdfast-io/holdfast/actors"
	"github.com/holdfast-io/holdfast/actors/lease"
	"github.com/holdfast-io/holdfast/actors/node/identity"
	"github.com/holdfast-io/holdfast/actors/node/routing"
	"github.com/holdfast-io/holdfast/messages"
)

// transport delivers requests to shards, forwards them to other nodes and refuses them. It implements
// routing.Transport.
type transport struct {
	cfg     Config
	present *present
	gate    *gate
	outbox  *outbox
	traces  *traces
	// tenants have limits of their own.
	tenants *tenants
	// verifier knows which requests need a verified sender; nil: none.
	verifier *identity.Verifier
	peers    *peers // nil if the node is alone
}

// Deliver implements routing.Transport. It decodes the requests and checks them against the limits.
func (t *transport) Deliver(to *actors.Shard, es []routing.Envelope) (left []routing.Envelope) {
	requests, kept := make([]actors.Request, 0, len(es)), es[:0]
	for _, e := range es {
		event, err := t.decode(e)
		if err != nil {
			t.Refuse(e, err)
			continue
		}
		r := actors.Request{Resource: e.Resource, Event: event}
		if tenant := e.ReplyTo.Origin.Tenant; tenant != "" {
			r.Share = t.gate.quota.Tenant(tenant)
		}
		requests = append(requests, r)
		kept = append(kept, e)
	}
	n, err := to.SendAll(requests)
	if errors.Is(err, actors.ErrEnded) {
		return kept[n:]
	}
	for _, e := range kept[n:] {
		t.Refuse(e, err)
	}
	return nil
}

func (t *transport) decode(e routing.Envelope) (lease.Event, error) {
	body := messages.NewRequest(e.Operation)
	if err := messages.Decode(e.ReplyTo.Encoding, e.Data, body); err != nil {
		return nil, err
	}
	if t.verifier != nil && identity.Needed(e.Operation) {
		if err := own(e, body); err != nil {
			return nil, err
		}
	}
	from, limits := e.ReplyTo.Origin, t.cfg.Limits
	var of *tenant
	if from.Tenant != "" {
		of = t.tenants.of(from.Tenant)
		limits = t.tenants.limitsOf(of)
	}
	if err := limits.Check(body); err != nil {
		return nil, err
	}
	if keep, ok := body.(*messages.KeepRequest); ok && keep.GetAlive() != "" {
		if err := t.checkAlive(e.ReplyTo, keep.GetAlive()); err != nil {
			return nil, err
		}
	}
	if from.Trace != nil {
		t.traces.name(from.Trace, body)
	}
	if from.Tenant != "" {
		routing.Qualify(from.Tenant, body)
	}
	return t.event(of, body, e.ReplyTo), nil
}

// own makes a request one of its sender. The node that took it in has verified the sender.
func own(e routing.Envelope, body proto.Message) error {
	if e.ReplyTo.Origin.Identity == "" { // mutant: DirectRequest
		const rule = "verified by the node that took the request in; give all nodes the same --identity"
		return messages.Invalid("sender", rule, "none")
	}
	return identity.Own(e.ReplyTo.Origin.Identity, body)
}

// checkAlive checks where the node is asked to publish, which has to be where an answer could go.
func (t *transport) checkAlive(to messages.ReplyTo, alive string) error {
	if messages.IsImported(to.Subject) { // mutant: NoticeIntoAnotherAccount
		const rule = "none in a request through a service import: the service does not reach subjects of other accounts"
		return messages.Invalid("alive", rule, "one")
	}
	err := t.cfg.Prefix.CheckReply(alive) // mutant: ProbeAnywhere
	if invalid := (*messages.InvalidError)(nil); errors.As(err, &invalid) {
		invalid.Field = "alive"
	}
	return err
}

// event returns the request, of a tenant or of none, as an event of its lease or session.
func (t *transport) event(of *tenant, body proto.Message, to messages.ReplyTo) lease.Event {
	switch r := body.(type) {
	case *messages.AcquireRequest:
		e := lease.Acquire{
			Request: r, From: to, MaxWaiting: t.cfg.Tuning.MaxWaiting, NoGrant: t.gate.noGrant(),
			NoWait: t.gate.noWait(),
		}
		if of != nil {
			e.NoGrant, e.NoWait = cmp.Or(of.noGrant(), e.NoGrant), cmp.Or(of.noWait(), e.NoWait)
		}
		return e
	case *messages.ReleaseRequest:
		return lease.Release{Request: r, From: to}
	case *messages.ExtendRequest:
		return lease.Extend{Request: r, From: to}
	case *messages.SetRequest:
		return lease.Set{Request: r, From: to}
	case *messages.GetRequest:
		return lease.Get{Request: r, From: to}
	case *messages.BreakRequest:
		return lease.Break{Request: r, From: to}
	case *messages.ConfirmRequest:
		return lease.Confirm{Request: r, From: to}
	case *messages.KeepRequest:
		return lease.Keep{Request: r, From: to, MaxWanted: maxWanted(to.Origin)}
	case *messages.EndRequest:
		return lease.EndSession{Request: r, From: to}
	default:
		panic(fmt.Sprintf("no event for a %T", body)) // NewRequest makes no others
	}
}

// maxWanted returns how many wanted resources the answer to a keep may name.
func maxWanted(from messages.Origin) int {
	if from.Inner {
		return from.Wanted
	}
	return messages.MaxWanted
}

// Forward implements routing.Transport. A payload that every node would refuse is refused here.
func (t *transport) Forward(to uint64, e routing.Envelope) {
	if len(e.Data) > messages.MaxPayloadBytes {
		t.Refuse(e, messages.Decode(e.ReplyTo.Encoding, e.Data, messages.NewRequest(e.Operation)))
		return
	}
	if !t.peers.forward(to, e) {
		t.Refuse(e, fmt.Errorf("node %s: %w to other nodes (%d)", t.cfg.Name, actors.ErrOverloaded, maxForwarding))
	}
}

// notSent refuses a request that could not be forwarded.
func (t *transport) notSent(e routing.Envelope, err error) {
	t.Refuse(e, fmt.Errorf("%w: %w; nothing happened, try again", actors.ErrUnavailable, err))
}

// Refuse implements routing.Transport.
func (t *transport) Refuse(e routing.Envelope, err error) {
	t.outbox.refuse(messages.ShardOf(e.Key, t.present.Load().Count), e.ReplyTo, refusalOf(err))
}
