package node

import (
	"cmp"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/actors"
	"github.com/holdfast-io/holdfast/actors/node/identity"
	"github.com/holdfast-io/holdfast/actors/node/routing"
	"github.com/holdfast-io/holdfast/messages"
)

// intake takes the requests for resources and routes them. Its methods are called concurrently and do not block.
type intake struct {
	prefix    messages.Prefix
	clock     actors.Clock
	observed  bool // there is an observer
	traces    *traces
	admission *admission
	outbox    *outbox
	transport *transport
	verifier  *identity.Verifier // nil if senders are not verified
	present   *present
	peers     *peers // nil if the node is alone
	surveyor  *surveyor
	tenants   *tenants
}

// request takes a client's request, or a batch of requests, of a tenant or of none.
func (i *intake) request(t *tenant, m *nats.Msg) {
	a, err := i.prefix.Parse(m.Subject)
	if err == nil && a.Operation == messages.OpBatch {
		i.batch(t, m, a)
		return
	}
	to := routing.ReplyTo(m)
	to.Origin = messages.Origin{
		Tenant: a.Tenant, Operation: a.Operation, Received: i.now(), Former: a.Direct && !i.present.Load().serves(a),
	}
	if i.admission.admit(t, m, to) {
		if len(m.Header) > 0 {
			to.Origin.Trace = i.traces.begin(m)
			err = cmp.Or(err, checkHeaders(m))
		}
		if err == nil && i.verifier != nil && identity.Needed(a.Operation) {
			to.Origin.Identity, err = i.verifier.Of(m) // mutant: DirectRequest
		}
		i.take(routing.Envelope{ReplyTo: to, Data: m.Data}, a, err)
	}
}

// errMoving refuses a node's part of a request about a session, which is for a shard of another generation.
var errMoving = fmt.Errorf("%w: the number of shards is being changed; try again", actors.ErrUnavailable)

// checkHeaders returns an error if the headers of a message were too large to be read. The connection says so by a
// status.
func checkHeaders(m *nats.Msg) error {
	const tooLarge = "431"
	if m.Header.Get("Status") != tooLarge {
		return nil
	}
	return messages.Invalid("headers", "at most 30 lines and 72 KB", "more")
}

// forwarded takes a request that another node has forwarded.
func (i *intake) forwarded(m *nats.Msg) {
	a, err := i.peers.address(m.Subject)
	if err == nil && a.Direct && !i.present.Load().serves(a) {
		err = errMoving
	}
	to := routing.ForwardedReplyTo(m)
	to.Origin.Operation, to.Origin.Received = a.Operation, i.now()
	if i.admission.admit(nil, m, to) { // the node that took it in has counted it for its tenant
		to.Origin.Trace = i.traces.begin(m)
		i.take(routing.Envelope{ReplyTo: to, Data: m.Data, Hops: routing.Hops(m)}, a, err)
	}
}

// now returns when a request has come; 0 if there is no observer to whom that matters.
func (i *intake) now() time.Duration {
	if !i.observed {
		return 0
	}
	return time.Duration(i.clock.Now().Instant)
}

// take routes a request, or refuses it because of err.
func (i *intake) take(e routing.Envelope, a messages.Address, err error) {
	g := i.present.Load()
	a.Direct = g.serves(a) // mutant: FormerSubjectsAreDirect
	if err == nil {
		err = i.address(&e, g, a)
	}
	if err != nil {
		i.transport.Refuse(e, err)
		return
	}
	i.route(g, a, e)
}

func (i *intake) route(g *generation, a messages.Address, e routing.Envelope) {
	if e.Operation.OfSession() && !a.Direct {
		i.surveyor.ask(e)
		return
	}
	g.routers[e.Shard].Route(e)
}

