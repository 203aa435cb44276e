package node

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"google.golang.org/protobuf/proto"

	"github.com/holdfast-io/holdfast/actors"
	"github.com/holdfast-io/holdfast/actors/lease"
	"github.com/holdfast-io/holdfast/actors/node/routing"
	"github.com/holdfast-io/holdfast/messages"
	"github.com/holdfast-io/holdfast/messages/peer"
)

const (
	// listBytes keeps an answer well below the 1 MB that NATS takes, and listBytesJSON one in JSON, where a byte may
	// become six.
	listBytes     = 512 << 10
	listBytesJSON = 128 << 10
	// listTimeout bounds how long a listing waits for a busy shard.
	listTimeout = 5 * time.Second
	// partTimeout bounds how long it waits for one node that may be lost, listRetry is the pause before it asks again.
	partTimeout = time.Second
	listRetry   = 50 * time.Millisecond
)

// lister answers listings: who holds what in the whole deployment, or what is held back there.
type lister struct {
	cfg       Config
	admission *admission
	outbox    *outbox
	present   *present
	peers     *peers // nil if the node is alone
}

// list answers a client. The order is that of the shards, and within them of the resources' hashes.
func (l *lister) list(t *tenant, m *nats.Msg) {
	to := routing.ReplyTo(m)
	if !l.admission.admit(t, m, to) {
		return
	}
	reply, err := l.listing(t, to, m.Data)
	if err != nil {
		l.outbox.send(lease.Answer{To: to, Reply: refusalOf(err)})
		return
	}
	l.outbox.publish(to, "", reply, nil)
}

func (l *lister) listing(t *tenant, to messages.ReplyTo, payload []byte) (*messages.ListReply, error) {
	var r messages.ListRequest
	if err := messages.Decode(to.Encoding, payload, &r); err != nil {
		return nil, err
	}
	if err := l.cfg.Limits.Check(&r); err != nil {
		return nil, err
	}
	of, err := l.tenantOf(t, to, r.GetTenant())
	if err != nil {
		return nil, err
	}
	pattern, errPattern := messages.ParsePattern(r.GetPattern())
	after, errAfter := l.after(of, r.GetAfter())
	g := l.present.Load()
	shard, errShard := g.shardOf(after.Resource)
	if err := cmp.Or(errPattern, errAfter, errShard); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), listTimeout)
	defer cancel()
	limit, bytes := int(cmp.Or(r.GetLimit(), messages.DefaultListLimit)), listBytes
	if to.Encoding == messages.JSON {
		bytes = listBytesJSON
	}
	ask := actors.Listing{
		Tenant: of, Pattern: pattern, After: after, Limit: limit, Bytes: bytes, Waiters: r.GetWaiters(),
		HeldBack: r.GetHeldBack(), By: r.GetBy(),
	}
	reply, err := l.collect(ctx, g, shard, ask)
	for g != l.present.Load() && err != nil { // the shards have gone meanwhile
		g = l.present.Load()
		shard, _ = g.shardOf(after.Resource)
		reply, err = l.collect(ctx, g, shard, ask)
	}
	if t != nil {
		hideTenant(reply)
	}
	return reply, err
}

// tenantOf returns whose resources are to be listed, for a client of a tenant or of none that asks for those of asked.
func (l *lister) tenantOf(t *tenant, to messages.ReplyTo, asked string) (string, error) {
	switch {
	case asked == "" && t != nil:
		return t.name, nil // mutant: ListingOfAllTenants
	case asked != "" && t != nil:
		return "", messages.Invalid("tenant", "none in a request of a tenant", "one")
	case asked != "" && messages.IsImported(to.Subject):
		const rule = "none in a request through a service import: it is for operators in the account of the nodes"
		return "", messages.Invalid("tenant", rule, "one")
	}
	return asked, nil
}

// after returns the place behind which a listing begins. Only where several tenants are listed does a client name the
// tenant in it.
func (l *lister) after(tenant, s string) (messages.Cursor, error) {
	if tenant == messages.AllTenants {
		return messages.ParseQualifiedCursor(s)
	}
	c, err := messages.ParseCursor(s)
	if c.Resource != "" {
		c.Resource = messages.Qualify(tenant, c.Resource)
	}
	return c, err
}

// hideTenant removes the tenant from an answer to it; nil is none.
func hideTenant(r *messages.ListReply) {
	for _, x := range r.GetLeases() {
		x.Tenant = ""
	}
	for _, q := range r.GetQueues() {
		q.Tenant = ""
	}
}

// collect asks one shard after the other until the answer is full and a shard has more. For a ranking it asks all.
func (l *lister) collect(ctx context.Context, g *generation, shard uint32, ask actors.Listing) (*messages.ListReply, error) {
	if ask.By != messages.Ranking_UNRANKED {
		return l.rank(ctx, g, ask)
	}
	reply := &messages.ListReply{}
	limit, bytes := ask.Limit, ask.Bytes
	for ; shard < g.Count; shard++ {
		ask.Limit, ask.Bytes = limit-len(reply.Leases), bytes-proto.Size(reply)
		part, err := l.part(ctx, g, shard, ask)
		if err != nil {
			return nil, err
		}
		if more, err := add(reply, part, ask.Tenant); more || err != nil {
			return reply, err
		}
		ask.After = messages.Cursor{}
	}
	return reply, nil
}

