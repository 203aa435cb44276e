package soak

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/messages"
)

// client plays one user of locks: a goroutine, with an owner's name that it changes with every crash.
type client struct {
	*run
	process *process
	dice    *dice
	id      int
	owner   string
	owners  int
	// direct: it uses the direct endpoint of the shard.
	direct   bool
	encoding messages.Encoding

	conn  *connection
	sub   *nats.Subscription
	inbox string
	in    chan *nats.Msg
	// box holds answers that came while the client waited for others; all to requests up to
	// forgotten are of no interest any more.
	box              map[uint64]answer
	calls, forgotten uint64
	open             []*call
	// past are requests of this owner that are over.
	past []pastRequest
}

func newClient(r *run, id int, p *process) *client {
	c := &client{
		run: r, process: p, id: id, dice: newDice(r.cfg.seed, uint64(id)), direct: id%2 == 0,
		in: make(chan *nats.Msg, 256), box: make(map[uint64]answer),
	}
	if id%8 == 7 {
		c.encoding = messages.JSON
	}
	c.rename()
	return c
}

// rename makes a new owner of the client: it has lost all that it knew.
func (c *client) rename() {
	c.owners++
	c.owner = c.run.owner(fmt.Sprintf("c%d.%d", c.id, c.owners))
	c.past = nil
}

// live plays until the run is over.
func (c *client) live(ctx context.Context) {
	for !c.stopping() && ctx.Err() == nil {
		c.forget()
		err := c.play(ctx)
		switch {
		case errors.Is(err, errCrashed):
			c.conn = nil
			c.rename()
		case err != nil && ctx.Err() == nil && !errors.Is(err, context.Canceled):
			c.violated("client %s: %v", c.owner, err)
		}
		if c.rest(ctx, c.dice.between(0, 60*time.Millisecond)) != nil {
			return
		}
	}
}

// forget lets go of all that was.
func (c *client) forget() {
	for _, q := range c.open {
		q.resource.answered(q)
	}
	c.open = c.open[:0]
	c.forgotten = c.calls
	clear(c.box)
}

func (c *client) play(ctx context.Context) error {
	r := c.cold[c.dice.IntN(len(c.cold))]
	if c.dice.chance(40) {
		r = c.hot[c.dice.IntN(len(c.hot))]
	}
	switch n := c.dice.IntN(100); {
	case n < 67:
		return c.lock(ctx, r)
	case n < 72:
		return c.repeatLate(ctx)
	case n < 78:
		return c.withdraw(ctx, r)
	case n < 82:
		return c.vanish(ctx, r)
	case n < 92:
		return c.look(ctx, r)
	case n < 97:
		return c.meddle(ctx, r)
	default:
		return c.breakIn(ctx, r)
	}
}

// wish is an acquire request as the resource gets them.
func (c *client) wish(r *resource, waits bool) *messages.AcquireRequest {
	m := &messages.AcquireRequest{
		Owner: c.owner, RequestId: fmt.Sprintf("%s.%d", c.owner, c.calls), TtlMs: 1000 + c.dice.Uint32N(2000),
	}
	if r.hot || c.dice.chance(20) {
		m.TtlMs = 100 + c.dice.Uint32N(700)
	}
	if waits {
		m.WaitMs = 50 + c.dice.Uint32N(3000)
	}
	if r.shared {
		m.Limit, m.Permits = c.sharing()
	}
	if r.class == ephemeral || r.class == mixed && c.dice.chance(50) {
		m.Durability = messages.Durability_EPHEMERAL
	}
	if r.class == persistent && !r.shared && c.dice.chance(15) {
		m.DelayMs, m.Confirm = 10+c.dice.Uint32N(300), true // nobody takes it back, past others that wait
	}
	if c.dice.chance(10) {
		m.Metadata = map[string]string{"seed": fmt.Sprint(c.cfg.seed)}
	}
	return m
}

