package holdfast

import (
	"context"
	"hash/maphash"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/holdfast-io/holdfast/clients/holdfast/internal/lease"
	"github.com/holdfast-io/holdfast/clients/internal/alarm"
	"github.com/holdfast-io/holdfast/clients/internal/clock"
	"github.com/holdfast-io/holdfast/messages"
)

// Cached has the client retain the lease when the lock is released, and give it to its own next call for the same
// resource without a request. Each [Lock] has a token of its own, out of a block that the lease has. Another owner gets
// the resource at the end of the present use: the service says that it wants it. The lease is also returned when it was
// not used for idle, when a call asks for the resource with other options, and by [Client.Close].
//
// It pays where one process locks the same resource again and again. Calls of this client have it one after another, in
// the order in which they came. If the process dies, the resource stays locked for the TTL, also while nothing used it.
// Events and listings show the lease and not its uses. A use may begin after an operator has broken the lease, until the
// client hears of it, at the latest at its next renewal; its token is below that of the next holder. A resource that
// others want again and again is not cached for a while.
//
// Owner, TTL, metadata and idle time are those of the call that acquired the lease; a call with another owner, TTL or
// metadata returns it first. [Lock.Extend], [Lock.Set] and [Lock.Downgrade] of such a lock are [ErrInvalid]. So is
// Cached beside [Shared], [Permits], [Reentrant], [Delay], [ConfirmLoss], [MinHold], [MaxHold] and [NoRenewal], and of
// [Client.AcquireAll] and [Client.Campaign]; as one of the [Defaults] it does not count there. Cached(0) is a lock that
// is not cached. The deployment must have the features "tokens" and "notices", else it is [ErrInvalid].
func Cached(idle time.Duration) AcquireOption {
	return func(o *acquireOptions) { o.idle, o.byCall = idle, true }
}

// checkCached returns which rule of [Cached] the options break.
func (o *acquireOptions) checkCached() error {
	switch {
	case o.idle < 0:
		return rule("Cached", "not negative; 0 is a lock that is not cached", o.idle.String())
	case o.idle == 0:
		return nil
	}
	for _, other := range []struct {
		name string
		is   bool
	}{
		{"Shared or Permits", o.kind() != kind{}}, {"Reentrant", o.reentrant}, {"Delay", o.delay != 0},
		{"ConfirmLoss", o.confirm}, {"MinHold", o.minHold != 0}, {"MaxHold", o.maxHold != 0}, {"NoRenewal", o.byHand},
	} {
		if other.is {
			return rule("Cached", "none beside "+other.name+": only a plain lock is cached", o.idle.String())
		}
	}
	return nil
}

// uncached takes [Cached] out of the options of a call that caches nothing, and refuses it if it is the call's own.
func (o *acquireOptions) uncached(call string) error {
	if o.idle != 0 && o.byCall {
		return rule("Cached", "none of "+call+", which caches nothing", o.idle.String())
	}
	o.idle = 0
	return nil
}

// CacheStats is what a client shows of its cached leases.
type CacheStats struct {
	// Leases is how many there are, those included that are being returned.
	Leases int
	// Uses is how many locks had one of them, since the client was made.
	Uses uint64
	// Waiting is how many calls wait for one of them.
	Waiting int
}

// CacheStats returns what there is to know of the leases that are [Cached].
func (c *Client) CacheStats() CacheStats { return c.cache.stats() }

const (
	// cacheShards divide the resources, so that calls for different ones seldom meet.
	cacheShards = 64
	// sweepParts is into how many parts a sweep for leases that were not used divides their idle time.
	sweepParts = 8
	// minRest and maxRest bound for how long a resource is not cached that others want. The time doubles.
	minRest = time.Second
	maxRest = time.Minute
)

// cache has the cached leases of a client.
type cache struct {
	c    *core
	seed maphash.Seed
	// entries is how many resources there are in the shards, leases how many leases, those included that are being
	// returned.
	entries, leases atomic.Int64
	shards          [cacheShards]cacheShard
}

