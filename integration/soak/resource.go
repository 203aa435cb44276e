package soak

import (
	"fmt"
	"slices"
	"sort"
	"sync"
	"time"

	"github.com/holdfast-io/holdfast/messages"
)

// class is what kinds of leases a resource gets.
type class int

const (
	persistent class = iota
	ephemeral
	mixed
)

// memory is how long what was seen of a resource is kept. No request is older.
const memory = 90 * time.Second

// margin is what two hold windows may overlap: the node has its times in milliseconds.
const margin = 5 * time.Millisecond

// grant is a lease as the client knows it that got it.
type grant struct {
	owner    string
	token    uint64
	volatile bool
	// limit and slots are how it is shared: an exclusive one has limit 1 and slot 0.
	limit uint32
	slots []uint32
	// route and place are where the request stood among those that are decided in the order in which
	// they are sent; no route if it was sent more than once.
	route route
	place uint64
	// sent is when the request was sent first, received when its answer came.
	sent, received instant
	// end is until when the lease holds whatever happens: the client has not asked for its end
	// before, and no other client has.
	end    instant
	closed bool
	// session is the id of the session into which the lease was taken; empty: none.
	session string
	// order is the number of its latest extend.
	order uint64
	// over: the client received the answer that the lease has ended.
	over bool
}

// route is a way on which requests stay in their order.
type route struct {
	life     uint64 // of the connection
	endpoint string
}

// seen says that of all grants whose answers had come by then the highest token was this.
type seen struct {
	at    instant
	token uint64
}

// resource is what the clients and the journal show of one resource, and the judge of it.
type resource struct {
	*run
	name, key string
	shard     uint32
	class     class
	hot       bool
	// shared: readers, writers and users of a semaphore want it.
	shared bool

	mu     sync.Mutex
	trace  trace
	grants []*grant // by token
	seen   []seen   // by time
	broken map[uint64]instant
	routes map[route][]*grant // of the youngest grants, by place
	// waiting are acquire requests that were sent once and have no answer yet.
	waiting map[*call]struct{}
	// unmatched are the grants that only the client or only the journal has shown.
	unmatched map[uint64]report
	prunedAt  instant
}

// report is one side's word about a persistent grant.
type report struct {
	owner   string
	journal bool
	at      instant
}

func newResource(r *run, name string, class class, hot bool) (*resource, error) {
	key, err := messages.EncodeKey(name)
	return &resource{
		run: r, name: name, key: key, shard: messages.ShardOf(key, r.cfg.shards), class: class, hot: hot,
		waiting: make(map[*call]struct{}),
		broken:  make(map[uint64]instant), routes: make(map[route][]*grant), unmatched: make(map[uint64]report),
	}, err
}

// note adds to the history.
func (r *resource) note(l line) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.trace.add(l)
}

// violated ends the run with the first violation and its history. The resource is locked.
func (r *resource) violated(format string, args ...any) {
	r.run.violated("resource %q (shard %d, class %d): %s\nits history:\n%s",
		r.name, r.shard, r.class, fmt.Sprintf(format, args...), &r.trace)
}

// granted takes in a grant and returns it, or the one that it repeats.
func (r *resource) granted(g *grant) *grant {
	r.mu.Lock()
	defer r.mu.Unlock()
	i := sort.Search(len(r.grants), func(i int) bool { return r.grants[i].token >= g.token })
	if i < len(r.grants) && r.grants[i].token == g.token {
		if r.grants[i].owner != g.owner {
			r.violated("token %d was granted to %s and to %s", g.token, r.grants[i].owner, g.owner)
		}
		return r.grants[i]
	}
	r.checkOrder(g)
	r.checkRoute(g)
	if at, ok := r.broken[g.token]; ok {
		g.end = min(g.end, at)
	}
	r.grants = append(r.grants, nil)
	copy(r.grants[i+1:], r.grants[i:])
	r.grants[i] = g
	r.saw(g.token, g.received)
	if !g.volatile {
		r.match(g.token, report{owner: g.owner, at: g.received})
	}
	r.prune(g.received)
	return g
}

