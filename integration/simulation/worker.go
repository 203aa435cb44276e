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
	"github.com/holdfast-io/holdfast/messages"
)

// counter is a resource that workers increment under a lock. It admits the fences of a guard: a write with a lower one
// than it has seen is refused, and a read shows it the fence first. So no increment is lost, and how many were
// acknowledged is what it says.
type counter struct {
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
	for i := range 3 {
		g.counters = append(g.counters, &counter{name: fmt.Sprint("counter.", i)})
	}
	for i := range w.trial.Workers {
		nc, err := w.connect(fmt.Sprint("w", i), i%len(w.Servers))
		if err != nil {
			w.note(err)
			continue
		}
		client, err := holdfast.New(nc, holdfast.Timeout(10*time.Second))
		if err != nil {
			w.note(err)
			continue
		}
		dice := rand.New(rand.NewPCG(w.trial.Seed, 1000+uint64(i)))
		g.work.Go(func() { g.run(client, nc, dice) })
	}
	return g
}

// stop lets the workers finish, and compares what they were promised with what there is.
func (g *workers) stop() {
	close(g.stopping)
	g.work.Wait()
	for _, c := range g.counters {
		if c.value != c.acknowledged {
			g.note(fmt.Errorf("%s: %d increments are acknowledged, and it says %d", c.name, c.acknowledged, c.value))
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

func (g *workers) run(client *holdfast.Client, nc *nats.Conn, dice *rand.Rand) {
	defer nc.Close()
	for g.rests(time.Duration(dice.Int64N(int64(2 * time.Second)))) {
		g.increment(client, g.counters[dice.IntN(len(g.counters))], dice)
	}
	ctx, cancel := context.WithTimeout(g.ctx, time.Minute)
	defer cancel()
	_ = client.Close(ctx) // what it could not release runs out
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

// increment increments a counter under its lock.
func (g *workers) increment(client *holdfast.Client, c *counter, dice *rand.Rand) {
	ttl := []time.Duration{time.Second, 3 * time.Second, 10 * time.Second}[dice.IntN(3)]
	ctx, cancel := context.WithTimeout(g.ctx, 20*time.Second)
	defer cancel()
	options := []holdfast.AcquireOption{holdfast.TTL(ttl), holdfast.MaxWait(5 * time.Second)}
	if dice.IntN(3) == 0 {
		options = append(options, holdfast.NoRenewal())
	}
	l, err := client.Acquire(ctx, c.name, options...)
	if err != nil {
		g.count(outcomeOf(err))
		return
	}
	g.count("acquired")
	g.acquired(c, l)
	defer g.release(c, l)
	g.mu.Lock()
	admitted, before := c.admit(l.Token()), c.value
	g.mu.Unlock()
	if !admitted {
		return
	}
	pass(time.Duration(dice.Int64N(int64(2 * ttl)))) // it does not look whether it has lost the lock
	if !l.Valid() {
		g.count("lost")
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if c.admit(l.Token()) {
		c.value = before + 1
		c.acknowledged++
	}
}

// acquired checks that the last holder does not believe any more that it holds the lock: its client has said so before
// the service has granted the lock to another one.
func (g *workers) acquired(c *counter, l *holdfast.Lock) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if h := c.holder; h != nil && h.Valid() {
		g.note(fmt.Errorf("%s: token %d is held, and the holder of token %d believes that it holds the lock", c.name,
			l.Token(), h.Token()))
	}
	if l.Valid() {
		c.holder = l
	}
}

func (g *workers) release(c *counter, l *holdfast.Lock) {
	g.mu.Lock()
	if c.holder == l {
		c.holder = nil
	}
	g.mu.Unlock()
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