// cacheShard has a part of the resources. Its mutex is taken for a moment, and no other one with it but that of alarms.
type cacheShard struct {
	of *cache
	mu sync.Mutex
	// all are the resources of which a lease is asked for or may be used.
	all map[string]*cached
	// apart counts the calls under way that ask for a resource without its cached lease.
	apart map[string]int
	// contended are the resources that others wanted.
	contended map[string]contention
	// uses is how many locks had a lease that is cached no more.
	uses uint64
	// swept is when the next sweep is due; zero: none is.
	swept time.Time
	alarm alarm.Alarm // calls Wake
	_     [32]byte    // the next shard is on another cache line
}

// contention is that others wanted a resource that was cached.
type contention struct {
	// at is when they last did, idle for how long that counts.
	at   time.Time
	idle time.Duration
	// until is until when it is not cached, rest how long that is; 0: it is.
	until time.Time
	rest  time.Duration
}

// join gives the cache what it uses of the client.
func (s *cache) join(c *core) {
	s.c, s.seed = c, maphash.MakeSeed()
	for i := range s.shards {
		s.shards[i].of = s
		s.shards[i].alarm.Waker = &s.shards[i]
	}
}

func (s *cache) shard(name string) *cacheShard {
	return &s.shards[maphash.String(s.seed, name)%cacheShards]
}

func (s *cache) stats() (all CacheStats) {
	all.Leases = int(s.leases.Load())
	for i := range s.shards {
		entries, uses := s.shards[i].present()
		all.Uses += uses
		for _, e := range entries {
			e.mu.Lock()
			all.Waiting += len(e.queue)
			if e.state == open {
				all.Uses += uint64(e.block.Used())
			}
			e.mu.Unlock()
		}
	}
	return all
}

func (s *cacheShard) present() (entries []*cached, uses uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Values(s.all)), s.uses
}

// get returns what there is of a resource, nil if nothing.
func (s *cacheShard) get(name string) *cached {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all[name]
}

// add returns what there is of a resource. lead: that is new, and its lease is to be asked for. nil: others want the
// resource again and again, so it is not cached.
func (s *cacheShard) add(name string, o *acquireOptions) (e *cached, lead bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := clock.Now()
	switch e = s.all[name]; {
	case e != nil:
		return e, false
	case now.Before(s.contended[name].until): // mutant: ContentionForgotten
		return nil, false
	}
	e = &cached{in: s, name: name, idle: o.idle, owner: o.owner, ttl: o.ttl, ephemeral: o.ephemeral,
		metadata: o.metadata}
	put(&s.all, name, e)
	s.of.entries.Add(1)
	s.sweepAt(now.Add(o.idle))
	return e, true
}

// remove takes a lease out that is not to be used any more. wanted: others have asked for it.
func (s *cacheShard) remove(e *cached, wanted bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.all, e.name)
	s.of.entries.Add(-1)
	s.uses += uint64(e.block.Used())
	if wanted && s.apart[e.name] == 0 {
		put(&s.contended, e.name, s.contended[e.name].again(clock.Now(), e.idle))
	}
}

// again returns the contention of a resource that others want now.
func (k contention) again(now time.Time, idle time.Duration) contention {
	next := contention{at: now, idle: idle}
	if !k.at.IsZero() && now.Sub(k.at) < idle {
		next.rest = min(max(2*k.rest, minRest), maxRest)
		next.until = now.Add(next.rest)
	}
	return next
}

// askApart counts a call that asks for a resource without its cached lease, until the function is called.
func (s *cacheShard) askApart(name string) (end func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	put(&s.apart, name, s.apart[name]+1)
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.apart[name]--; s.apart[name] == 0 {
			delete(s.apart, name)
		}
	}
}

// sweepAt has the shard swept at a moment, or before. It is called with mu held.
func (s *cacheShard) sweepAt(at time.Time) {
	if s.swept.IsZero() || at.Before(s.swept) {
		s.swept = at
		s.of.c.alarms.Set(&s.alarm, at)
	}
}