// saw notes that a token was granted. A client may look at an answer long after it came, when others have
// looked at younger ones.
func (r *resource) saw(token uint64, at instant) {
	n := r.seenBy(at)
	r.seen = slices.Insert(r.seen, n, seen{at, max(token, r.before(at).token)})
	for i := range r.seen[n:] {
		r.seen[n+i].token = max(r.seen[n+i].token, token)
	}
}

// before returns what had been seen before an instant.
func (r *resource) before(at instant) seen {
	if n := r.seenBy(at); n > 0 {
		return r.seen[n-1]
	}
	return seen{}
}

// seenBy returns how many answers had come before an instant.
func (r *resource) seenBy(at instant) int {
	return sort.Search(len(r.seen), func(i int) bool { return r.seen[i].at >= at })
}

// checkOrder checks that the token is above all whose answers had come before this request was sent.
func (r *resource) checkOrder(g *grant) {
	if before := r.before(g.sent); before.token >= g.token {
		r.violated("%s got token %d for a request that it sent at %v, when a client had got token %d already, at %v",
			g.owner, g.token, g.sent, before.token, before.at)
	}
}

// checkRoute checks that of two requests that came one behind the other on one route the first one
// was served first.
func (r *resource) checkRoute(g *grant) {
	if g.route.endpoint == "" {
		return
	}
	line := r.routes[g.route]
	i := sort.Search(len(line), func(i int) bool { return line[i].place > g.place })
	if i > 0 && line[i-1].token > g.token || i < len(line) && line[i].token < g.token {
		r.violated("%s got token %d for request %d of route %v, out of its turn: %s", g.owner, g.token, g.place,
			g.route, places(line))
	}
	line = append(line, nil)
	copy(line[i+1:], line[i:])
	line[i] = g
	if len(line) > 64 {
		line = line[1:]
	}
	r.routes[g.route] = line
	for q := range r.waiting {
		if q.route() == g.route && q.place < g.place {
			q.overtaken = g.token
		}
	}
	r.ordered.Add(int64(min(len(line)-1, 1)))
}

// waits notes that a request has no answer yet, answered that it has one or needs none.
func (r *resource) waits(q *call) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.waiting[q] = struct{}{}
}

func (r *resource) answered(q *call) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.waiting, q)
}

// checkAnswered is for when nothing comes any more on a request's connection. On the same one came
// the grant to a request behind it on its route, and an answer to this one would have come before.
func (r *resource) checkAnswered(q *call) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if q.overtaken != 0 && q.sends == 1 {
		r.violated(
			"a request sent at %v that was to wait for %v was never answered, but one behind it was granted token %d",
			q.sent, q.wait, q.overtaken)
	}
}

func places(line []*grant) (s string) {
	for _, g := range line {
		s += fmt.Sprintf("\n  request %d of %s: token %d", g.place, g.owner, g.token)
	}
	return s
}

// match brings the two sides' words about a grant together. The resource is locked.
func (r *resource) match(token uint64, t report) {
	other, ok := r.unmatched[token]
	switch {
	case !ok:
		r.unmatched[token] = t
	case other.owner != t.owner:
		r.violated("token %d: one of client and journal says %s, the other %s", token, t.owner, other.owner)
	case other.journal != t.journal:
		delete(r.unmatched, token)
		r.matched.Add(1)
	}
}

// journaled takes in a persistent grant that stands in the journal.
func (r *resource) journaled(token uint64, owner string, at instant) {
	r.match(token, report{owner: owner, journal: true, at: at})
}

// due is until when the client may rely on the lease.
func (r *resource) due(g *grant) instant {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.window(g)
}

func (r *resource) window(g *grant) instant {
	if !g.volatile {
		return g.end
	}
	return min(g.end, r.restartAfter(g.sent))
}

// shorten notes that something may end the lease from an instant on.
func (r *resource) shorten(g *grant, at instant) {
	r.mu.Lock()
	defer r.mu.Unlock()
	g.end = min(g.end, at)
}

// extended notes until when the lease holds instead.
func (r *resource) extended(g *grant, until instant) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if at, ok := r.broken[g.token]; ok {
		until = min(until, at)
	}
	g.end = until
}

// breaking notes that a client is about to break the lease of this token.
func (r *resource) breaking(token uint64, at instant) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, ok := r.broken[token]; !ok {
		r.broken[token] = at
	}
	for _, g := range r.grants {
		if g.token == token {
			g.end = min(g.end, at)
		}
	}
}