// batch takes the requests of a batch. They go to the shard together, or of a former generation one by one, and each is
// answered on its own.
func (i *intake) batch(t *tenant, m *nats.Msg, a messages.Address) {
	if !i.admission.isAnswerable(m) {
		return
	}
	g := i.present.Load()
	a.Direct = g.serves(a)
	to := routing.ReplyTo(m)
	to.Batched, to.Origin = true, messages.Origin{Tenant: a.Tenant, Received: i.now(), Former: !a.Direct}
	calls, err := i.split(m, &to)
	if err != nil {
		i.transport.Refuse(routing.Envelope{ReplyTo: to}, err)
		return
	}
	behind, trace := isBehind(m), i.traces.begin(m)
	es := make([]routing.Envelope, 0, len(calls))
	for _, c := range calls {
		to.Call, to.Origin.Operation, to.Origin.Trace = c.ID, c.Operation, nil
		if !i.admission.enter(t, to, behind) {
			continue
		}
		to.Origin.Trace = another(trace)
		e, err := routing.Envelope{ReplyTo: to, Data: c.Payload}, c.Err
		if err == nil {
			err = i.address(&e, g, messages.Address{Operation: c.Operation, Key: c.Key, Direct: a.Direct, Shard: a.Shard})
		}
		if err != nil {
			i.transport.Refuse(e, err)
			continue
		}
		if !a.Direct {
			i.route(g, a, e)
			continue
		}
		es = append(es, e) // mutant: BatchedCallTwice
	}
	if len(es) > 0 {
		g.routers[a.Shard.Number].Route(es...)
	}
}

// split returns the calls of a batch, and notes who has sent it.
func (i *intake) split(m *nats.Msg, to *messages.ReplyTo) (calls []messages.SplitCall, err error) {
	if messages.IsImported(m.Reply) {
		const rule = "sent without a service import, through which only one answer comes; send the requests one by one"
		return nil, messages.Invalid("batch", rule, "one through an import")
	}
	if err = checkHeaders(m); err != nil {
		return nil, err
	}
	if i.verifier != nil {
		if to.Origin.Identity, err = i.verifier.Of(m); err != nil {
			return nil, err
		}
	}
	return messages.SplitBatch(to.Encoding, m.Data)
}

// address sets what the subject says of a request, and checks it. The tenant is that of the destination of the answer.
func (i *intake) address(e *routing.Envelope, g *generation, a messages.Address) error {
	e.Generation = g.Generation
	if a.Operation.OfSession() {
		return i.addressSession(e, g, a)
	}
	resource, err := messages.DecodeKey(a.Key)
	if err != nil {
		return err
	}
	shard := g.routers.ShardOf(a.Key)
	e.Operation, e.Shard, e.Key = a.Operation, shard, a.Key
	e.Resource = messages.Qualify(e.ReplyTo.Origin.Tenant, resource)
	if e.ReplyTo.Origin.Trace != nil {
		i.traces.locate(e, true)
	}
	if a.Direct && a.Shard.Number != shard {
		return &messages.InvalidError{
			Field: "shard", Rule: fmt.Sprintf("%d is where this key belongs, of %d shards", shard, len(g.routers)),
			Got: fmt.Sprint(a.Shard.Number),
		}
	}
	return nil
}

// addressSession is address for a request about a session, which is for the shard of the subject, or for all.
func (i *intake) addressSession(e *routing.Envelope, g *generation, a messages.Address) error {
	id, err := messages.DecodeSession(a.Key)
	if err != nil {
		return err
	}
	if !a.Direct {
		a.Shard.Number = 0
	}
	// mutant: TenantsShareSessions
	e.Operation, e.Shard, e.Key, e.Resource = a.Operation, a.Shard.Number, a.Key, messages.Qualify(e.ReplyTo.Origin.Tenant, id)
	if e.ReplyTo.Origin.Trace != nil {
		i.traces.locate(e, a.Direct)
	}
	if last := len(g.routers) - 1; int(a.Shard.Number) > last {
		return messages.Invalid("shard", fmt.Sprintf("0 to %d", last), fmt.Sprint(a.Shard.Number))
	}
	return nil
}

// undeliverable takes back grants whose answer has reached no subscriber, and reports to a shard a probe that has not.
func (i *intake) undeliverable(m *nats.Msg) {
	routers := i.present.Load().routers
	grants, probe := i.outbox.undeliverable.parse(m)
	if probe != nil {
		if shard := routers.At(probe.Shard); shard != nil {
			shard.NoListener(probe.Session, probe.Number)
		}
	}
	for _, g := range grants {
		resource, err := messages.DecodeKey(g.key)
		if shard := routers.At(routers.ShardOf(g.key)); err == nil && shard != nil {
			// elsewhere the lease has been handed over, and expires
			shard.Undeliverable(messages.Qualify(g.tenant, resource), g.token)
		}
	}
}
