package linear

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/messages"
)

// client locks and unlocks, and makes every mistake that a client can make. It belongs to one goroutine,
// but for its inbox.
type client struct {
	*Load
	*inbox
	number int
	dice   *rand.Rand
	direct bool
	// batched: its requests are calls of batches.
	batched bool
	// owner is its name. After an outcome that it does not know, and after a crash, it takes a new one:
	// what the old one may still do is its own business.
	owner    string
	lives    int
	requests int
	sessions int
	// stretch makes the TTLs of one owner differ.
	stretch  uint32
	encoding messages.Encoding
	// past are requests that were granted or withdrawn, of which no sending is on its way any more.
	past []pastRequest
}

// pastRequest is a request that may come once more, late.
type pastRequest struct {
	*resource
	Operation
}

// mostPast is how many requests a client may repeat late, and pastFor for how long after it has first sent them: an owner
// remembers for a minute what has ended.
const (
	mostPast = 32
	pastFor  = 45 * time.Second
)

// mostStretch is how many TTLs an owner has, before it would have one twice.
const mostStretch = 100

func (l *Load) newClient(number int, nc *nats.Conn) *client {
	c := &client{
		Load: l, inbox: &inbox{nc: nc, now: l.Now}, number: number, dice: rand.New(rand.NewPCG(l.Seed, uint64(number))),
		direct: l.Shards > 0 && number%2 == 1, batched: l.Shards > 0 && !l.Imported && number%8 >= 5 &&
			number%2 == 1, encoding: []messages.Encoding{messages.Protobuf, messages.JSON}[number/2%2],
	}
	c.rename()
	return c
}

// OwnerOf returns the name of an owner that the service verifies by an identity; empty: it does not.
func OwnerOf(identity, name string) string {
	if identity == "" {
		return name
	}
	return identity + "/" + name
}

func (c *client) rename() {
	c.lives++
	c.stretch = 0
	c.owner = OwnerOf(c.Identity, fmt.Sprintf("c%d.%d", c.number, c.lives))
	if (c.number+c.lives)%2 == 0 {
		c.owner = secretive(c.owner)
	}
}

// ttl is the length of a lease, which no other request of this owner asks for.
func (c *client) ttl() uint32 {
	c.stretch++
	length := c.TTLs[c.dice.IntN(len(c.TTLs))]
	return uint32(length.Milliseconds()) + c.stretch
}

func (c *client) id() string {
	c.requests++
	return fmt.Sprintf("c%d-%d", c.number, c.requests)
}

// chance is true in that percentage of cases.
func (c *client) chance(percent int) bool { return c.dice.IntN(100) < percent }

// run works until the load ends.
func (c *client) run() {
	for c.subscribed() && !c.ended() {
		if c.stretch > mostStretch {
			c.rename()
		}
		r := c.choose()
		if r == nil {
			return // all have had enough
		}
		switch n := c.dice.IntN(100); {
		case n < 12 && len(c.groups) > 0:
			c.together()
		case n < 70:
			c.lock(r)
		case n < 82:
			if got := c.get(r); got.Status == messages.Status_HELD_BACK {
				c.confirm(r, c.anyOf(got.Shown))
			}
		case n < 88:
			c.breakLease(r)
		case n < 94:
			c.trespass(r)
		case n < 97:
			c.repeatLate()
		default:
			c.crashWaiting(r)
		}
		c.rest()
	}
}

// lookOnce asks for the resource and does nothing else.
func (c *client) lookOnce(r *resource) {
	defer c.close()
	if c.subscribed() {
		c.get(r)
	}
}

// subscribed makes sure that the client has an inbox, and reports whether it has.
func (c *client) subscribed() bool {
	return c.sub != nil || c.open() == nil
}

// choose takes the first resource as often as it is to be hot, and nil when none may be used any more.
func (c *client) choose() *resource {
	at := 0
	if !c.chance(c.Hot) {
		at = c.dice.IntN(len(c.targets))
	}
	for i := range c.targets {
		if r := c.targets[(at+i)%len(c.targets)]; r.count.Load() < int64(c.Most) {
			return r
		}
	}
	return nil
}

// rest waits for a while, in which the load may end.
func (c *client) rest() { c.pause(time.Duration(c.dice.Int64N(int64(c.Pause)))) }

func (c *client) pause(d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-c.stopping:
	case <-c.ctx.Done():
	}
}

// ask makes a request, and returns what came of it.
func (c *client) ask(r *resource, o Operation) Operation {
	q, err := c.begin(r, o)
	if err != nil {
		return o // it cannot be written: no request of ours is so
	}
	o = c.await(q)
	if o.Status == 0 {
		c.rename()
	}
	return o
}

func (c *client) get(r *resource) Operation {
	return c.ask(r, Operation{Kind: messages.OpGet})
}

