package simulation

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/clients/holdfast"
)

// workers are the clients of the project of one side that increment counters.
type workers struct {
	*world
	side side
	mu   sync.Mutex
	// counters have an exclusive lock each. The lock of document is shared by readers, that of reserved holds it back
	// when it is lost, that of reentered is acquired by reentrant requests alone, and the leader of the election
	// increments led. slots are those of a semaphore. The leases of cached are retained by clients, rested has a shortest
	// hold and hung a longest one.
	counters, slots, cached            []*counter
	document, reserved, reentered, led *counter
	rested, hung                       *counter
	tally                              map[string]int
	stopping                           chan struct{}
	work                               sync.WaitGroup
}

// startWorkers starts those of the trial, of all sides.
func (w *world) startWorkers() (all []*workers) {
	for _, s := range w.trial.sides() {
		all = append(all, w.newWorkers(s))
	}
	for i := range w.trial.Workers {
		if err := all[i%len(all)].add(i); err != nil {
			w.note(err)
		}
	}
	return all
}

func (w *world) newWorkers(s side) *workers {
	g := &workers{
		world: w, side: s, tally: make(map[string]int), stopping: make(chan struct{}),
		document: &counter{name: "document"}, reserved: &counter{name: "reserved"},
		reentered: &counter{name: "reentered"}, led: &counter{name: "election"},
		rested: &counter{name: "rested"}, hung: &counter{name: "hung"},
		cached: []*counter{{name: "cached.0", inBlocks: true}, {name: "cached.1", inBlocks: true}},
	}
	for i := range 6 {
		g.counters = append(g.counters, &counter{name: fmt.Sprint("counter.", i)})
	}
	for i := range slots {
		g.slots = append(g.slots, &counter{name: fmt.Sprint(semaphore, "#", i)})
	}
	return g
}

// add starts the worker of a number.
func (g *workers) add(i int) error {
	name := fmt.Sprint("w", i)
	nc, err := g.connect(name, i%len(g.Servers), login(g.side.user))
	if err != nil {
		return err
	}
	dice := rand.New(rand.NewPCG(g.trial.Seed, 1000+uint64(i)))
	client, err := g.side.client(nc, name, g.side.settings(dice)...)
	if err != nil {
		nc.Close()
		return err
	}
	if dice.IntN(4) == 0 { // its answers take longer than a session of short leases would like
		by := time.Duration(dice.Int64N(int64(150 * time.Millisecond)))
		g.do(func() { g.Network.Slow(name, by) })
	}
	g.start(&worker{workers: g, name: name, client: client, nc: nc, dice: dice})
	return nil
}

// secret is that of all workers.
var secret = []byte("the secret of all workers")

// settings draws those of a client. Through an import nothing is released on disconnect.
func (s side) settings(dice *rand.Rand) []holdfast.Option {
	all := []holdfast.Option{holdfast.Timeout(10 * time.Second), holdfast.Secret(secret)}
	switch n := dice.IntN(6); {
	case n == 0:
		all = append(all, holdfast.PerLockRenewal())
	case n == 1 && !s.imported():
		all = append(all, holdfast.ReleaseOnDisconnect(5*time.Second))
	}
	return all
}