// sharing is what a request asks for: to read, to write, or for permits of a semaphore.
func (c *client) sharing() (limit, permits uint32) {
	switch n := c.dice.IntN(10); {
	case n < 4:
		return math.MaxUint32, 0
	case n < 7:
		return 0, 0
	default:
		return 3, 1 + c.dice.Uint32N(2)
	}
}

func waitOf(m *messages.AcquireRequest) time.Duration {
	return time.Duration(m.GetWaitMs()) * time.Millisecond
}

func millis(n uint32) time.Duration { return time.Duration(n) * time.Millisecond }

// lock acquires, uses and lets go.
func (c *client) lock(ctx context.Context, r *resource) error {
	m := c.wish(r, c.dice.chance(65))
	q, err := c.begin(ctx, r, messages.OpAcquire, m, waitOf(m))
	if err != nil {
		return err
	}
	if c.dice.chance(6) { // as if the answer had been lost, or were late
		if err := c.rest(ctx, c.dice.between(0, 20*time.Millisecond)); err != nil {
			return err
		}
		c.repeats.Add(1)
		if err := c.send(ctx, q); err != nil {
			return err
		}
	}
	a, err := c.await(ctx, q, 0)
	if err != nil || a.GetStatus() != messages.Status_GRANTED {
		return err
	}
	g := c.got(q, m, a)
	err = c.use(ctx, r, m, g)
	r.ended(g)
	c.keep(pastRequest{resource: r, AcquireRequest: m, grant: g, since: g.sent})
	return err
}

// got takes a grant in.
func (c *client) got(q *call, m *messages.AcquireRequest, a answer) *grant {
	l := a.GetLease()
	if l.GetOwner() != c.owner || l.GetToken() == 0 || l.GetDurability() != m.GetDurability() ||
		!isSharedAs(l, m) || l.GetResource() != q.resource.name {
		c.fail(q, "was granted a lease that it did not ask for: %s", l)
	}
	start := q.sent
	if at, ok := c.wall(l.GetAcquiredAtMs()); ok && m.GetWaitMs() > 0 {
		start = max(start, at)
	}
	if a.waited {
		c.handOvers.Add(1)
	}
	g := &grant{
		owner: c.owner, token: l.GetToken(), volatile: l.GetDurability() == messages.Durability_EPHEMERAL,
		route: q.route(), place: q.place, sent: q.sent, received: a.at, end: start + millis(m.GetTtlMs()),
		limit: max(l.GetLimit(), 1), slots: slotsOf(l),
	}
	c.shared.Add(int64(min(l.GetLimit(), 1)))
	if g.volatile {
		c.volatile.Add(1)
	}
	return q.resource.granted(g)
}

// use does what one does with a lease, and lets it go or lets it run out.
func (c *client) use(ctx context.Context, r *resource, m *messages.AcquireRequest, g *grant) error {
	pause := 100 * time.Millisecond
	if r.hot {
		pause = 8 * time.Millisecond
	}
	for c.dice.chance(45) {
		if err := c.rest(ctx, c.dice.between(0, pause)); err != nil {
			return err
		}
		var held bool
		var err error
		switch c.dice.IntN(6) {
		case 0, 1:
			held, err = c.extend(ctx, r, g)
		case 2:
			held, err = c.see(ctx, r, g)
		case 3:
			held, err = c.keepSession(ctx, r, g)
		case 4:
			held, err = c.again(ctx, r, m, g)
		default:
			if r.shared { // that token may be of another of its leases
				continue
			}
			held, err = c.mistake(ctx, r, g)
		}
		if err != nil || !held {
			return err // its time was over: there is nothing to let go
		}
	}
	if err := c.rest(ctx, c.dice.between(0, pause)); err != nil {
		return err
	}
	if c.dice.chance(7) {
		return nil // it forgets to
	}
	return c.release(ctx, r, g)
}

