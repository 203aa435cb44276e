package actors

import (
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/holdfast-io/holdfast/actors/lease"
	"github.com/holdfast-io/holdfast/actors/ledger"
)

// What the shard sends to a resource.
type (
	// load gives the actor its state, at first and again after a panic. The memory of ended requests
	// stays the tenure's: resources run on the shard's goroutine.
	load struct {
		seat  *seat
		image lease.Image
		past  *lease.EndedRequests
	}
	// visit is an event for the resource.
	visit struct {
		seat    *seat
		request *Request
	}
)

// What a resource sends to its shard: one of these for each visit.
type (
	// decision is what the event led to.
	decision struct {
		seat    *seat
		request *Request
		at      lease.Instant
		outcome lease.Outcome
		// wake and waiting are the resource's after the event.
		wake    lease.Instant
		waiting int
		// volatile is the resource's ephemeral lease, if it has one.
		volatile *lease.Image
		// reload marks a place in line: the resource panicked and wants its state back.
		reload bool
	}
	// returned sends back an event that the actor, fresh after a panic, knows too little for.
	returned struct {
		seat    *seat
		request *Request
	}
	// panicked says that the event led to nothing but a panic.
	panicked struct {
		seat    *seat
		request *Request
	}
)

// weight estimates the bytes of the decision's changes when stored.
func (d *decision) weight() (bytes int) {
	for _, c := range d.outcome.Changes {
		bytes += ledger.Weight(c)
	}
	return bytes
}

// waits reports whether the decision is nobody's to see before the journal has confirmed it.
func (d *decision) waits() bool {
	switch {
	case d.reload || len(d.outcome.Changes) > 0:
		return true
	case d.outcome.Volatile && d.seat.unconfirmed == 0:
		return false
	default:
		return slices.ContainsFunc(d.outcome.Answers, func(a lease.Answer) bool { return !a.Stale })
	}
}

// resource is the actor of one resource: a shell over the state machine of package lease.
type resource struct {
	clock Clock
	log   *slog.Logger
	// state is nil until it is loaded.
	state *lease.State
}

// Receive implements actor.Actor.
func (r *resource) Receive(ctx actor.Context) {
	switch m := ctx.Message().(type) {
	case *load:
		r.state = lease.New(m.seat.resource, m.image, m.past)
	case *visit:
		r.visit(ctx, m)
	}
}

func (r *resource) visit(ctx actor.Context, v *visit) {
	if r.state == nil {
		ctx.Send(ctx.Parent(), &returned{seat: v.seat, request: v.request})
		return
	}
	defer r.reportPanic(ctx, v)
	now := r.clock.Now()
	d := &decision{seat: v.seat, request: v.request, at: now.Instant}
	d.outcome = r.state.Step(now, v.request.Event)
	d.wake, d.waiting = r.state.Wake(), r.state.Waiting()
	if image, ok := r.state.Volatile(); ok {
		d.volatile = &image
	}
	ctx.Send(ctx.Parent(), d)
}

// reportPanic lets a panic go on to the supervisor, which starts the actor afresh, after it has
// told what the library would not: the stack, and to the shard which request is lost.
func (r *resource) reportPanic(ctx actor.Context, v *visit) {
	reason := recover()
	if reason == nil {
		return
	}
	r.log.Error("panic in a resource; the request that caused it is lost, the resource starts afresh from the journal",
		"resource", v.seat.resource, "event", fmt.Sprintf("%T", v.request.Event),
		"panic", reason, "stack", string(debug.Stack()))
	ctx.Send(ctx.Parent(), &panicked{seat: v.seat, request: v.request})
	panic(reason)
}
