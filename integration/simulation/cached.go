package simulation

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/holdfast-io/holdfast/clients/holdfast"
)

const (
	// cachedFor is for how long a client retains a lease that it does not use, and cachedTTL how long that is.
	cachedFor, cachedTTL = 4 * time.Second, 3 * time.Second
	// minHold is the shortest hold of the counter that rests, and maxHold the longest one of the counter that hangs.
	minHold, maxHold = 3 * time.Second, 4 * time.Second
)

// useCached increments a counter under one use of a cached lease after the other. Some calls want something else, for
// which the lease is returned first.
func (x *worker) useCached() {
	c := x.cached[x.dice.IntN(len(x.cached))]
	for range 1 + x.dice.IntN(24) {
		options := []holdfast.AcquireOption{holdfast.Cached(cachedFor)}
		ttl := cachedTTL
		switch x.dice.IntN(16) {
		case 0:
			options = nil
		case 1:
			ttl = x.length()
		}
		begun := time.Now()
		l := x.acquire(c, ttl, false, options...)
		if l == nil {
			return
		}
		x.used(c, begun)
		x.increment([]use{under(c, l)}, func() { x.takeTime(c, l, ttl) })
		x.release(c, l)
		x.leaves(c)
		if !x.rests(x.upTo(200 * time.Millisecond)) {
			return
		}
	}
}

// takeTime lets time pass under a use, most often little. Some end it before they write: the write comes late then.
func (x *worker) takeTime(c *counter, l *holdfast.Lock, ttl time.Duration) {
	switch x.dice.IntN(12) {
	case 0:
		pass(x.upTo(2 * ttl))
	case 1:
		x.release(c, l)
		x.leaves(c)
		x.count("late write")
		pass(x.upTo(ttl))
	default:
		pass(x.upTo(100 * time.Millisecond))
	}
}

// used notes that a use of a counter has begun, which was asked for at a time.
func (x *worker) used(c *counter, begun time.Time) {
	x.mu.Lock()
	defer x.mu.Unlock()
	switch {
	case time.Now().Equal(begun): // no message comes and goes in no time
		x.tally["use of a cached lease"]++
	case c.last.client != nil && c.last.client != x.client && time.Since(c.last.ended) < cachedFor/2:
		x.tally["cached lease of another client returned"]++
	}
}

// leaves notes that a use of a counter has ended.
func (x *worker) leaves(c *counter) {
	x.mu.Lock()
	defer x.mu.Unlock()
	c.last.client, c.last.ended = x.client, time.Now()
}

// holdUntilWanted holds the lock of a counter until others want it.
func (x *worker) holdUntilWanted() {
	c := x.cached[x.dice.IntN(len(x.cached))]
	l := x.acquire(c, cachedTTL, false)
	if l == nil {
		return
	}
	x.increment([]use{under(c, l)}, func() {
		select {
		case <-l.Wanted():
			x.count("wanted")
		case <-l.Context().Done():
		case <-time.After(2 * cachedFor):
		case <-x.stopping:
		}
	})
	x.release(c, l)
}

// useAllCached increments all counters of cached leases under all of their locks, which are not cached.
func (x *worker) useAllCached() {
	var names []string
	for _, c := range x.cached {
		names = append(names, c.name)
	}
	ctx, cancel := x.acquiring()
	defer cancel()
	set, err := x.client.AcquireAll(ctx, names, holdfast.TTL(cachedTTL), x.waits())
	if err != nil {
		x.count("all cached: " + outcomeOf(err))
		return
	}
	x.count("acquired all cached")
	var uses []use
	for _, l := range set.All() {
		for _, c := range x.cached {
			if c.name == l.Resource() {
				x.acquired(c, l, false)
				uses = append(uses, under(c, l))
			}
		}
	}
	x.increment(uses, func() { pass(x.upTo(cachedTTL / 2)) })
	for _, u := range uses {
		_ = x.take(u.counter, u.by.Token())
	}
	x.ends("release all cached", set.Release)
}