func (c *client) release(ctx context.Context, r *resource, g *grant) error {
	if g.session != "" && c.dice.chance(50) {
		return c.endSession(ctx, r, g)
	}
	due := r.due(g)
	r.shorten(g, c.now())
	token := g.token
	if !r.shared && c.dice.chance(10) { // else the client may have several leases
		token = 0
	}
	q, a, err := c.ask(ctx, r, messages.OpRelease, &messages.ReleaseRequest{Owner: c.owner, Token: token})
	if err != nil {
		return err
	}
	c.must(q, g, due, a, messages.Status_RELEASED)
	g.over = a.GetStatus() == messages.Status_RELEASED || a.GetStatus() == messages.Status_EXPIRED
	if a.GetStatus() != messages.Status_RELEASED || !c.dice.chance(10) {
		return nil
	}
	q, a, err = c.ask(ctx, r, messages.OpRelease, &messages.ReleaseRequest{Owner: c.owner, Token: token})
	if err == nil && a.GetStatus() == messages.Status_EXPIRED {
		c.fail(q, "its release was repeated and answered %s", a)
	}
	return err
}

// must checks that the answer is the one that the holder gets whose window is not over. It reports
// whether the lease goes on.
func (c *client) must(q *call, g *grant, due instant, a answer, want messages.Status) bool {
	if a.GetStatus() == want && (a.GetLease() == nil || a.GetLease().GetToken() == g.token) {
		return true
	}
	if a.GetStatus() != messages.Status_OVERLOADED && q.sends == 1 && q.resource.safe(g, due, a.at) {
		c.fail(q, "the lease of token %d holds until %v, but this was answered %s at %v, not %s", g.token, due, a, a.at,
			want)
	}
	return false
}

func (c *client) extend(ctx context.Context, r *resource, g *grant) (bool, error) {
	if g.order > 1 && c.dice.chance(30) {
		return c.overtaken(ctx, r, g)
	}
	g.order++
	m := &messages.ExtendRequest{Owner: c.owner, Token: g.token, TtlMs: 100 + c.dice.Uint32N(900), Order: g.order}
	if c.dice.chance(40) {
		m.Session = fmt.Sprintf("session-of-%s-%d", c.owner, c.calls)
	}
	q, err := c.begin(ctx, r, messages.OpExtend, m, 0)
	if err != nil {
		return false, err
	}
	held, err := c.prolong(ctx, r, g, q, m.GetTtlMs())
	if held {
		g.session = m.GetSession()
	}
	return held, err
}

// overtaken extends its lease by a request that is late, which therefore does not shorten it.
func (c *client) overtaken(ctx context.Context, r *resource, g *grant) (bool, error) {
	due := r.due(g)
	m := &messages.ExtendRequest{Owner: c.owner, Token: g.token, TtlMs: 100, Order: 1 + c.dice.Uint64N(g.order-1)}
	q, a, err := c.ask(ctx, r, messages.OpExtend, m)
	if err != nil {
		return false, err
	}
	held := c.must(q, g, due, a, messages.Status_EXTENDED)
	if held && a.GetOrder() != g.order {
		c.fail(q, "the lease of token %d was extended by order %d, and this was answered %s", g.token, g.order, a)
	}
	return held, nil
}

// keepSession keeps the session of its lease, if that has one.
func (c *client) keepSession(ctx context.Context, r *resource, g *grant) (bool, error) {
	if g.session == "" {
		return true, nil
	}
	m := &messages.KeepRequest{TtlMs: 100 + c.dice.Uint32N(900)}
	q, err := c.beginAbout(ctx, r, g.session, messages.OpKeep, m, 0)
	if err != nil {
		return false, err
	}
	c.keeps.Add(1)
	return c.prolong(ctx, r, g, q, m.GetTtlMs())
}

