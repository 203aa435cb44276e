package routing

import (
	"cmp"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/holdfast-io/holdfast/actors"
	"github.com/holdfast-io/holdfast/actors/lease"
)

// Transport carries out what a [Router] decides. Its methods must not block, and are called concurrently.
type Transport interface {
	// Deliver hands a request to a shard of this node. After an error it had no effect.
	Deliver(to *actors.Shard, e Envelope) error
	// Forward sends a request to the process that owns the shard. After an error it had no effect.
	Forward(to uint64, e Envelope) error
	// Refuse answers that a request had no effect, because of err.
	Refuse(e Envelope, err error)
}

// Router routes the requests for one shard. It is safe for concurrent use.
type Router struct {
	transport Transport
	clock     actors.Clock
	shard     uint32
	room      int // how many new requests may wait

	mu     sync.RWMutex
	local  *actors.Shard // nil if the shard is not open here
	remote uint64        // the incarnation of the owner; 0 if none is known
	reason string        // why there is no owner, if this node knows it
	// returned were given back by a shard, and go before queued, which have come since.
	returned, queued []Envelope
}

// NewRouter returns the router of a shard, which knows no owner yet. room is how many requests may wait for one.
func NewRouter(shard uint32, room int, clock actors.Clock, transport Transport) *Router {
	return &Router{transport: transport, clock: clock, shard: shard, room: room}
}

// Route delivers or forwards a request, or queues it. After an error it had no effect;
// [actors.ErrOverloaded]: the queue is full.
func (r *Router) Route(e Envelope) error {
	r.mu.RLock()
	done, err := r.send(e)
	r.mu.RUnlock()
	if done {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if done, err := r.send(e); done {
		return err
	}
	if len(r.queued) >= r.room {
		return fmt.Errorf("shard %d: %w (%d)", r.shard, actors.ErrOverloaded, r.room)
	}
	e.queued = r.now()
	r.queued = append(r.queued, e)
	return nil
}

// Return takes a request back that a shard here did not decide. There is always room: the shard had bounded them.
func (r *Router) Return(e Envelope) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e.queued = r.now()
	r.returned = append(r.returned, e)
}

// send delivers or forwards a request if an owner is known. A request that was forwarded too often waits until the
// nodes agree. A shard that has ended takes none.
func (r *Router) send(e Envelope) (done bool, err error) {
	switch {
	case r.local != nil:
		err := r.transport.Deliver(r.local, e)
		return !errors.Is(err, actors.ErrEnded), err
	case r.remote != 0 && e.Hops < maxHops:
		return true, r.transport.Forward(r.remote, e)
	default:
		return false, nil
	}
}

// SetOwner says where requests go from now on: to the shard here if local is not nil, else to the process with the
// incarnation remote, else (0) they wait.
func (r *Router) SetOwner(local *actors.Shard, remote uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if local != nil || remote != 0 {
		r.reason = ""
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
	done, err := r.send(e.after(now.Sub(e.queued)))
	switch {
	case !done:
		return append(kept, e)
	case err != nil:
		r.transport.Refuse(e, err)
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

// NoOwner returns the refusal of a request that finds no owner; it wraps [actors.ErrUnavailable].
func (r *Router) NoOwner() error {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.noOwner()
}

func (r *Router) noOwner() error {
	return fmt.Errorf("%w: shard %d %s; nothing happened, try again", actors.ErrUnavailable, r.shard,
		cmp.Or(r.reason, "has no owner just now"))
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