// rest acquires a lock with a shortest hold and gives it back at once. Nobody gets it before that is over.
func (x *worker) rest() {
	c, begun := x.rested, time.Now()
	l := x.acquire(c, cachedTTL, false, holdfast.MinHold(minHold))
	if l == nil {
		return
	}
	x.mu.Lock()
	switch now := time.Now(); {
	case now.Before(c.last.rests):
		x.note(fmt.Errorf("%s: %v is held %v before the shortest hold before it is over", c.name, l, c.last.rests.Sub(now)))
	case begun.Before(c.last.rests):
		x.tally["rest waited for"]++
	}
	c.last.rests = begun.Add(minHold - minHold/1000) // a node's clock may run faster
	x.mu.Unlock()
	x.increment([]use{under(c, l)}, func() { pass(x.upTo(100 * time.Millisecond)) })
	x.release(c, l)
}

// hang holds a lock for longer than its longest hold.
func (x *worker) hang() {
	c := x.hung
	l := x.acquire(c, cachedTTL, false, holdfast.MaxHold(maxHold))
	if l == nil {
		return
	}
	x.increment([]use{under(c, l)}, func() { pass(maxHold + x.upTo(maxHold)) })
	if l.Valid() { // it counts from the sending of the request, which was earlier
		x.note(fmt.Errorf("%s: %v is held for longer than its longest hold", c.name, l))
	}
	if errors.Is(context.Cause(l.Context()), holdfast.ErrMaxHold) {
		x.count("longest hold")
	}
	x.release(c, l)
}

// span is the tokens of a lease that was broken.
type span struct{ first, last holdfast.Token }

// breakBlock breaks a lease that another process may use again and again. Its client hears of that later, and until then
// uses may begin, whose tokens are below that of the next holder.
func (x *worker) breakBlock(c *counter, first holdfast.Token) {
	inUse := x.beginBreak(c, first)
	ctx, cancel := context.WithTimeout(x.ctx, 5*time.Second)
	defer cancel()
	if err := x.client.Break(ctx, c.name, first, "a worker waits"); err != nil {
		x.count("break: " + outcomeOf(err))
		return // it may be broken all the same, and of its tokens nothing is known
	}
	x.count("broken")
	if len(inUse) > 0 {
		x.count("broken in a use")
	}
	for _, l := range inUse {
		x.work.Go(func() { x.mustNotice(l, lengths[len(lengths)-1], "broken") })
	}
	s, err := x.client.Get(ctx, c.name)
	switch {
	case err != nil || s.Token <= first && s.Held:
	case s.Held:
		x.endBreak(c, span{first, s.Token - 1})
	default:
		x.endBreak(c, span{first, s.Token})
	}
}

// beginBreak notes that a lease is about to be broken, and returns the uses of it that its client believes in. Until
// [workers.endBreak] it is not known which tokens it has.
func (g *workers) beginBreak(c *counter, first holdfast.Token) (inUse []believer) {
	g.mu.Lock()
	defer g.mu.Unlock()
	c.breaking++
	for _, h := range c.holders {
		if h.Token() >= first && h.Valid() {
			inUse = append(inUse, h.believer)
		}
	}
	c.holders = nil
	return inUse
}

// endBreak notes the tokens of a lease that was broken.
func (g *workers) endBreak(c *counter, s span) {
	g.mu.Lock()
	defer g.mu.Unlock()
	c.breaking--
	c.broken = append(c.broken, s)
	kept := c.holders[:0]
	for _, h := range c.holders {
		if t := h.Token(); t < s.first || t > s.last {
			kept = append(kept, h)
		}
	}
	c.holders = kept
}

// isTaken reports whether the lock was taken from the holder with the token. It is called with mu held.
func (c *counter) isTaken(token holdfast.Token) bool {
	for _, s := range c.broken {
		if s.first <= token && token <= s.last {
			return true
		}
	}
	return false
}