// start starts what a worker does at the same time: its client holds several locks, and keeps them in sessions.
func (g *workers) start(x *worker) {
	var tasks sync.WaitGroup
	for i := range 1 + x.dice.IntN(3) {
		task := *x
		task.dice, task.first = rand.New(rand.NewPCG(x.dice.Uint64(), 0)), i == 0
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
	// name is that of its process.
	name   string
	client *holdfast.Client
	nc     *nats.Conn
	dice   *rand.Rand
	// first: it is the first one of its client.
	first bool
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
	for _, c := range g.all() {
		if c.value != c.acknowledged {
			g.note(fmt.Errorf("%s: %d increments are acknowledged, and it says %d", c.name, c.acknowledged, c.value))
		}
	}
}

func (g *workers) all() []*counter {
	return slices.Concat([]*counter{g.document, g.reserved, g.reentered, g.led, g.rested, g.hung}, g.counters, g.slots,
		g.cached)
}

// note notes something that is wrong.
func (g *workers) note(err error) {
	if tenant := g.side.String(); err != nil && tenant != "" {
		err = fmt.Errorf("workers%s: %w", tenant, err)
	}
	g.world.note(err)
}

// report adds what workers did to a tally.
func (g *workers) report(tally map[string]int) {
	for what, n := range g.tally {
		tally["worker "+what] += n
	}
	for _, c := range g.all() {
		tally["worker refused by the guard"] += c.refused
	}
}

func (g *workers) count(what string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.tally[what]++
}

// run does one thing after the other, most often what most clients do.
func (x *worker) run() {
	for x.rests(x.upTo(2 * time.Second)) {
		switch n := x.dice.IntN(84); {
		case n < 33:
			x.useOne(x.counters[x.dice.IntN(len(x.counters))])
		case n < 39:
			x.useSeveral()
		case n < 45:
			x.lead()
		case n < 49:
			x.useSlots()
		case n < 53:
			x.write()
		case n < 57:
			x.peruse()
		case n < 61:
			x.reserve()
		case n < 63 && x.first:
			x.reenter()
		case n == 63:
			x.beInSession()
		case n < 72:
			x.useCached()
		case n < 75:
			x.holdUntilWanted()
		case n < 77:
			x.useAllCached()
		case n < 81:
			x.rest()
		case n < 83:
			x.hang()
		}
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

// waits bounds how long a worker waits for a lock. Some do not wait.
func (x *worker) waits() holdfast.AcquireOption {
	if x.chance(8) {
		return holdfast.MaxWait(0)
	}
	return holdfast.MaxWait(5 * time.Second)
}

// acquiring bounds all that a worker does to acquire.
func (x *worker) acquiring() (context.Context, context.CancelFunc) {
	return context.WithTimeout(x.ctx, 20*time.Second)
}

// acquire acquires the lock of a counter, alone or shared.
func (x *worker) acquire(c *counter, ttl time.Duration, shares bool, opts ...holdfast.AcquireOption) *holdfast.Lock {
	ctx, cancel := x.acquiring()
	defer cancel()
	l, err := x.client.Acquire(ctx, c.name, append(opts, holdfast.TTL(ttl), x.waits())...)
	if err != nil {
		x.refused(c, err)
		return nil
	}
	x.acquired(c, l, shares)
	return l
}

// refused notes why a lock could not be had. Some take it from its holder.
func (x *worker) refused(c *counter, err error) {
	x.count(outcomeOf(err))
	e := (*holdfast.Error)(nil)
	switch {
	case !errors.As(err, &e):
	case c == x.reserved:
		x.confirm(c)
	case slices.Contains(x.cached, c):
		if e.Holder != nil && x.chance(6) {
			x.breakBlock(c, e.Holder.Token)
		}
	case c != x.document && e.Holder != nil && x.chance(3): // a document may be downgraded, and have another token then
		x.breakLock(c, e.Holder.Token)
	}
}

// breakLock takes a lock from its holder, which notices that.
func (x *worker) breakLock(c *counter, token holdfast.Token) {
	ctx, cancel := context.WithTimeout(x.ctx, 5*time.Second)
	defer cancel()
	l := x.take(c, token)
	if err := x.client.Break(ctx, c.name, token, "a worker waits"); err != nil {
		x.count("break: " + outcomeOf(err))
		return
	}
	x.count("broken")
	if l != nil {
		x.work.Go(func() { x.mustNotice(l, lengths[len(lengths)-1], "broken") })
	}
}

// mustNotice checks that a holder does not believe for good in a lock that it does not have any more.
func (g *workers) mustNotice(l believer, ttl time.Duration, why string) {
	token := l.Token()
	pass(2*ttl + time.Second)
	if l.Valid() {
		g.note(fmt.Errorf("%v, token %d, is %s, and its holder believes in it for good", l, token, why))
	}
}

// release gives the lock of a counter back.
func (x *worker) release(c *counter, l *holdfast.Lock) {
	_ = x.take(c, l.Token())
	x.ends("release", l.Release)
}

// ends ends what is held, and counts why that failed.
func (x *worker) ends(what string, release func(context.Context) error) {
	ctx, cancel := context.WithTimeout(x.ctx, 10*time.Second)
	defer cancel()
	if err := release(ctx); err != nil {
		x.count(what + ": " + outcomeOf(err))
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
