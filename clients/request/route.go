package request

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/holdfast-io/holdfast/messages"
)

// Route is where an attempt is sent: to any node, which forwards it if it does not own the shard, or directly to the
// owner, which keeps the order of what one connection sends.
type Route struct {
	// subject is that of a request about no single resource; empty: the others say where.
	subject string
	direct  bool
	shard   uint32
	op      messages.Operation
	key     string
}

// of returns the subject of the route in a deployment.
func (r Route) of(p messages.Prefix) string {
	switch {
	case r.subject != "":
		return r.subject
	case r.direct:
		return p.Direct(messages.Shard{Number: r.shard}, r.op, r.key)
	default:
		return p.Operation(r.op, r.key)
	}
}

const (
	// minDetour is how long direct routes are avoided after one did not answer where any other node did.
	// It doubles each time that happens again, up to maxDetour, until a direct route answers: one slow
	// answer costs little, and subjects that are closed to this user are tried rarely.
	minDetour = time.Second
	maxDetour = 30 * time.Second
)

// router chooses routes. Its zero shards is a number that is not known; then all routes are to any node.
type router struct {
	prefix messages.Prefix
	begun  time.Time
	shards atomic.Uint32
	detour detour
}

// route returns where the nth attempt of a request about a resource goes. Every other attempt goes to any
// node, which may be permitted to a user who may not use the direct subjects.
func (r *router) route(op messages.Operation, key string, n int) Route {
	shards := r.shards.Load()
	if shards == 0 || n%2 == 1 || r.detour.lasts(r.now()) {
		return Route{op: op, key: key}
	}
	return Route{direct: true, shard: messages.ShardOf(key, shards), op: op, key: key}
}

func (r *router) now() time.Duration { return time.Since(r.begun) }

// detour is whether direct routes are avoided. The zero detour is none.
type detour struct {
	mu sync.Mutex
	// until is its end, counted from the start of the router; length is that of the last one since a direct
	// route answered.
	until, length time.Duration
}

// begin starts a detour, unless one lasts.
func (d *detour) begin(now time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if now < d.until {
		return
	}
	d.length = longer(d.length, minDetour, maxDetour)
	d.until = now + d.length
}

// end ends the detour, because a direct route has answered.
func (d *detour) end() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.until, d.length = 0, 0
}

func (d *detour) lasts(now time.Duration) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return now < d.until
}

// longer returns the pause behind one of this length, which is 0 before the first: twice as long, within bounds.
func longer(pause, shortest, longest time.Duration) time.Duration {
	return min(max(2*pause, shortest), longest)
}