// wish is a request for the resource.
func (c *client) wish(r *resource) Operation {
	o := Operation{
		Kind: messages.OpAcquire, Owner: c.owner, RequestID: c.id(), Ephemeral: r.ephemeral,
		TTL: c.ttl(), Reentrant: c.chance(10),
	}
	if c.chance(60) {
		o.Wait = 1 + c.dice.Uint32N(1000)
	}
	if c.chance(30) {
		o.Value = o.RequestID
	}
	switch {
	case r.shared:
		o.Limit, o.Permits = c.sharing()
	case !r.ephemeral && c.chance(30):
		o.Delay, o.Confirm = c.holdBack()
	}
	if c.Blocks {
		c.enlarge(r, &o)
	}
	if o.Limit == unlimited && c.chance(70) {
		o.Wait = 0 // many readers come while a writer waits
	}
	return o
}

// unlimited is the limit of a reader.
const unlimited = math.MaxUint32

// sharing is what a request on a shared resource asks for: to read, to write, or for permits of a semaphore.
func (c *client) sharing() (limit, permits uint32) {
	switch n := c.dice.IntN(100); {
	case n < 40:
		return unlimited, 0
	case n < 65:
		return uint32(c.dice.IntN(2)), 0 // 0 and 1 are the same
	default:
		limit = 2 + c.dice.Uint32N(3)
		return limit, 1 + c.dice.Uint32N(min(limit, 2))
	}
}

// holdBack is what a request asks for in case that its lease is lost.
func (c *client) holdBack() (delay uint32, confirm bool) {
	switch n := c.dice.IntN(100); {
	case n < 60:
		return 50 + c.dice.Uint32N(150), false
	case n < 80:
		return 50 + c.dice.Uint32N(150), true
	default:
		return 0, true
	}
}

// enlarge lets a request for an exclusive lease ask for a block of tokens, and for a shortest hold.
func (c *client) enlarge(r *resource, o *Operation) {
	if o.most() == 1 && !o.Reentrant && c.chance(30) {
		o.Tokens = 1 + c.dice.Uint32N(20)
	}
	if !r.shared && !r.ephemeral && c.chance(15) {
		o.MinHold = 20 + c.dice.Uint32N(200)
	}
}

// lock takes the resource, uses it and lets it go, or not.
func (c *client) lock(r *resource) {
	o := c.wish(r)
	if o.Wait > 0 && c.chance(15) {
		c.withdraw(r, o)
		return
	}
	got := c.ask(r, o)
	if got.Status == messages.Status_HELD_BACK && c.chance(50) {
		c.confirm(r, c.anyOf(got.Shown))
	}
	if !got.granted() {
		return
	}
	c.keep(r, got)
	lease := holding{client: c, resource: r, Operation: got}
	for c.chance(50) && !c.ended() {
		c.rest()
		if !lease.use() {
			break
		}
	}
	switch {
	case c.chance(10):
		c.rename() // it has crashed, and its lease runs out
	case c.chance(90):
		lease.release()
	}
	if c.chance(10) {
		c.repeatLate()
	}
}

// keep lets a request that was granted or withdrawn be repeated late. None of it may be on its way, and what a
// reentrant one does is not its own.
func (c *client) keep(r *resource, o Operation) {
	if o.Open > 0 || o.Reentrant {
		return
	}
	c.past = append(c.past, pastRequest{r, o})
	c.past = c.past[max(0, len(c.past)-mostPast):]
}

// repeatLate lets a copy of a request come late, most often of the latest. If its owner has changed since,
// it may be granted.
func (c *client) repeatLate() {
	c.past = slices.DeleteFunc(c.past, func(p pastRequest) bool { return c.Now()-p.Call > pastFor })
	if len(c.past) == 0 {
		return
	}
	i := len(c.past) - 1
	if c.chance(50) {
		i = c.dice.IntN(len(c.past))
	}
	p := c.past[i]
	if p.count.Load() >= int64(c.Most) {
		return
	}
	got := c.ask(p.resource, p.Unanswered())
	if got.Open > 0 && !got.late() {
		c.past = append(c.past[:i:i], c.past[i+1:]...)
	}
	if got.granted() {
		lease := holding{client: c, resource: p.resource, Operation: got}
		lease.release()
	}
}

// holding is a lease that the client was granted.
type holding struct {
	*client
	*resource
	Operation
	// orders is the highest number of its extends and sets.
	orders uint64
}

// order is the number of an extend or a set: none, a higher one, or one of those up to the highest, as if it were late.
func (h *holding) order() uint64 {
	switch n := h.dice.IntN(100); {
	case n < 30:
		return 0
	case n < 65 || h.orders == 0:
		h.orders += 1 + h.dice.Uint64N(3)
		return h.orders
	default:
		return 1 + h.dice.Uint64N(h.orders)
	}
}

