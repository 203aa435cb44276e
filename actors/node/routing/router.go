package routing

import (
	"cmp"
	"fmt"
	"sync"
	"time"

	"github.com/holdfast-io/holdfast/actors"
	"github.com/holdfast-io/holdfast/actors/lease"
	"github.com/holdfast-io/holdfast/messages"
)

// Transport carries out what a [Router] decides. Its methods must not block, and are called concurrently.
type Transport interface {
	// Deliver hands requests to a shard of this node, in their order, and refuses those that the shard does not take.
	// It returns those that it has not handed over because the shard has ended. It may change es.
	Deliver(to *actors.Shard, es []Envelope) (left []Envelope)
	// Forward sends a request to the process that owns the shard, or refuses it.
	Forward(to uint64, e Envelope)
	// Refuse answers that a request had no effect, because of err.
	Refuse(e Envelope, err error)
}

// Router routes the requests for one shard. It is safe for concurrent use.
type Router struct {
	transport Transport
	clock     actors.Clock
	shard     messages.Shard
	room      int // how many new requests may wait

	mu     sync.RWMutex
	local  *actors.Shard // nil if the shard is not open here
	remote uint64        // the incarnation of the owner; 0 if none is known
	lost   lease.Instant // since when there is no owner, if there is none
	reason string        // why, if this node knows it
	// returned were given back by a shard, and go before queued, which have come since.
	returned, queued []Envelope
	// next is where all requests go; nil: the shard's generation is in use.
	next Table
}

// NewRouter returns the router of a shard, which knows no owner yet. room is how many requests may wait for one.
func NewRouter(shard messages.Shard, room int, clock actors.Clock, transport Transport) *Router {
	return &Router{transport: transport, clock: clock, shard: shard, room: room, lost: clock.Now().Instant}
}

// Route delivers or forwards requests in their order, or queues them. It refuses those that do not wait for an owner,
// and with [actors.ErrOverloaded] those for which the queue is full.
func (r *Router) Route(es ...Envelope) {
	r.mu.RLock()
	left := r.send(es)
	r.mu.RUnlock()
	if len(left) == 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range r.send(left) {
		r.queue(e)
	}
}

func (r *Router) queue(e Envelope) {
	if e.waits() && len(r.queued) >= r.room {
		r.transport.Refuse(e, fmt.Errorf("shard %d: %w (%d)", r.shard.Number, actors.ErrOverloaded, r.room))
		return
	}
	r.queued = r.keep(r.queued, e)
}

// keep adds a request to those that wait, or refuses it: none waits when there has been no owner for long.
func (r *Router) keep(waiting []Envelope, e Envelope) []Envelope {
	if !e.waits() || r.lasts() {
		r.transport.Refuse(e, r.noOwner())
		return waiting
	}
	e.queued = r.now()
	return append(waiting, e)
}

// Return takes a request back that a shard here did not decide, or refuses it if it does not wait for an owner. There
// is always room: the shard had bounded them.
func (r *Router) Return(e Envelope) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.next != nil {
		r.move(e)
		return
	}
	r.returned = r.keep(r.returned, e)
}

// Move sends the requests that wait, and all that come from now on, to the routers of another generation.
func (r *Router) Move(next Table) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.next = next
	waiting := append(r.returned, r.queued...)
	r.returned, r.queued = nil, nil
	for _, e := range waiting {
		r.move(e)
	}
}

// move sends a request to the router that it has in the next generation, or refuses it if it is for the session in this
// shard, whose leases are in several shards there.
func (r *Router) move(e Envelope) {
	if e.Operation.OfSession() {
		r.transport.Refuse(e, r.noOwner())
		return
	}
	r.next.of(e.Key).take(e)
}

// take is Route for a request that has waited at another router, where it had room.
func (r *Router) take(e Envelope) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e.Shard, e.Generation = r.shard.Number, r.shard.Generation
	since := cmp.Or(e.queued, r.now())
	if left := r.send([]Envelope{e.after(r.now().Sub(since))}); len(left) == 0 {
		return
	}
	n := len(r.returned)
	if r.returned = r.keep(r.returned, e); len(r.returned) > n {
		r.returned[n].queued = since // mutant: WaitBeginsAnewInTheNextGeneration
	}
}