// prolong waits for the answer to a request that has the lease run for a TTL, and reports whether it does.
func (c *client) prolong(ctx context.Context, r *resource, g *grant, q *call, ttl uint32) (bool, error) {
	until := q.sent + millis(ttl)
	due := min(r.due(g), until)
	r.shorten(g, until)
	a, err := c.await(ctx, q, 0)
	if err != nil {
		return false, err
	}
	held := c.must(q, g, due, a, messages.Status_EXTENDED)
	if held {
		r.extended(g, until)
	}
	return held, nil
}

// endSession lets go of its lease by the end of its session.
func (c *client) endSession(ctx context.Context, r *resource, g *grant) error {
	due := r.due(g)
	r.shorten(g, c.now())
	q, err := c.beginAbout(ctx, r, g.session, messages.OpEnd, &messages.EndRequest{}, 0)
	if err != nil {
		return err
	}
	a, err := c.await(ctx, q, 0)
	if err != nil {
		return err
	}
	c.must(q, g, due, a, messages.Status_RELEASED)
	g.over = a.GetStatus() == messages.Status_RELEASED
	return nil
}

// see looks at its own lease.
func (c *client) see(ctx context.Context, r *resource, g *grant) (bool, error) {
	due := r.due(g)
	q, a, err := c.ask(ctx, r, messages.OpGet, &messages.GetRequest{Stale: c.dice.chance(30)})
	if err != nil {
		return false, err
	}
	for _, l := range a.GetHolders() {
		if l.GetToken() == g.token {
			a.Lease = l
		}
	}
	if len(a.GetHolders()) == mostListed {
		return true, nil // its lease may be behind these
	}
	return c.must(q, g, due, a, messages.Status_HELD), nil
}

// again asks for what it has: by the same request, as another one, and reentrantly.
func (c *client) again(ctx context.Context, r *resource, m *messages.AcquireRequest, g *grant) (bool, error) {
	want := messages.Status_GRANTED
	again := &messages.AcquireRequest{
		Owner: m.GetOwner(), TtlMs: m.GetTtlMs(), RequestId: m.GetRequestId(), Durability: m.GetDurability(),
		Limit: m.GetLimit(), Permits: m.GetPermits(),
	}
	switch n := c.dice.IntN(3); {
	case n == 0:
		again.Reentrant = true
	case n == 1 && !r.shared: // else it may be granted beside its own
		want = messages.Status_HELD
		again.RequestId = ""
	}
	due := r.due(g)
	q, a, err := c.ask(ctx, r, messages.OpAcquire, again)
	if err != nil {
		return false, err
	}
	held := c.must(q, g, due, a, want)
	if a.GetStatus() != messages.Status_GRANTED {
		return held, nil
	}
	if got := c.got(q, again, a); got != g {
		r.ended(got) // the first one was over; the second will run out
		return false, nil
	}
	if again.GetReentrant() && g.session == "" { // one of a session stays as it is
		r.extended(g, max(r.due(g), q.sent+millis(again.GetTtlMs())))
	}
	return held, nil
}

// mistake uses a token that is not the present one.
func (c *client) mistake(ctx context.Context, r *resource, g *grant) (bool, error) {
	due := r.due(g)
	wrong := g.token + 1 + c.dice.Uint64N(5)
	if g.token > 1 && c.dice.chance(50) {
		wrong = g.token - 1
	}
	q, a, err := c.ask(ctx, r, messages.OpRelease, &messages.ReleaseRequest{Owner: c.owner, Token: wrong})
	if err != nil {
		return false, err
	}
	return c.must(q, g, due, a, messages.Status_STALE_TOKEN), nil
}