// add adds the leases of a shard, and reports whether the page ends with them. A part of another node may be anything.
func add(reply *messages.ListReply, part actors.Listed, tenant string) (more bool, err error) {
	reply.Leases = append(reply.Leases, part.Leases...)
	reply.Queues = append(reply.Queues, part.Queues...)
	if !part.More {
		return false, nil
	}
	if len(reply.Leases) == 0 { // mutant: PartWithoutLeasesTaken
		return false, fmt.Errorf("%w: a node has answered that there are more leases, and has sent none",
			actors.ErrUnavailable)
	}
	reply.Next = behind(reply.Leases[len(reply.Leases)-1], tenant).String()
	return true, nil
}

// behind returns the place behind a lease, with its tenant if those of all are listed. Behind a shared one there may be
// others of the same resource.
func behind(l *messages.Lease, listed string) messages.Cursor {
	c := messages.Cursor{Resource: l.GetResource()}
	if listed == messages.AllTenants {
		c.Resource = messages.Qualify(l.GetTenant(), c.Resource)
	}
	if l.GetLimit() > 0 {
		c.Token = messages.Token(l.GetToken())
	}
	return c
}

// part asks one shard, and again while it has no owner.
func (l *lister) part(ctx context.Context, g *generation, shard uint32, ask actors.Listing) (actors.Listed, error) {
	for {
		listed, err := l.askOwner(ctx, g, shard, ask)
		if err == nil || l.peers == nil || g != l.present.Load() {
			return listed, err
		}
		select {
		case <-time.After(listRetry):
		case <-ctx.Done():
			return actors.Listed{}, err
		}
	}
}

func (l *lister) askOwner(ctx context.Context, g *generation, shard uint32, ask actors.Listing) (actors.Listed, error) {
	local, remote := g.routers[shard].Owner()
	switch {
	case local != nil:
		return local.List(ctx, ask)
	case remote == 0:
		return actors.Listed{}, g.routers[shard].NoOwner()
	}
	ctx, cancel := context.WithTimeout(ctx, partTimeout)
	defer cancel()
	part, err := l.peers.inquire(ctx, remote, &peer.Inquiry{
		Shard: shard, Generation: g.Generation, Pattern: ask.Pattern.String(), After: ask.After.String(),
		Limit: uint32(ask.Limit), Bytes: uint32(max(ask.Bytes, 0)),
		Waiters: ask.Waiters, HeldBack: ask.HeldBack, Tenant: ask.Tenant, By: ask.By,
	})
	switch {
	case err != nil:
		return actors.Listed{}, fmt.Errorf("%w: the owner of shard %d does not answer: %w", actors.ErrUnavailable,
			shard, err)
	case part.GetError() != "":
		return actors.Listed{}, fmt.Errorf("%w: %s", actors.ErrUnavailable, part.GetError())
	}
	return actors.Listed{Leases: part.GetLeases(), Queues: part.GetQueues(), More: part.GetMore()}, nil
}

// inquiry answers another node that asks for a shard of this one.
func (l *lister) inquiry(m *nats.Msg) {
	if l.cfg.Prefix.CheckReply(m.Reply) != nil {
		return // it is not from a node
	}
	part := l.answerInquiry(m.Data)
	data, err := messages.Encode(messages.Protobuf, part)
	if err == nil {
		err = m.Respond(data)
	}
	if err != nil {
		l.cfg.Log.Warn("listing not sent", "error", err)
	}
}

func (l *lister) answerInquiry(data []byte) *peer.Part {
	var ask peer.Inquiry
	if err := messages.Decode(messages.Protobuf, data, &ask); err != nil {
		return &peer.Part{Error: err.Error()}
	}
	pattern, errPattern := messages.ParsePattern(ask.GetPattern())
	after, errAfter := messages.ParseQualifiedCursor(ask.GetAfter())
	if err := cmp.Or(errPattern, errAfter); err != nil {
		return &peer.Part{Error: err.Error()}
	}
	if _, known := messages.Ranking_name[int32(ask.GetBy())]; !known {
		return &peer.Part{Error: fmt.Sprintf("node %s does not know ranking %d", l.cfg.Name, ask.GetBy())}
	}
	g := l.present.Load()
	if ask.GetGeneration() != g.Generation || ask.GetShard() >= g.Count {
		return &peer.Part{Error: fmt.Sprintf("there are %d shards of generation %d, got shard %d of generation %d", g.Count,
			g.Generation, ask.GetShard(), ask.GetGeneration())}
	}
	local := g.routers.At(ask.GetShard())
	if local == nil {
		return &peer.Part{Error: fmt.Sprintf("shard %d is not at node %s", ask.GetShard(), l.cfg.Name)}
	}
	ctx, cancel := context.WithTimeout(context.Background(), partTimeout)
	defer cancel()
	listed, err := local.List(ctx, actors.Listing{
		Tenant: ask.GetTenant(), Pattern: pattern, After: after, Waiters: ask.GetWaiters(), HeldBack: ask.GetHeldBack(),
		Limit: int(min(ask.GetLimit(), messages.MaxListLimit)), Bytes: int(min(ask.GetBytes(), listBytes)),
		By: ask.GetBy(),
	})
	if err != nil {
		return &peer.Part{Error: err.Error()}
	}
	return &peer.Part{Leases: listed.Leases, Queues: listed.Queues, More: listed.More}
}

// shardOf returns the shard of a resource, by its qualified name, the first one for an empty name.
func (g *generation) shardOf(qualified string) (uint32, error) {
	if qualified == "" {
		return 0, nil
	}
	key, err := messages.KeyOf(qualified)
	if err != nil {
		return 0, err
	}
	return g.routers.ShardOf(key), nil
}
