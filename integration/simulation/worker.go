package simulation

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/clients/holdfast"
	"github.com/holdfast-io/holdfast/clients/request"
	"github.com/holdfast-io/holdfast/messages"
)

// counter is a resource that workers increment under a lock. It admits the fences of a guard: a write with a lower one
// than it has seen is refused, and a read shows it the fence first. So no increment is lost, and how many were
// acknowledged is what it says.
type counter struct {
	side         side
	name         string
	mark         messages.Token
	value        int
	acknowledged int
	refused      int
	// holder is who believes that it holds the lock.
	holder *holdfast.Lock
}

// admit reports whether the fence is not lower than one before.
func (c *counter) admit(fence messages.Token) bool {
	if fence < c.mark {
		c.refused++
		return false
	}
	c.mark = fence
	return true
}

// workers are the clients of the project that increment counters.
type workers struct {
	*world
	mu       sync.Mutex
	counters []*counter
	tally    map[string]int
	stopping chan struct{}
	work     sync.WaitGroup
}

// startWorkers starts those of the trial.
func (w *world) startWorkers() *workers {
	g := &workers{world: w, tally: make(map[string]int), stopping: make(chan struct{})}
	sides := w.trial.sides()
	for _, s := range sides {
		for i := range 6 {
			g.counters = append(g.counters, &counter{side: s, name: fmt.Sprint("counter.", i)})
		}
	}
	for i := range w.trial.Workers {
		side := i % len(sides)
		s := sides[side]
		nc, err := w.connect(fmt.Sprint("w", i), i%len(w.Servers), login(s.user))
		if err != nil {
			w.note(err)
			continue
		}
		client, err := s.client(nc, fmt.Sprint("w", i), holdfast.Timeout(10*time.Second), holdfast.Secret(secret))
		if err != nil {
			w.note(err)
			continue
		}
		dice := rand.New(rand.NewPCG(w.trial.Seed, 1000+uint64(i)))
		if dice.IntN(4) == 0 { // its answers take longer than a session of short leases would like
			by := time.Duration(dice.Int64N(int64(150 * time.Millisecond)))
			w.do(func() { w.Network.Slow(fmt.Sprint("w", i), by) })
		}
		own := g.counters[side*len(g.counters)/len(sides):][:len(g.counters)/len(sides)]
		g.start(&worker{workers: g, own: own, client: client, nc: nc, dice: dice})
	}
	return g
}

// secret is that of all workers.
var secret = []byte("the secret of all workers")

// start starts what a worker does at the same time: its client holds several locks, and keeps them in sessions.
func (g *workers) start(x *worker) {
	var tasks sync.WaitGroup
	for range 1 + x.dice.IntN(3) {
		task := *x
		task.dice = rand.New(rand.NewPCG(x.dice.Uint64(), 0))
		tasks.Go(task.run)
	}
	g.work.Go(func() {
		defer x.nc.Close()
		tasks.Wait()
		ctx, cancel := context.WithTimeout(g.ctx, time.Minute)
		defer cancel()
		_ = x.client.Close(ctx) // what it could not release runs out
	})
}

// worker is one thing after the other that a client does.
type worker struct {
	*workers
	// own are the counters of its side.
	own    []*counter
	client *holdfast.Client
	nc     *nats.Conn
	dice   *rand.Rand
}

// chance is true in one of so many cases.
func (x *worker) chance(in int) bool { return x.dice.IntN(in) == 0 }

// upTo returns a time below a bound.
func (x *worker) upTo(bound time.Duration) time.Duration {
	return time.Duration(x.dice.Int64N(int64(bound)))
}

// stop lets the workers finish, and compares what they were promised with what there is.
func (g *workers) stop() {
	close(g.stopping)
	g.work.Wait()
	for _, c := range g.counters {
		if c.value != c.acknowledged {
			g.note(fmt.Errorf("%s%s: %d increments are acknowledged, and it says %d", c.name, c.side, c.acknowledged, c.value))
		}
	}
}

// add adds what workers did to a tally.
func (g *workers) add(tally map[string]int) {
	for what, n := range g.tally {
		tally["worker "+what] += n
	}
	for _, c := range g.counters {
		tally["worker refused by the guard"] += c.refused
	}
}

func (g *workers) count(what string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.tally[what]++
}

func (x *worker) run() {
	for x.rests(x.upTo(2 * time.Second)) {
		x.increment(x.own[x.dice.IntN(len(x.own))])
	}
}

// rests waits for a while, and reports whether the trial goes on.
func (g *workers) rests(d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-g.stopping:
		return false
	}
}