// withdraw waits for a while, and takes the request out of the queue.
func (c *client) withdraw(ctx context.Context, r *resource) error {
	m := c.wish(r, true)
	q, err := c.begin(ctx, r, messages.OpAcquire, m, waitOf(m))
	if err != nil {
		return err
	}
	a, err := c.await(ctx, q, c.dice.between(time.Millisecond, 200*time.Millisecond))
	if errors.Is(err, errLate) {
		sent := c.now()
		_, withdrawn, err := c.ask(ctx, r, messages.OpRelease,
			&messages.ReleaseRequest{Owner: c.owner, RequestId: m.GetRequestId()})
		if err != nil {
			return err
		}
		if a, err = c.await(ctx, q, 0); err != nil {
			return err
		}
		if a.GetStatus() != messages.Status_GRANTED {
			if withdrawn.GetStatus() == messages.Status_CANCELLED {
				c.keep(pastRequest{resource: r, AcquireRequest: m, since: sent})
			}
			return nil
		}
		g := c.got(q, m, a)
		r.shorten(g, sent)
		r.ended(g)
		return nil
	}
	if err != nil || a.GetStatus() != messages.Status_GRANTED {
		return err
	}
	g := c.got(q, m, a)
	err = c.release(ctx, r, g)
	r.ended(g)
	return err
}

// vanish waits for a while and leaves its inbox, so that its answer reaches no client.
func (c *client) vanish(ctx context.Context, r *resource) error {
	m := c.wish(r, true)
	q, err := c.begin(ctx, r, messages.OpAcquire, m, waitOf(m))
	if err != nil {
		return err
	}
	a, err := c.await(ctx, q, c.dice.between(0, 50*time.Millisecond))
	switch {
	case errors.Is(err, errLate):
	case err != nil:
		return err
	case a.GetStatus() == messages.Status_GRANTED:
		r.ended(c.got(q, m, a))
	}
	c.vanished.Add(1)
	_ = c.sub.Unsubscribe() // or the connection is over, which is as good
	c.conn = nil
	c.rename()
	return nil
}

// look asks how it stands.
func (c *client) look(ctx context.Context, r *resource) error {
	stale := c.dice.chance(30)
	q, a, err := c.ask(ctx, r, messages.OpGet, &messages.GetRequest{Stale: stale})
	if err != nil {
		return err
	}
	r.mu.Lock()
	known := r.before(q.sent)
	r.mu.Unlock()
	// else the oldest of those that are held
	isLast := !r.shared || a.GetStatus() == messages.Status_FREE
	if token := a.GetLease().GetToken(); isLast && a.GetLease() != nil && token < known.token { // none: forgotten
		c.fail(q, "it shows token %d, when token %d had been granted at %v, before it was sent", token, known.token,
			known.at)
	}
	return nil
}

// meddle touches what is not its own.
func (c *client) meddle(ctx context.Context, r *resource) error {
	stranger := c.owner + "s"
	if c.dice.chance(50) {
		q, a, err := c.ask(ctx, r, messages.OpRelease, &messages.ReleaseRequest{Owner: stranger})
		if err == nil && a.GetStatus() != messages.Status_NOT_HELD && a.GetStatus() != messages.Status_NOT_OWNER {
			c.fail(q, "%s never held it, but was answered %s", stranger, a)
		}
		return err
	}
	q, a, err := c.ask(ctx, r, messages.OpExtend, &messages.ExtendRequest{Owner: stranger, TtlMs: 1000})
	if err == nil && a.GetStatus() != messages.Status_NOT_HELD && a.GetStatus() != messages.Status_NOT_OWNER {
		c.fail(q, "%s never held it, but was answered %s", stranger, a)
	}
	return err
}

// breakIn takes the lease from its holder, and may confirm the loss.
func (c *client) breakIn(ctx context.Context, r *resource) error {
	_, a, err := c.ask(ctx, r, messages.OpGet, &messages.GetRequest{})
	if err != nil || a.GetStatus() != messages.Status_HELD {
		return err
	}
	token := a.GetLease().GetToken()
	r.breaking(token, c.now())
	if _, _, err = c.ask(ctx, r, messages.OpBreak, &messages.BreakRequest{Token: token, Reason: "soak"}); err != nil || c.dice.chance(50) {
		return err
	}
	_, _, err = c.ask(ctx, r, messages.OpConfirm, &messages.ConfirmRequest{Token: token, By: c.owner, How: "broken"})
	return err
}