// send delivers or forwards requests if an owner is known, and returns those that wait for one. A request that was
// forwarded too often waits until the nodes agree. A shard that has ended takes none.
func (r *Router) send(es []Envelope) (left []Envelope) {
	switch {
	case r.next != nil:
		for _, e := range es {
			r.move(e)
		}
		return nil
	case r.local != nil:
		return r.transport.Deliver(r.local, es)
	case r.remote == 0:
		return es
	}
	for _, e := range es {
		if e.Hops < maxHops {
			r.transport.Forward(r.remote, e)
		} else {
			left = append(left, e)
		}
	}
	return left
}

// SetOwner says where requests go from now on: to the shard here if local is not nil, else to the process with the
// incarnation remote, else (0) they wait.
func (r *Router) SetOwner(local *actors.Shard, remote uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if local != nil || remote != 0 {
		r.reason = ""
	} else if r.hasOwner() {
		r.lost = r.now()
	}
	same := local != nil && local == r.local
	r.local, r.remote = local, remote
	// A shard must not get again what it has returned, behind the requests that it has yet to return.
	if same || local == nil && remote == 0 || len(r.returned)+len(r.queued) == 0 {
		return
	}
	now := r.now()
	returned, queued := r.returned, r.queued
	r.returned, r.queued = nil, nil
	for _, e := range returned {
		r.returned = r.flush(r.returned, e, now)
	}
	for _, e := range queued {
		r.queued = r.flush(r.queued, e, now)
	}
}

// flush sends a request that has waited, or keeps it.
func (r *Router) flush(kept []Envelope, e Envelope, now lease.Instant) []Envelope {
	if left := r.send([]Envelope{e.after(now.Sub(e.queued))}); len(left) > 0 {
		return append(kept, e)
	}
	return kept
}

// Expire refuses the requests that have waited for limit or longer.
func (r *Router) Expire(limit time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.returned, r.queued = r.unexpired(r.returned, limit), r.unexpired(r.queued, limit)
}

func (r *Router) unexpired(all []Envelope, limit time.Duration) []Envelope {
	now, n := r.now(), 0
	for n < len(all) && now.Sub(all[n].queued) >= limit {
		r.transport.Refuse(all[n], r.noOwner())
		n++
	}
	return all[n:]
}

// SetReason says why the shard has no owner, as in "cannot be opened: ...". Refusals name the reason until there is
// an owner.
func (r *Router) SetReason(reason string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.reason = reason
}

func (r *Router) hasOwner() bool { return r.local != nil || r.remote != 0 }

// lasts reports whether the shard has had no owner for [actors.LastingAfter].
func (r *Router) lasts() bool { return !r.hasOwner() && r.now().Sub(r.lost) >= actors.LastingAfter }

// NoOwner returns the refusal of a request that finds no owner; it wraps [actors.ErrUnavailable], and
// [actors.ErrLasting] if there has been none for long.
func (r *Router) NoOwner() error {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.noOwner()
}

func (r *Router) noOwner() error {
	unavailable, reason := actors.ErrUnavailable, cmp.Or(r.reason, "has no owner just now")
	if r.lasts() {
		unavailable, reason = actors.ErrLasting, fmt.Sprintf("%s (no owner for %v)", reason,
			r.now().Sub(r.lost).Round(time.Second))
	}
	return fmt.Errorf("%w: shard %d %s; nothing happened, try again", unavailable, r.shard.Number, reason)
}

// Waiting returns how many requests wait for an owner.
func (r *Router) Waiting() int {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return len(r.returned) + len(r.queued)
}

// Owner returns where requests go, as [Router.SetOwner] has it.
func (r *Router) Owner() (local *actors.Shard, remote uint64) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.local, r.remote
}

// Local returns the shard that takes requests here, nil if none does.
func (r *Router) Local() *actors.Shard {
	local, _ := r.Owner()
	return local
}

func (r *Router) now() lease.Instant { return r.clock.Now().Instant }
