package takeover_test

import (
	"context"
	"math"
	"time"

	"github.com/holdfast-io/holdfast/actors"
	"github.com/holdfast-io/holdfast/actors/lease"
	"github.com/holdfast-io/holdfast/integration/linear"
	"github.com/holdfast-io/holdfast/messages"
)

const (
	// waitMost and ttlMost are what clients ask for at most, short enough for leases to run out.
	waitMost = 400 * time.Millisecond
	ttlLeast = 100 * time.Millisecond
	ttlMost  = 600 * time.Millisecond
	// holdMost is how long a client works under its lock.
	holdMost = 20 * time.Millisecond
	// attention is how long a client waits for an answer beyond that. One that comes later is looked at
	// all the same.
	attention = 500 * time.Millisecond
	maxQueue  = 20
)

// client asks whichever node for locks, one request after another.
type client struct {
	*storm
	dice
	number, sent int
	// owner is the rival that a shard's last sensible answer came from, as far as is known.
	owner [shards]int
}

func (c *client) play(ctx context.Context) {
	for ctx.Err() == nil {
		r := c.resources[c.IntN(len(c.resources))]
		if c.chance(15) {
			c.look(ctx, r)
		} else {
			c.lock(ctx, r)
		}
	}
}

// look asks who holds a resource, and takes it from some.
func (c *client) look(ctx context.Context, r *resource) {
	a := c.newAsk(messages.OpGet, r)
	reply := c.send(ctx, a, lease.Get{Request: &messages.GetRequest{}, From: a.from()})
	if reply.GetStatus() != messages.Status_HELD || !c.chance(20) {
		return
	}
	b := c.newAsk(messages.OpBreak, r)
	b.Token, b.Reason = reply.GetLease().GetToken(), b.inbox
	c.send(ctx, b, lease.Break{Request: &messages.BreakRequest{Token: b.Token, Reason: b.Reason}, From: b.from()})
}

// lock works under a lock for a moment, and forgets to give some back.
func (c *client) lock(ctx context.Context, r *resource) {
	a := c.newAsk(messages.OpAcquire, r)
	a.Owner, a.RequestID, a.TTL = linear.OwnerOf(a.tenant, a.inbox), a.inbox, millis(c.between(ttlLeast, ttlMost))
	if c.chance(50) {
		a.Wait = millis(c.between(time.Millisecond, waitMost))
	}
	switch {
	case r.shared:
		a.Limit, a.Permits = c.sharing()
	case c.chance(40):
		a.Session, a.Until = messages.Qualify(a.tenant, "session-of-"+a.inbox+"-alone"),
			c.mail.history.Now()+time.Duration(a.TTL)*time.Millisecond
	}
	q := &messages.AcquireRequest{
		Owner: a.Owner, RequestId: a.RequestID, TtlMs: a.TTL, WaitMs: a.Wait, Limit: a.Limit, Permits: a.Permits,
		Session: a.Session,
	}
	reply := c.send(ctx, a, lease.Acquire{Request: q, From: a.from(), MaxWaiting: maxQueue})
	if reply.GetStatus() != messages.Status_GRANTED {
		return
	}
	if a.Session != "" {
		c.keepAndEnd(ctx, r, a, reply.GetLease().GetToken())
		return
	}
	token := reply.GetLease().GetToken()
	for c.chance(40) {
		pause(ctx, c.between(0, holdMost))
		e := c.newAsk(messages.OpExtend, r)
		// The TTL distinguishes the extensions of one lease in the journal.
		e.Owner, e.Token, e.TTL = a.Owner, token, millis(ttlLeast)+uint32(c.sent)%5000
		if r.shared && c.chance(30) {
			e.Limit = readers
		}
		reply := c.send(ctx, e, lease.Extend{Request: &messages.ExtendRequest{Owner: e.Owner, Token: token,
			TtlMs: e.TTL, Limit: e.Limit}, From: e.from()})
		// else it names the lease as before a downgrade
		if reply.GetStatus() == messages.Status_EXTENDED && c.chance(70) {
			token = reply.GetLease().GetToken()
		}
	}
	if c.chance(5) {
		return
	}
	pause(ctx, c.between(0, holdMost))
	f := c.newAsk(messages.OpRelease, r)
	f.Owner, f.Token = a.Owner, token
	c.send(ctx, f, lease.Release{Request: &messages.ReleaseRequest{Owner: f.Owner, Token: token}, From: f.from()})
}

// keepAndEnd works under a lock that is in a session of its own, and lets some run out.
func (c *client) keepAndEnd(ctx context.Context, r *resource, a *ask, token uint64) {
	tell := func(op messages.Operation, event func(*ask) lease.Event) {
		pause(ctx, c.between(0, holdMost))
		k := c.newAsk(op, r)
		k.Owner, k.Token, k.Session = a.Owner, token, a.Session
		if op == messages.OpKeep {
			k.TTL = a.TTL
		}
		c.sendTo(ctx, k, a.Session, event(k))
	}
	for c.chance(60) {
		tell(messages.OpKeep, func(k *ask) lease.Event {
			return lease.Keep{Request: &messages.KeepRequest{TtlMs: k.TTL}, From: k.from()}
		})
	}
	if c.chance(80) {
		tell(messages.OpEnd, func(k *ask) lease.Event {
			return lease.EndSession{Request: &messages.EndRequest{}, From: k.from()}
		})
	}
}

// readers is the limit of a lease beside which any number may be held.
const readers = math.MaxUint32

// sharing is what a request asks for: to read, to write, or for permits of a semaphore.
func (c *client) sharing() (limit, permits uint32) {
	switch c.IntN(3) {
	case 0:
		return readers, 0
	case 1:
		return 0, 0
	default:
		return 3, 1 + uint32(c.IntN(2))
	}
}

func millis(d time.Duration) uint32 { return uint32(d.Milliseconds()) }

// send sends the request to some node, and returns the answer if it comes in time.
func (c *client) send(ctx context.Context, a *ask, e lease.Event) *messages.Reply {
	return c.sendTo(ctx, a, a.Resource, e)
}

// sendTo is send of a request about another name in the shard of its resource: that of a session.
func (c *client) sendTo(ctx context.Context, a *ask, name string, e lease.Event) *messages.Reply {
	n := c.owner[a.shard]
	if c.chance(15) {
		n = c.IntN(len(c.rivals))
	}
	c.mail.post(a)
	if !c.rivals[n].take(a.shard, &actors.Request{Resource: name, Event: e}) {
		c.mail.withdraw(a)
		c.elsewhere(ctx, a)
		return nil
	}
	late := time.NewTimer(waitMost + attention)
	defer late.Stop()
	select {
	case <-a.done:
	case <-late.C:
	case <-ctx.Done():
	}
	switch a.answer().GetStatus() {
	case messages.Status_STATUS_UNSPECIFIED, messages.Status_UNAVAILABLE:
		c.elsewhere(ctx, a)
	default:
		c.owner[a.shard] = n
	}
	return a.answer()
}

// elsewhere lets the next request go to any node.
func (c *client) elsewhere(ctx context.Context, a *ask) {
	c.owner[a.shard] = c.IntN(len(c.rivals))
	pause(ctx, c.between(time.Millisecond, 20*time.Millisecond))
}