// safe reports whether at that instant the lease must have been the client's: its window, due, was
// not over, and no client has cut it short meanwhile.
func (r *resource) safe(g *grant, due, at instant) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, broken := r.broken[g.token]
	return at < due && !broken && (!g.volatile || at < r.restartAfter(g.sent))
}

// ended notes that the client has done with its lease, and checks that no other client's hold window
// overlaps with its own.
func (r *resource) ended(g *grant) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if g.closed {
		return
	}
	g.closed = true
	if r.window(g) <= g.received {
		return
	}
	r.windows.Add(1)
	if r.shared {
		r.checkTogether(g)
		return
	}
	i := sort.Search(len(r.grants), func(i int) bool { return r.grants[i].token >= g.token })
	for j := i - 1; j >= 0; j-- {
		if r.holds(r.grants[j]) {
			r.checkApart(r.grants[j], g)
			break
		}
	}
	for j := i + 1; j < len(r.grants); j++ {
		if r.holds(r.grants[j]) {
			r.checkApart(g, r.grants[j])
			break
		}
	}
}

func (r *resource) holds(g *grant) bool { return g.closed && r.window(g) > g.received }

// checkTogether checks that at no moment of a hold window the permits of all whose windows are known exceed the limit
// of one of them, and that each permit has a number of its own.
func (r *resource) checkTogether(g *grant) {
	var beside []*grant
	moments := []instant{g.received}
	for _, other := range r.grants {
		if other == g || !r.holds(other) || other.received >= r.window(g)-margin ||
			r.window(other)-margin <= g.received {
			continue
		}
		beside = append(beside, other)
		moments = append(moments, max(g.received, other.received))
	}
	for _, at := range moments {
		permits, limit := len(g.slots), g.limit
		taken := make(map[uint32]*grant)
		for _, slot := range g.slots {
			taken[slot] = g
		}
		for _, other := range beside {
			if other.received > at || r.window(other)-margin <= at {
				continue
			}
			permits, limit = permits+len(other.slots), min(limit, other.limit)
			for _, slot := range other.slots {
				if by := taken[slot]; by != nil {
					r.violated("two have permit %d: %s with token %d and %s with token %d, at %v", slot, by.owner,
						by.token, other.owner, other.token, at)
				}
				taken[slot] = other
			}
			if uint64(permits) > uint64(limit) {
				r.violated(
					"%d permits are held at %v, where %d may be: %s has token %d from %v to %v, and %s has token %d "+
						"from %v to %v", permits, at, limit,
					g.owner, g.token, g.received, r.window(g), other.owner, other.token, other.received,
					r.window(other))
			}
		}
	}
	r.together.Add(int64(min(len(beside), 1)))
}

func (r *resource) checkApart(a, b *grant) {
	if end := r.window(a); end-margin > b.received {
		r.violated("two hold it: %s has token %d from %v to %v, and %s has token %d from %v to %v",
			a.owner, a.token, a.received, end, b.owner, b.token, b.received, r.window(b))
	}
}

// prune forgets what no request that is still under way can contradict.
func (r *resource) prune(now instant) {
	if now-r.prunedAt < memory/4 {
		return
	}
	r.prunedAt = now
	before := now - memory
	kept := r.grants[:0:0]
	for _, g := range r.grants {
		if !g.closed || g.received > before {
			kept = append(kept, g)
		}
	}
	r.grants = kept
	r.seen = slices.Clone(r.seen[max(r.seenBy(before)-1, 0):]) // the last one before stands for all
	for token, at := range r.broken {
		if at < before {
			delete(r.broken, token)
		}
	}
	for route, line := range r.routes {
		if line[len(line)-1].received < before {
			delete(r.routes, route)
		}
	}
	for token, t := range r.unmatched {
		if t.journal && t.at < before {
			delete(r.unmatched, token) // it reached no client
		}
	}
}

// checkMatched checks at the end that the journal has every persistent grant that a client received.
func (r *resource) checkMatched() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for token, t := range r.unmatched {
		if !t.journal {
			r.violated("%s was granted token %d at %v, but no journal has it", t.owner, token, t.at)
		}
	}
}