// use does something with the lease, and reports whether the client still knows what it holds.
func (h *holding) use() bool {
	o := Operation{Owner: h.Owner, Token: h.Shown.Token}
	switch n := h.dice.IntN(100); {
	case n < 50:
		o.Kind, o.TTL = messages.OpExtend, h.ttl()
		switch {
		case h.shared && h.chance(50):
			return h.downgrade(o)
		case !h.shared && h.chance(10): // else it may have several leases
			o.Token = 0
		}
		o.Order = h.order()
		if h.Blocks && h.Shown.Limit == 0 && h.chance(30) {
			o.Tokens = 1 + h.dice.Uint32N(h.Shown.Tokens+20) // it may have as many already
		}
	case n < 65 && h.Open == 0 && !h.Reentrant:
		o = h.Unanswered() // the same request again, and none of it is still on its way
	case n < 80:
		o = Operation{
			Kind: messages.OpAcquire, Owner: h.Owner, RequestID: h.id(), Ephemeral: h.Ephemeral,
			TTL: h.ttl(), Reentrant: h.chance(70), Limit: h.Limit, Permits: h.Permits,
		}
	case n < 86:
		o = Operation{Kind: messages.OpGet}
	case n < 94:
		o.Kind, o.Value, o.Order = messages.OpSet, h.id(), h.order()
	default: // of a lease before or after, of which it knows nothing
		o.Kind, o.Token = messages.OpRelease, h.Shown.Token+1
		if h.chance(50) && h.Shown.Token > 1 {
			o.Token = h.Shown.Token - 1
		}
	}
	got := h.ask(h.resource, o)
	if got.Status == messages.Status_EXTENDED {
		h.Shown.Tokens = got.Shown.Tokens
	}
	return got.Status != 0
}

// downgrade lets others in beside the holder. It may go on with the token that it had.
func (h *holding) downgrade(o Operation) bool {
	o.Token, o.Limit = h.Shown.Token, unlimited
	if h.Shown.Limit < 4 && h.chance(50) {
		o.Limit = max(h.Shown.Limit, 1) + 1
	}
	got := h.ask(h.resource, o)
	if got.Status == messages.Status_EXTENDED && h.chance(70) {
		h.Shown = got.Shown
	}
	return got.Status != 0
}

// release lets the lease go, sometimes twice.
func (h *holding) release() {
	o := Operation{Kind: messages.OpRelease, Owner: h.Owner, Token: h.Shown.Token}
	if !h.shared && h.chance(10) {
		o.Token = 0
	}
	if h.ask(h.resource, o).Status != 0 && h.chance(10) {
		h.ask(h.resource, o)
	}
}

// breakLease breaks what was held when a client last looked.
func (c *client) breakLease(r *resource) {
	token := r.token.Load()
	if c.chance(50) {
		token = c.anyOf(c.get(r).Shown)
	}
	if token != 0 {
		c.ask(r, Operation{Kind: messages.OpBreak, Token: token, Reason: c.id()})
	}
}

// anyOf returns one of the tokens of a lease.
func (c *client) anyOf(l Shown) uint64 {
	if l.Tokens <= 1 {
		return l.Token
	}
	return l.Token + uint64(c.dice.Uint32N(l.Tokens))
}

// confirm confirms the loss of a lease that holds the resource back, or of another one, and sometimes twice.
func (c *client) confirm(r *resource, token uint64) {
	if c.chance(20) {
		token = max(1, token+uint64(c.dice.IntN(3))-1)
	}
	o := Operation{Kind: messages.OpConfirm, Token: token, Reason: c.id()}
	if c.ask(r, o).Status != 0 && c.chance(20) {
		o.Reason = c.id()
		c.ask(r, o)
	}
}

// trespass uses what is not its own, also in the name of its owner, but without the secret.
func (c *client) trespass(r *resource) {
	o := Operation{Kind: messages.OpRelease, Owner: c.owner, Token: r.token.Load()}
	if c.chance(50) {
		if holder := c.get(r).Shown; isSecretive(holder.Owner) {
			o.Owner, o.Token = stranger(holder.Owner), holder.Token
		}
	}
	switch n := c.dice.IntN(100); {
	case n < 35:
		o.Kind, o.TTL = messages.OpExtend, c.ttl()
	case n < 55:
		o.Kind, o.Value = messages.OpSet, c.id()
	}
	c.ask(r, o)
}

// withdraw waits for the resource, and takes the request out of the queue.
func (c *client) withdraw(r *resource, o Operation) {
	waiting, err := c.begin(r, o)
	if err != nil {
		return
	}
	done := make(chan Operation, 1)
	c.work.Go(func() { done <- c.await(waiting) })
	c.rest()
	c.ask(r, Operation{Kind: messages.OpRelease, Owner: o.Owner, RequestID: o.RequestID})
	switch got := <-done; {
	case got.granted() && c.owner == o.Owner:
		lease := holding{client: c, resource: r, Operation: got}
		lease.release()
	case got.Status == messages.Status_CANCELLED:
		c.keep(r, got)
	case got.Status == 0:
		c.rename()
	}
}

// crashWaiting vanishes with a request in the queue.
func (c *client) crashWaiting(r *resource) {
	o := c.wish(r)
	o.Wait = 1000
	q, err := c.begin(r, o)
	if err != nil {
		return
	}
	done := make(chan Operation, 1)
	c.work.Go(func() { done <- c.await(q) })
	c.rest()
	c.close()
	close(q.abandoned)
	<-done
	c.rename()
}