// lengths are how long leases are.
var lengths = []time.Duration{time.Second, 3 * time.Second, 10 * time.Second}

func (x *worker) length() time.Duration { return lengths[x.dice.IntN(len(lengths))] }

// increment increments a counter under its lock.
func (x *worker) increment(c *counter) {
	ttl := x.length()
	ctx, cancel := context.WithTimeout(x.ctx, 20*time.Second)
	defer cancel()
	options := []holdfast.AcquireOption{holdfast.TTL(ttl), holdfast.MaxWait(5 * time.Second)}
	if x.chance(3) {
		options = append(options, holdfast.NoRenewal())
	}
	l, err := x.client.Acquire(ctx, c.name, options...)
	if err != nil {
		x.count(outcomeOf(err))
		return
	}
	x.count("acquired")
	x.acquired(c, l)
	defer x.release(c, l)
	x.mu.Lock()
	admitted, before := c.admit(l.Token()), c.value
	x.mu.Unlock()
	if !admitted {
		return
	}
	x.hold(c, l, ttl)
	if !l.Valid() {
		x.count("lost")
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if c.admit(l.Token()) {
		c.value = before + 1
		c.acknowledged++
	}
}

// hold takes its time under a lock. It does not look whether it has lost the lock.
func (x *worker) hold(c *counter, l *holdfast.Lock, ttl time.Duration) {
	longest := 2 * ttl
	switch x.dice.IntN(8) {
	case 0, 1:
		for range 1 + x.dice.IntN(4) { // one length after the other: each counts until the next one does
			longest = x.length()
			x.extend(l, longest)
			pass(x.upTo(longest / 4))
		}
		longest += longest / 4
	case 2:
		x.forget(c, l)
		if x.releaseAsAnother(c, l) {
			x.count("released by another process")
			pass(2*max(ttl, lengths[0]) + 10*time.Second)
			if l.Valid() {
				x.note(fmt.Errorf("%v is released by another process, and its holder believes in it for good", l))
			}
		}
	}
	pass(x.upTo(longest))
}

func (x *worker) extend(l *holdfast.Lock, ttl time.Duration) {
	ctx, cancel := context.WithTimeout(x.ctx, time.Second)
	defer cancel()
	if err := l.Extend(ctx, ttl); err != nil {
		x.count("extend: " + outcomeOf(err))
		return
	}
	x.count("extended")
}

// releaseAsAnother releases a lock as another process of its owner does, and reports whether the service has done it.
func (x *worker) releaseAsAnother(c *counter, l *holdfast.Lock) bool {
	payload := request.Encode(&messages.ReleaseRequest{Owner: l.Owner(), Token: uint64(l.Token()), Secret: secret})
	key, err := messages.EncodeKey(l.Resource())
	if err != nil {
		panic(err) // it has a key
	}
	answer, err := x.nc.Request(c.side.prefix.Operation(messages.OpRelease, key), payload, time.Second)
	if err != nil {
		return false
	}
	reply := &messages.Reply{}
	return messages.DecodeReply(messages.Protobuf, answer.Data, reply) == nil &&
		reply.GetStatus() == messages.Status_RELEASED
}

// acquired checks that the last holder does not believe any more that it holds the lock: its client has said so before
// the service has granted the lock to another one.
func (g *workers) acquired(c *counter, l *holdfast.Lock) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if h := c.holder; h != nil && h.Valid() {
		g.note(fmt.Errorf("%s%s: token %d is held, and the holder of token %d believes that it holds the lock", c.name,
			c.side, l.Token(), h.Token()))
	}
	if l.Valid() {
		c.holder = l
	}
}

// forget lets the lock have another holder.
func (g *workers) forget(c *counter, l *holdfast.Lock) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if c.holder == l {
		c.holder = nil
	}
}

func (g *workers) release(c *counter, l *holdfast.Lock) {
	g.forget(c, l)
	ctx, cancel := context.WithTimeout(g.ctx, 10*time.Second)
	defer cancel()
	if err := l.Release(ctx); err != nil {
		g.count("release: " + outcomeOf(err))
	}
}

// outcomeOf returns what a client says of a call that failed.
func outcomeOf(err error) string {
	for what, is := range map[string]error{
		"held": holdfast.ErrHeld, "timeout": holdfast.ErrTimeout, "lost": holdfast.ErrLost,
		"unavailable": holdfast.ErrUnavailable, "unknown": holdfast.ErrUnknown, "overloaded": holdfast.ErrOverloaded,
	} {
		if errors.Is(err, is) {
			return what
		}
	}
	return err.Error()
}
