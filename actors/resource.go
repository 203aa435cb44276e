package actors

import (
	"fmt"
	"log/slog"
	"runtime/debug"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/holdfast-io/holdfast/actors/lease"
	"github.com/holdfast-io/holdfast/messages"
)

// What the shard sends to a resource.
type (
	// load gives the actor its state, at first and again after a panic. The memory of ended requests and the sessions
	// stay the term's: resources run on the shard's goroutine.
	load struct {
		resource string
		image    lease.Image
		ended    *lease.EndedRequests
		sessions *lease.Sessions
	}
	// inspection asks for the resource's queue. The answer is there when the shard has sent it, as with a decision.
	inspection struct {
		now     lease.Time
		waiters []*messages.Waiter
	}
	// snapshot asks for the image of a resource whose actor stops. It is there at once, too.
	snapshot struct{ image lease.Image }
)

// resourceActor is the actor of one resource: a shell over the state machine of package lease.
type resourceActor struct {
	clock Clock
	log   *slog.Logger
	// state is what it is once it is loaded.
	state  lease.State
	loaded bool
}

// Receive implements actor.Actor.
func (r *resourceActor) Receive(ctx actor.Context) {
	switch m := ctx.Message().(type) {
	case *load:
		r.state, r.loaded = *lease.New(m.resource, m.image, m.ended, m.sessions), true
	case *decision:
		r.decide(m)
	case *inspection:
		m.waiters = r.state.Waiters(m.now)
	case *snapshot:
		m.image = r.state.Image()
	}
}

func (r *resourceActor) decide(d *decision) {
	defer r.reportPanic(d)
	if !r.loaded {
		panic("a resource without a state") // the shard holds its events back: a bug
	}
	now := r.clock.Now()
	d.at, d.outcome = now.Instant, r.state.Step(now, d.request.Event)
	d.wake, d.waiting, d.since = r.state.Wake(), r.state.Waiting(), r.state.WaitingSince()
	d.made = true
}

// reportPanic logs the stack, and lets the panic go on to the supervisor, which restarts the actor.
func (r *resourceActor) reportPanic(d *decision) {
	reason := recover()
	if reason == nil {
		return
	}
	r.log.Error("panic in a resource; the request that caused it is lost, the resource restarts from the journal",
		append(resourceAttributes(d.activation.resource), "event", fmt.Sprintf("%T", d.request.Event),
			"panic", reason, "stack", string(debug.Stack()))...)
	panic(reason)
}
