package request

import (
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-io/holdfast/messages"
)

// Route is where an attempt is sent: to any node, which forwards it if it does not own the shard, or directly to the
// owner, which keeps the order of what one connection sends.
type Route struct {
	// subject is that of a request about no single resource; empty: the others say where.
	subject string
	direct  bool
	shard   messages.Shard
	op      messages.Operation
	key     string
}

// of returns the subject of the route in a deployment.
func (r Route) of(p messages.Prefix) string {
	switch {
	case r.subject != "":
		return r.subject
	case r.direct:
		return p.Direct(r.shard, r.op, r.key)
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

// router chooses routes. While its shards are not known, all routes are to any node.
type router struct {
	prefix messages.Prefix
	begun  time.Time
	shards atomic.Pointer[messages.Shards]
	detour detour
}

// route returns where the nth attempt of a request about a resource goes. Every other attempt goes to any
// node, which may be permitted to a user who may not use the direct subjects.
func (r *router) route(op messages.Operation, key string, n int) Route {
	shards := r.shards.Load()
	if shards == nil || n%2 == 1 || r.detour.lasts(r.now()) {
		return Route{op: op, key: key}
	}
	return Route{direct: true, shard: shards.Of(key), op: op, key: key}
}

// isOld reports whether a message shows that there may be other shards than the known ones: it comes from a direct
// subject of a former generation, or from none that is served. Anybody who can answer may have made it up.
func (r *router) isOld(m *nats.Msg, direct bool) bool {
	if noResponders(m) {
		return direct
	}
	present, known := m.Header.Get(messages.HeaderGeneration), r.shards.Load()
	return present != "" && known != nil && present != strconv.FormatUint(uint64(known.Generation), 10)
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