// Wake sweeps the shard: leases that were not used for their idle time are returned. One alarm for many leases costs a
// use nothing; a lease may be returned later by a part of its idle time.
func (s *cacheShard) Wake() {
	now := clock.Now()
	var next time.Time
	for _, e := range s.sweep(now) {
		due := lease.Later(e.sweep(now), now.Add(e.idle/sweepParts))
		if next.IsZero() || due.Before(next) {
			next = due
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !next.IsZero() {
		s.sweepAt(next)
	}
}

// sweep removes the contention that counts no more, and returns what is to be swept.
func (s *cacheShard) sweep(now time.Time) []*cached {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.swept = time.Time{}
	maps.DeleteFunc(s.contended, func(_ string, k contention) bool {
		return now.Sub(k.at) >= k.idle && !now.Before(k.until)
	})
	if len(s.contended) > 0 {
		s.sweepAt(now.Add(maxRest))
	}
	return slices.Collect(maps.Values(s.all))
}

// acquireCached is acquire of a client that caches: with a cached lease, or one that is asked for.
func (c *Client) acquireCached(ctx context.Context, name string, o *acquireOptions, begun time.Time) (*Lock, error) {
	if err := o.checkCached(); err != nil {
		return nil, invalid(messages.OpAcquire, name, err)
	}
	for in := c.cache.shard(name); ; {
		e := in.get(name)
		if e == nil {
			e, lead, err := c.newCached(ctx, in, name, o)
			switch {
			case err != nil:
				return nil, err
			case e == nil:
				return c.acquireApart(ctx, in, name, o, begun, nil)
			case lead:
				return c.acquireFor(ctx, e, o, begun)
			}
			continue
		}
		l, w, again, err := e.enter(ctx, o)
		switch {
		case w != nil:
			return c.awaitTurn(ctx, e, w, o, begun)
		case l != nil, err != nil:
			return l, err
		case !again:
			return c.acquireApart(ctx, in, name, o, begun, nil)
		}
	}
}

// newCached returns what there is of a resource that had nothing. lead: it is new, and the caller asks for its lease.
// nil: the call is not to be cached.
func (c *Client) newCached(ctx context.Context, in *cacheShard, name string, o *acquireOptions) (e *cached, lead bool,
	err error) {
	if o.idle == 0 || c.life.Err() != nil {
		return nil, false, nil
	}
	err = c.deployment.need(ctx, messages.OpAcquire, name, tokensFeature, noticesFeature)
	if err != nil || c.deployment.info.Load() == nil {
		return nil, false, err
	}
	e, lead = in.add(name, o)
	return e, lead, nil
}

// acquireFor asks for the lease of a resource, for the caller and those that wait for it.
func (c *Client) acquireFor(ctx context.Context, e *cached, o *acquireOptions, begun time.Time) (*Lock, error) {
	o.cached = e
	defer e.asked()
	return c.newAcquisition(e.name, o, begun).acquire(ctx)
}

// acquireApart asks for a lease that is not cached. began is called when the request is on its way, or the call is over;
// nil: nothing is.
func (c *Client) acquireApart(ctx context.Context, in *cacheShard, name string, o *acquireOptions, begun time.Time,
	began func()) (*Lock, error) {
	over := in.askApart(name)
	defer over()
	a := c.newAcquisition(name, o, begun)
	if began != nil {
		a.began = sync.OnceFunc(began)
		defer a.began()
	}
	return a.acquire(ctx)
}

// awaitTurn waits for the turn of a call that has none yet. It has a use of the lease then, or asks for one.
func (c *Client) awaitTurn(ctx context.Context, e *cached, w *waiting, o *acquireOptions, begun time.Time) (*Lock, error) {
	t, err := e.await(ctx, w, o, begun)
	switch {
	case err != nil || t.lock != nil:
		return t.lock, err
	case t.lead:
		return c.acquireFor(ctx, e, o, begun)
	}
	return c.acquireApart(ctx, e.in, e.name, o, begun, e.next)
}
